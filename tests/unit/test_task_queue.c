/* task: tasks and threads in one semaphore's queue. P3 over both kinds of waiters, CHECKLIST 1 and
 * 5 with a hand-off from another thread. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>
#include <sched.h>

static void run_real(weir_task_fn *root, void *arg)
{
	run_on(WEIR_CLOCK_REAL, root, arg);
}

enum { PAIRS = 4 };

struct queue {
	struct weir_sem sem;
	uint32_t turns;
	struct acquirer threads[PAIRS];
	uint32_t task_turns[PAIRS];
};

struct seat {
	struct queue *queue;
	int number;
};

TASK(queues)
{
	struct seat *seat = arg;
	struct queue *queue = seat->queue;

	assert_int_equal(weir_sem_acquire(&queue->sem, 1), 0);
	queue->task_turns[seat->number] = __atomic_add_fetch(&queue->turns, 1, __ATOMIC_SEQ_CST);
	return 0;
}

TASK(queues_in_turn)
{
	struct queue *queue = arg;
	struct weir_future *tasks[PAIRS];
	struct seat seats[PAIRS];

	assert_int_equal(weir_sem_acquire(&queue->sem, 1), 0);
	for (int i = 0; i < PAIRS; i++) {
		queue->threads[i] = (struct acquirer){
			.sem = &queue->sem, .n = 1, .deadline = WEIR_NEVER, .turns = &queue->turns
		};
		acquirer_queue(&queue->threads[i]);
		seats[i] = (struct seat){ queue, i };
		tasks[i] = spawn(queues, &seats[i]);
		assert_int_equal(weir_yield(), 0);
		assert_int_equal(stats_of(&queue->sem).waiting, 2 * i + 2);
	}
	for (uint32_t turn = 1; turn <= 2 * PAIRS; turn++) {
		assert_int_equal(weir_sem_release(&queue->sem, 1), 0);
		while (__atomic_load_n(&queue->turns, __ATOMIC_SEQ_CST) != turn)
			assert_int_equal(weir_yield(), 0);
	}
	assert_int_equal(weir_gather(tasks, PAIRS, WEIR_NEVER, NULL), 0);
	drop(tasks, PAIRS);
	return 0;
}

TEST(threads_and_tasks_stand_in_one_queue_P3)
{
	for (int round = 0; round < 20; round++) {
		struct queue queue = { .sem = WEIR_SEM_INIT(1) };

		run_real(queues_in_turn, &queue);
		for (uint32_t i = 0; i < PAIRS; i++) {
			assert_int_equal(acquirer_join(&queue.threads[i]), 0);
			assert_int_equal(queue.threads[i].turn, 2 * i + 1);
			assert_int_equal(queue.task_turns[i], 2 * i + 2);
		}
		assert_permits(&queue.sem, 1, 1, 0);
	}
}

/* They stand in one queue, and a thread lets all of them through at once, or one by one. */
enum { CROWD_MOST = 8, CROWD_ROUNDS = 200 };
struct crowd {
	struct weir_sem sem;
	uint32_t count;
	uint32_t at_once;
	uint32_t turns;
	uint32_t rounds; /* that have begun; the thread waits for it */
};

/* Until all of them stand in the queue. The last to join has not waited yet while it is still at
 * the queue, and what is released then lets it go on at once, before the others run; a try looks at
 * the queue after it. */
static void await_crowd(struct crowd *crowd, uint32_t round)
{
	while (__atomic_load_n(&crowd->rounds, __ATOMIC_ACQUIRE) < round ||
	       stats_of(&crowd->sem).waiting < crowd->count)
		sched_yield();
	(void)weir_sem_try_acquire(&crowd->sem, 1);
}

static void *let_through(void *argument)
{
	struct crowd *crowd = argument;

	for (uint32_t round = 1; round <= CROWD_ROUNDS; round++) {
		await_crowd(crowd, round);
		for (uint32_t i = 0; i < crowd->count; i += crowd->at_once)
			(void)weir_sem_release(&crowd->sem, crowd->at_once);
	}
	return NULL;
}

TASK(takes_its_turn)
{
	struct crowd *crowd = arg;

	assert_int_equal(weir_sem_acquire(&crowd->sem, 1), 0);
	*value = crowd->turns++;
	return 0;
}

TASK(crowds)
{
	struct crowd *crowd = arg;
	struct weir_future *tasks[CROWD_MOST];
	intptr_t turns[CROWD_MOST];
	pthread_t thread = start_thread(let_through, crowd);

	assert_int_equal(weir_sem_acquire(&crowd->sem, crowd->count), 0);
	for (uint32_t round = 0; round < CROWD_ROUNDS; round++) {
		crowd->turns = 0;
		for (uint32_t i = 0; i < crowd->count; i++)
			tasks[i] = spawn(takes_its_turn, crowd);
		(void)__atomic_add_fetch(&crowd->rounds, 1, __ATOMIC_RELEASE);
		assert_int_equal(weir_gather(tasks, crowd->count, WEIR_NEVER, turns), 0);
		for (uint32_t i = 0; i < crowd->count; i++)
			assert_int_equal(turns[i], i);
		drop(tasks, crowd->count);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	return 0;
}

TEST(tasks_that_a_thread_lets_through_run_in_order_BEHAVIOURS_3)
{
	for (uint32_t count = 2; count <= CROWD_MOST; count++) {
		struct crowd at_once = { .count = count, .at_once = count };
		struct crowd one_by_one = { .count = count, .at_once = 1 };

		assert_int_equal(weir_sem_init(&at_once.sem, count), 0);
		run_real(crowds, &at_once);
		assert_int_equal(weir_sem_init(&one_by_one.sem, count), 0);
		run_real(crowds, &one_by_one);
	}
}

struct relay {
	struct weir_sem to_thread;
	struct weir_sem to_task;
	int passes;
};

static void *answer(void *argument)
{
	struct relay *relay = argument;

	for (int i = 0; i < 5000; i++) {
		(void)weir_sem_acquire(&relay->to_thread, 1);
		relay->passes++; /* plain: only the hand-offs protect it */
		(void)weir_sem_release(&relay->to_task, 1);
	}
	return NULL;
}

TASK(plays)
{
	struct relay *relay = arg;
	pthread_t thread;

	assert_int_equal(weir_sem_acquire(&relay->to_thread, 1), 0);
	assert_int_equal(weir_sem_acquire(&relay->to_task, 1), 0);
	thread = start_thread(answer, relay);
	for (int i = 0; i < 5000; i++) {
		relay->passes++;
		assert_int_equal(weir_sem_release(&relay->to_thread, 1), 0);
		assert_int_equal(weir_sem_acquire(&relay->to_task, 1), 0);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	return 0;
}

TEST(no_hand_off_between_a_thread_and_a_task_is_lost_P4)
{
	struct relay relay = { .to_thread = WEIR_SEM_INIT(1), .to_task = WEIR_SEM_INIT(1) };

	run_real(plays, &relay);
	assert_int_equal(relay.passes, 10000);
}

static void *release(void *argument)
{
	(void)weir_sem_release(argument, 1);
	return NULL;
}

TASK(acquires)
{
	return weir_sem_acquire(arg, 1);
}

TASK(cancels_what_a_thread_has_granted)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_future *first = spawn(acquires, &sem);
	struct weir_future *second = spawn(acquires, &sem);
	pthread_t thread;

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_yield(), 0);
	/* The grant lies in the inbox when the cancel comes. */
	thread = start_thread(release, &sem);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_permits(&sem, 1, 1, 1);
	assert_int_equal(weir_cancel(first), 0);
	assert_int_equal(join(first, NULL), -ECANCELED);
	assert_int_equal(join(second, NULL), 0);
	assert_permits(&sem, 1, 1, 0);
	return 0;
}

TEST(a_threads_grant_to_a_cancelled_task_goes_to_the_next_CHECKLIST_1)
{
	run_real(cancels_what_a_thread_has_granted, NULL);
}

TASK(times_out_on_what_a_thread_has_granted)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	weir_time deadline = weir_after(2 * WEIR_MS);
	pthread_t thread;

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	thread = start_thread(release, &sem);
	/* Either way the account is right: CHECKLIST 5. */
	if (weir_sem_acquire_until(&sem, 1, deadline) == -ETIMEDOUT)
		assert_int_equal(stats_of(&sem).timed_out, 1);
	else
		assert_permits(&sem, 1, 1, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(stats_of(&sem).waiting, 0);
	return 0;
}

TEST(a_deadline_and_a_threads_grant_have_one_outcome_CHECKLIST_5)
{
	for (int i = 0; i < 50; i++)
		run_real(times_out_on_what_a_thread_has_granted, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_tasks_stand_in_one_queue_P3),
		cmocka_unit_test(tasks_that_a_thread_lets_through_run_in_order_BEHAVIOURS_3),
		cmocka_unit_test(no_hand_off_between_a_thread_and_a_task_is_lost_P4),
		cmocka_unit_test(a_threads_grant_to_a_cancelled_task_goes_to_the_next_CHECKLIST_1),
		cmocka_unit_test(a_deadline_and_a_threads_grant_have_one_outcome_CHECKLIST_5),
	};

	return RUN_TESTS(tests);
}

/* task: futures of tasks that threads end and wait for, and the other way round. BEHAVIOURS 38 from
 * outside. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>

static void run_real(weir_task_fn *root, void *arg)
{
	run_on(WEIR_CLOCK_REAL, root, arg);
}

static void *complete(void *argument)
{
	(void)weir_complete(argument, 42);
	return NULL;
}

static void *fail_it(void *argument)
{
	(void)weir_fail(argument, -EIO);
	return NULL;
}

TASK(waits_for_threads)
{
	struct weir_future *before = promise();
	struct weir_future *after = promise();
	struct weir_future *failed = promise();
	pthread_t threads[3];

	threads[0] = start_thread(complete, before);
	assert_int_equal(pthread_join(threads[0], NULL), 0);
	assert_true(weir_future_done(before));
	assert_int_equal(value_of(before), 42);

	threads[1] = start_thread(complete, after);
	assert_int_equal(weir_wait(after, WEIR_NEVER, NULL), 0);
	threads[2] = start_thread(fail_it, failed);
	assert_int_equal(weir_wait(failed, WEIR_NEVER, NULL), -EIO);
	for (int i = 1; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	weir_future_unref(after);
	weir_future_unref(failed);
	return 0;
}

TEST(threads_end_promises_before_and_after_the_wait_BEHAVIOURS_38)
{
	for (int i = 0; i < 100; i++)
		run_real(waits_for_threads, NULL);
}

/* Where no task has a deadline, the virtual clock waits for them, too. */
TEST(so_they_do_on_the_virtual_clock)
{
	for (int i = 0; i < 100; i++)
		run(waits_for_threads, NULL);
}

TASK(waits_for_a_hundred_threads)
{
	struct weir_future *futures[100];
	pthread_t threads[100];
	intptr_t values[100];

	for (int i = 0; i < 100; i++) {
		futures[i] = promise();
		threads[i] = start_thread(complete, futures[i]);
	}
	assert_int_equal(weir_gather(futures, 100, WEIR_NEVER, values), 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(values[i], 42);
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	drop(futures, 100);
	return 0;
}

TEST(a_hundred_threads_BEHAVIOURS_38)
{
	run_real(waits_for_a_hundred_threads, NULL);
}

enum { RACERS = 1000 };

static void *complete_first_and_last(void *argument)
{
	struct weir_future **futures = argument;

	(void)weir_complete(futures[0], 1);
	(void)weir_complete(futures[RACERS - 1], 2);
	return NULL;
}

/* Looking at so many takes longer than completing two. */
TEST(a_race_is_won_by_the_one_that_ended_first_BEHAVIOURS_33)
{
	for (int i = 0; i < 100; i++) {
		static struct weir_future *futures[RACERS];
		size_t winner = RACERS;
		pthread_t thread;

		for (int k = 0; k < RACERS; k++)
			futures[k] = promise();
		thread = start_thread(complete_first_and_last, futures);
		while (weir_race(futures, RACERS, 0, &winner, NULL) == -ETIMEDOUT)
			;
		assert_int_equal(winner, 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		drop(futures, RACERS);
	}
}

TASK(waits)
{
	return weir_wait(arg, WEIR_NEVER, value);
}

TASK(is_not_held_up_by_others)
{
	struct weir_future *never = promise();
	struct weir_future *soon = promise();
	struct weir_future *tasks[10];
	pthread_t thread;

	for (int i = 0; i < 10; i++)
		tasks[i] = spawn(waits, never);
	assert_int_equal(weir_yield(), 0);
	thread = start_thread(complete, soon);
	assert_int_equal(weir_wait(soon, WEIR_NEVER, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (int i = 0; i < 10; i++) {
		assert_false(weir_future_done(tasks[i]));
		assert_int_equal(weir_cancel(tasks[i]), 0);
		assert_int_equal(join(tasks[i], NULL), -ECANCELED);
	}
	weir_future_unref(never);
	weir_future_unref(soon);
	return 0;
}

TEST(a_completion_is_not_held_up_by_unresolved_peers_BEHAVIOURS_38)
{
	run_real(is_not_held_up_by_others, NULL);
}

struct late_reply {
	struct weir_future *waiter;
	struct weir_future *reply;
};

/* Not before the other wait is over. */
static void *reply_late(void *argument)
{
	struct late_reply *late = argument;

	(void)weir_wait(late->waiter, WEIR_NEVER, NULL);
	(void)weir_complete(late->reply, 42);
	return NULL;
}

TASK(completes)
{
	return weir_complete(arg, 1);
}

TASK(is_completed_beside_a_wait_for_a_thread)
{
	struct weir_future *inside = promise();
	struct late_reply late = { .waiter = spawn(waits, inside), .reply = promise() };
	struct weir_future *listener = spawn(waits, late.reply);
	pthread_t thread = start_thread(reply_late, &late);
	struct weir_future *completer = spawn(completes, inside);

	assert_int_equal(value_of(listener), 42);
	assert_int_equal(value_of(late.waiter), 1);
	assert_int_equal(join(completer, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	weir_future_unref(late.reply);
	weir_future_unref(inside);
	return 0;
}

TEST(a_task_completes_beside_a_pending_wait_for_a_thread_BEHAVIOURS_36)
{
	run_real(is_completed_beside_a_wait_for_a_thread, NULL);
}

struct offer {
	struct weir_future *task; /* handed out by the scheduler's thread */
	struct weir_sem ready;
	int result;
	intptr_t value;
};

static void *wait_for_task(void *argument)
{
	struct offer *offer = argument;

	(void)weir_sem_acquire(&offer->ready, 1);
	offer->result = weir_wait(offer->task, WEIR_NEVER, &offer->value);
	return NULL;
}

TASK(sleeps_and_returns_three)
{
	*value = 3;
	return weir_sleep(2 * WEIR_MS);
}

TASK(offers_a_task)
{
	struct offer *offer = arg;

	offer->task = spawn(sleeps_and_returns_three, NULL);
	assert_int_equal(weir_sem_release(&offer->ready, 1), 0);
	return weir_wait(offer->task, WEIR_NEVER, NULL);
}

TEST(a_thread_waits_for_a_task)
{
	struct offer offer = { .ready = WEIR_SEM_INIT(1) };
	pthread_t thread;

	assert_int_equal(weir_sem_acquire(&offer.ready, 1), 0);
	thread = start_thread(wait_for_task, &offer);
	run_real(offers_a_task, &offer);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(offer.result, 0);
	assert_int_equal(offer.value, 3);
	weir_future_unref(offer.task);
}

TASK(waits_for_a_stranger)
{
	struct offer *offer = arg;

	assert_int_equal(weir_sem_acquire(&offer->ready, 1), 0);
	offer->result = weir_wait(offer->task, WEIR_NEVER, &offer->value);
	/* It can be cancelled, too, and that it has ended is seen. */
	assert_int_equal(weir_cancel(offer->task), 0);
	assert_true(weir_future_done(offer->task));
	return 0;
}

static void *run_stranger(void *argument)
{
	(void)weir_run(waits_for_a_stranger, argument, NULL);
	return NULL;
}

TEST(a_task_waits_for_a_task_of_another_scheduler)
{
	struct offer offer = { .ready = WEIR_SEM_INIT(1), .result = 1 };
	pthread_t thread;

	assert_int_equal(weir_sem_acquire(&offer.ready, 1), 0);
	thread = start_thread(run_stranger, &offer);
	run_real(offers_a_task, &offer);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(offer.result, 0);
	assert_int_equal(offer.value, 3);
	weir_future_unref(offer.task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_end_promises_before_and_after_the_wait_BEHAVIOURS_38),
		cmocka_unit_test(so_they_do_on_the_virtual_clock),
		cmocka_unit_test(a_hundred_threads_BEHAVIOURS_38),
		cmocka_unit_test(a_race_is_won_by_the_one_that_ended_first_BEHAVIOURS_33),
		cmocka_unit_test(a_completion_is_not_held_up_by_unresolved_peers_BEHAVIOURS_38),
		cmocka_unit_test(a_task_completes_beside_a_pending_wait_for_a_thread_BEHAVIOURS_36),
		cmocka_unit_test(a_thread_waits_for_a_task),
		cmocka_unit_test(a_task_waits_for_a_task_of_another_scheduler),
	};

	return RUN_TESTS(tests);
}

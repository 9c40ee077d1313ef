/* task: a scheduler that watches for what another thread hands over, and never in vain, looks at
 * its timers nevertheless. */
#include "support/tasks.h"

#include "base/cpu.h"

#include <pthread.h>
#include <semaphore.h>

/* A scheduler asks whether it may spin just before it watches. By then the other thread has handed
 * the permit over, so that it is never watched for in vain. */
static struct weir_sem sem;
static uint32_t permits; /* that are handed over at a time */
static sem_t wanted;
static sem_t given;
static bool waits;
static bool over;

bool __wrap_weir__cpu_to_spare(void);

bool __wrap_weir__cpu_to_spare(void)
{
	if (waits) {
		waits = false;
		(void)sem_post(&wanted);
		while (sem_wait(&given) != 0)
			;
	}
	return true;
}

static void *gives(void *arg)
{
	(void)arg;
	for (;;) {
		while (sem_wait(&wanted) != 0)
			;
		if (over)
			return NULL;
		(void)weir_sem_release(&sem, permits);
		(void)sem_post(&given);
	}
}

enum { ENOUGH = 1000 };

static bool rang;

TASK(sleeps_a_moment)
{
	assert_int_equal(weir_sleep(1), 0);
	rang = true;
	return 0;
}

TASK(is_handed_permits)
{
	struct weir_future *sleeper = spawn(sleeps_a_moment, NULL);
	int turns = 0;

	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	for (; !rang && turns < ENOUGH; turns++) {
		waits = true;
		assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	}
	assert_in_range(turns, 2, ENOUGH - 1);
	return join(sleeper, NULL);
}

static void run_beside_a_giver(weir_task_fn *root, void *arg, uint32_t at_a_time)
{
	pthread_t giver;

	permits = at_a_time;
	rang = over = false;
	assert_int_equal(weir_sem_init(&sem, permits), 0);
	assert_int_equal(sem_init(&wanted, 0, 0), 0);
	assert_int_equal(sem_init(&given, 0, 0), 0);
	assert_int_equal(pthread_create(&giver, NULL, gives, NULL), 0);
	run_on(WEIR_CLOCK_REAL, root, arg);
	over = true;
	assert_int_equal(sem_post(&wanted), 0);
	assert_int_equal(pthread_join(giver, NULL), 0);
	assert_int_equal(sem_destroy(&wanted), 0);
	assert_int_equal(sem_destroy(&given), 0);
}

TEST(a_timer_fires_while_others_are_watched_for)
{
	run_beside_a_giver(is_handed_permits, NULL, 1);
}

/* Two tasks that wait when a round is over, as long as it may be, and are let through together: so
 * they stand in the queue of those who are ready when it is looked at next. */
enum { ROUND = 64 };

static int turns;
static int waiting;

TASK(takes_turns)
{
	while (!rang && turns < ENOUGH) {
		for (int i = 1; i < ROUND / 2 && !rang; i++, turns++)
			assert_int_equal(weir_yield(), 0);
		waits = ++waiting == 2;
		if (rang) /* whoever waited for the other alone has nobody to wait for */
			return weir_sem_release(&sem, 1);
		assert_int_equal(weir_sem_acquire(&sem, 1), 0);
		turns++;
		waiting = 0;
	}
	return weir_sem_release(&sem, 1);
}

/* `arg` is where in a round they begin. */
TASK(lets_two_take_turns)
{
	struct weir_future *tasks[3];

	assert_int_equal(weir_sem_acquire(&sem, 2), 0);
	for (int i = 0; i < *(int *)arg; i++)
		assert_int_equal(weir_yield(), 0);
	tasks[0] = spawn(takes_turns, NULL);
	tasks[1] = spawn(takes_turns, NULL);
	tasks[2] = spawn(sleeps_a_moment, NULL);
	turns = waiting = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(join(tasks[i], NULL), 0);
	assert_in_range(turns, 0, 3 * ROUND);
	return 0;
}

TEST(a_timer_fires_while_crowds_are_watched_for)
{
	for (int begin = 0; begin < ROUND; begin++)
		run_beside_a_giver(lets_two_take_turns, &begin, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_fires_while_others_are_watched_for),
		cmocka_unit_test(a_timer_fires_while_crowds_are_watched_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

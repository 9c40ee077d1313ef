/* task: a scheduler that watches for what another thread hands over, and never in vain, looks at
 * its timers nevertheless. */
#include "support/tasks.h"

#include "base/cpu.h"

#include <pthread.h>
#include <semaphore.h>

/* A scheduler asks whether it may spin just before it watches. By then the other thread has handed
 * the permit over, so that it is never watched for in vain. */
static struct weir_sem sem;
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
		(void)weir_sem_release(&sem, 1);
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

TEST(a_timer_fires_while_others_are_watched_for)
{
	pthread_t giver;

	assert_int_equal(weir_sem_init(&sem, 1), 0);
	assert_int_equal(sem_init(&wanted, 0, 0), 0);
	assert_int_equal(sem_init(&given, 0, 0), 0);
	assert_int_equal(pthread_create(&giver, NULL, gives, NULL), 0);
	run_on(WEIR_CLOCK_REAL, is_handed_permits, NULL);
	over = true;
	assert_int_equal(sem_post(&wanted), 0);
	assert_int_equal(pthread_join(giver, NULL), 0);
	assert_int_equal(sem_destroy(&wanted), 0);
	assert_int_equal(sem_destroy(&given), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_fires_while_others_are_watched_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* task: a signal handler in the scheduler's own thread releases what a task waits for.
 *
 * sem.h allows that, wherever the thread is at the moment: in a task, in the scheduler, between the
 * two, or asleep. Each signal is sent only when the one before has let the task through, so that a
 * wake-up that is lost stops the test. */
#include "support/acquirer.h"
#include "support/sanitizers.h"
#include "support/stress.h"
#include "support/tasks.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

enum { TURNS = 2000, YIELDERS = 3 };

static struct {
	struct weir_sem sem;
	pthread_t scheduler;
	uint32_t taken;
	uint32_t bad;
	bool over;
} stage;

static void release_one(int signal)
{
	(void)signal;
	if (weir_sem_release(&stage.sem, 1) != 0)
		(void)__atomic_add_fetch(&stage.bad, 1, __ATOMIC_RELAXED);
}

static void *send_signals(void *argument)
{
	struct rng rng = { .state = 1 };

	(void)argument;
	for (uint32_t i = 1; i <= TURNS; i++) {
		while (__atomic_load_n(&stage.taken, __ATOMIC_ACQUIRE) != i)
			(void)sched_yield();
		for (uint32_t turns = rng_below(&rng, 300); turns > 0; turns--)
			WEIR__RELAX();
		(void)pthread_kill(stage.scheduler, SIGUSR1);
	}
	return NULL;
}

TASK(takes)
{
	for (int i = 0; i < TURNS; i++) {
		assert_int_equal(weir_sem_acquire(&stage.sem, 1), 0);
		(void)__atomic_add_fetch(&stage.taken, 1, __ATOMIC_RELEASE);
	}
	stage.over = true;
	return 0;
}

TASK(yields)
{
	while (!stage.over)
		assert_int_equal(weir_yield(), 0);
	return 0;
}

TASK(runs_takers)
{
	struct weir_future *taker = spawn(takes, NULL);
	struct weir_future *yielders[YIELDERS];
	bool busy = arg != NULL;

	for (int i = 0; busy && i < YIELDERS; i++)
		yielders[i] = spawn(yields, NULL);
	if (busy) {
		assert_int_equal(weir_gather(yielders, YIELDERS, WEIR_NEVER, NULL), 0);
		drop(yielders, YIELDERS);
	}
	return join(taker, NULL);
}

static void play(bool busy)
{
	struct sigaction action = { .sa_handler = release_one };
	pthread_t sender;

	/* ThreadSanitizer keeps a signal back until the fiber that it came to goes on, which may
	 * be the very task that waits for it. */
	if (UNDER_TSAN)
		skip();
	stage.taken = 0;
	stage.over = false;
	stage.scheduler = pthread_self();
	assert_int_equal(weir_sem_init(&stage.sem, 1), 0);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	sender = start_thread(send_signals, NULL);
	run_on(WEIR_CLOCK_REAL, runs_takers, busy ? &stage : NULL);
	assert_int_equal(pthread_join(sender, NULL), 0);
	assert_int_equal(stage.bad, 0);
}

TEST(a_handler_wakes_a_scheduler_that_is_about_to_sleep)
{
	play(false);
}

TEST(a_handler_interrupts_a_scheduler_that_is_busy)
{
	play(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handler_wakes_a_scheduler_that_is_about_to_sleep),
		cmocka_unit_test(a_handler_interrupts_a_scheduler_that_is_busy),
	};

	return RUN_TESTS(tests);
}

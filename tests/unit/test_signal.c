/* sem: release from a signal handler that interrupts calls on the same semaphore.
 *
 * One thread hammers the semaphore. Another takes a permit and has it released by a handler in the
 * first one, wherever that is at the moment: on the fast path, with the lock held, telling others,
 * asleep, or in the handler of another signal. */
#include "support/acquirer.h"
#include "support/sanitizers.h"
#include "support/unit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

enum { MOST_ROUNDS = 5000, LEAST_ROUNDS = 20 };

/* ThreadSanitizer keeps a signal back until the thread's next atomic step, and calls the handler
 * then. So nobody may sleep until his own handler releases: there must be a second permit. And when
 * one handler interrupts another, it takes the mask that it had set itself for the thread's own,
 * and no signal ever comes through again: there may only be one at a time. */
enum { LEAST_TO_SLEEP_FOR = UNDER_TSAN ? 2 : 1, MOST_SIGNALS = UNDER_TSAN ? 1 : 2 };

static const int signals[] = { SIGUSR1, SIGUSR2 };

static struct {
	struct weir_sem sem;
	bool (*step)(struct weir_sem *sem);
	bool stop;
	uint32_t handled;
	uint32_t bad;
} stage;

static void release_one(int signal)
{
	(void)signal;
	if (weir_sem_release(&stage.sem, 1) != 0)
		stage.bad++;
	(void)__atomic_add_fetch(&stage.handled, 1, __ATOMIC_SEQ_CST);
}

static bool acquire_and_release(struct weir_sem *sem)
{
	return weir_sem_acquire(sem, 1) == 0 && weir_sem_release(sem, 1) == 0;
}

static bool acquire_briefly_and_release(struct weir_sem *sem)
{
	int result = weir_sem_acquire_until(sem, 1, weir_after(WEIR_US));

	return result == -ETIMEDOUT || (result == 0 && weir_sem_release(sem, 1) == 0);
}

static bool try_and_release(struct weir_sem *sem)
{
	int result = weir_sem_try_acquire(sem, 1);

	return result == -EAGAIN || (result == 0 && weir_sem_release(sem, 1) == 0);
}

/* Two nodes whose wake functions release, so that the handler meets the telling of waiters, too. */
struct node {
	struct weir_waiter waiter;
	bool told;
};

static void release_in_turn(struct weir_waiter *waiter, int result)
{
	struct node *node = (struct node *)(void *)waiter;

	if (result != 0 || weir_sem_release(&stage.sem, 1) != 0)
		stage.bad++;
	__atomic_store_n(&node->told, true, __ATOMIC_SEQ_CST);
}

static bool acquire_async_and_release(struct weir_sem *sem)
{
	struct node nodes[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		int result = weir_sem_acquire_async(sem, 1, &nodes[i].waiter, release_in_turn);

		if (result < 0)
			return false;
		if (result == 0)
			release_in_turn(&nodes[i].waiter, 0);
	}
	for (int i = 0; i < 2; i++) {
		while (!__atomic_load_n(&nodes[i].told, __ATOMIC_SEQ_CST))
			(void)sched_yield();
	}
	return true;
}

static void *hammer(void *argument)
{
	(void)argument;
	while (!__atomic_load_n(&stage.stop, __ATOMIC_SEQ_CST)) {
		if (!stage.step(&stage.sem))
			stage.bad++;
	}
	return NULL;
}

static void wait_until_handled(uint32_t count)
{
	while (__atomic_load_n(&stage.handled, __ATOMIC_SEQ_CST) < count)
		(void)sched_yield();
}

/* One round takes microseconds, or two time slices where there is a single processor: so many
 * rounds as fit a fixed time, and some in any case. */
static void play(uint32_t permits, bool (*step)(struct weir_sem *sem))
{
	weir_time end = weir_after(300 * WEIR_MS);
	uint32_t signals_at_once = permits < MOST_SIGNALS ? permits : MOST_SIGNALS;
	pthread_t victim;

	stage.step = step;
	stage.stop = false;
	stage.handled = 0;
	stage.bad = 0;
	assert_int_equal(weir_sem_init(&stage.sem, permits), 0);
	victim = start_thread(hammer, NULL);
	for (uint32_t round = 1; round <= MOST_ROUNDS; round++) {
		if (round > LEAST_ROUNDS && weir_now() > end)
			break;
		/* Two at once, when there are permits for it: one handler interrupts the other. */
		for (uint32_t i = 0; i < signals_at_once; i++) {
			assert_int_equal(weir_sem_acquire(&stage.sem, 1), 0);
			assert_int_equal(pthread_kill(victim, signals[i]), 0);
		}
		wait_until_handled(round * signals_at_once);
	}
	__atomic_store_n(&stage.stop, true, __ATOMIC_SEQ_CST);
	(void)pthread_join(victim, NULL);
	assert_int_equal(stage.bad, 0);
	assert_permits(&stage.sem, permits, 0, 0);
}

#define TEST_WITH(step, least)                                          \
	TEST(step##_is_interrupted_P2_P4)                               \
	{                                                               \
		for (uint32_t permits = least; permits <= 3; permits++) \
			play(permits, step);                            \
	}

TEST_WITH(acquire_and_release, LEAST_TO_SLEEP_FOR)
TEST_WITH(acquire_briefly_and_release, 1)
TEST_WITH(try_and_release, 1)
TEST_WITH(acquire_async_and_release, 1)

static int install_handlers(void **state)
{
	struct sigaction action = { .sa_handler = release_one }; /* without SA_RESTART */

	(void)state;
	for (int i = 0; i < MOST_SIGNALS; i++) {
		if (sigaction(signals[i], &action, NULL) < 0)
			return -1;
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acquire_and_release_is_interrupted_P2_P4),
		cmocka_unit_test(acquire_briefly_and_release_is_interrupted_P2_P4),
		cmocka_unit_test(try_and_release_is_interrupted_P2_P4),
		cmocka_unit_test(acquire_async_and_release_is_interrupted_P2_P4),
	};

	return cmocka_run_group_tests(tests, install_handlers, NULL);
}

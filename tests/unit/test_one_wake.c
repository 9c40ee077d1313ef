/* sem: at most one futex wake for each grant (P7). The library's futex calls are counted. */
#include "support/acquirer.h"
#include "support/async.h"
#include "support/futex_watch.h"
#include "support/unit.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 2000 };

static struct weir_sem sem;

static void start(uint32_t permits)
{
	assert_int_equal(weir_sem_init(&sem, permits), 0);
	futex_watch_start(&sem, sizeof(sem));
}

TEST(no_waiter_no_wake)
{
	start(1);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(weir_sem_acquire(&sem, 1), 0);
		assert_int_equal(weir_sem_release(&sem, 1), 0);
	}
	assert_int_equal(futex_watch_read().waits, 0);
	assert_int_equal(futex_watch_read().wakes, 0);
}

TEST(a_timeout_wakes_nobody)
{
	start(1);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(weir_sem_acquire_until(&sem, 1, 1), -ETIMEDOUT);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(futex_watch_read().wakes, 0);
}

TEST(an_async_waiter_needs_no_wake)
{
	struct async waiter = { 0 };

	start(1);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(waiter.calls, 1);
	assert_int_equal(futex_watch_read().wakes, 0);
}

/* Queues one thread after the other and returns when all sleep in the kernel, or are about to. */
static void put_to_sleep(struct acquirer *threads, uint32_t n)
{
	for (uint64_t i = 0; i < THREADS; i++) {
		threads[i] = (struct acquirer){ .sem = &sem, .n = n, .deadline = WEIR_NEVER };
		acquirer_queue(&threads[i]);
		while (futex_watch_read().waits < i + 1)
			(void)sched_yield();
	}
}

TEST(a_release_that_serves_nobody_wakes_nobody)
{
	struct acquirer threads[THREADS];

	start(8);
	assert_int_equal(weir_sem_acquire(&sem, 8), 0);
	put_to_sleep(threads, 8);
	for (int i = 0; i < 7; i++)
		assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(futex_watch_read().wakes, 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(weir_sem_release(&sem, i == 0 ? 1 : 8), 0);
		assert_int_equal(acquirer_join(&threads[i]), 0);
		assert_int_equal(futex_watch_read().wakes, i + 1);
	}
}

TEST(one_release_wakes_each_it_serves_once)
{
	struct acquirer threads[THREADS];

	start(THREADS);
	assert_int_equal(weir_sem_acquire(&sem, THREADS), 0);
	put_to_sleep(threads, 1);
	assert_int_equal(weir_sem_release(&sem, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(acquirer_join(&threads[i]), 0);
	assert_int_equal(futex_watch_read().wakes, THREADS);
}

/* Holds long enough, now and then, for the others to stop watching and to sleep. */
static void *take_turns(void *failure)
{
	static const struct timespec long_enough = { .tv_nsec = 200 * WEIR_US };

	for (int i = 0; i < ROUNDS; i++) {
		if (weir_sem_acquire(&sem, 1) != 0)
			return failure;
		if (i % 16 == 0)
			(void)nanosleep(&long_enough, NULL);
		if (weir_sem_release(&sem, 1) != 0)
			return failure;
	}
	return NULL;
}

/* Those who sleep on the lock are woken through a word of the semaphore. Each sleep asks for at
 * most two such wakes: its own, and one for whoever may have slept beside it. */
TEST(under_contention_there_are_no_more_wakes_than_grants)
{
	pthread_t threads[THREADS];
	struct futex_watch seen;

	start(1);
	for (int i = 0; i < THREADS; i++)
		threads[i] = start_thread(take_turns, &sem);
	for (int i = 0; i < THREADS; i++) {
		void *failure;

		(void)pthread_join(threads[i], &failure);
		assert_null(failure);
	}
	seen = futex_watch_read();
	print_message("%llu grants after a wait, %llu wakes for them; %llu sleeps on the lock, "
		      "%llu wakes for those\n",
		      (unsigned long long)stats_of(&sem).granted_after_wait,
		      (unsigned long long)(seen.wakes - seen.wakes_inside),
		      (unsigned long long)seen.waits_inside, (unsigned long long)seen.wakes_inside);
	assert_true(seen.wakes - seen.wakes_inside <= stats_of(&sem).granted_after_wait);
	assert_true(seen.wakes_inside <= 2 * seen.waits_inside);
	assert_permits(&sem, 1, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_waiter_no_wake),
		cmocka_unit_test(a_timeout_wakes_nobody),
		cmocka_unit_test(an_async_waiter_needs_no_wake),
		cmocka_unit_test(a_release_that_serves_nobody_wakes_nobody),
		cmocka_unit_test(one_release_wakes_each_it_serves_once),
		cmocka_unit_test(under_contention_there_are_no_more_wakes_than_grants),
	};

	return RUN_TESTS(tests);
}

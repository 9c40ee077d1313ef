/* sem: acquire, try, until, weights and release, each by itself. */
#include "support/acquirer.h"
#include "support/unit.h"

#include <errno.h>
#include <string.h>

TEST(acquire_takes_and_release_gives_back_P2)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_permits(&sem, 2, 1, 0);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_permits(&sem, 2, 2, 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_permits(&sem, 2, 1, 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_permits(&sem, 2, 0, 0);
}

TEST(try_takes_what_is_free_and_no_more_P1)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);

	assert_int_equal(weir_sem_try_acquire(&sem, 2), 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 2), -EAGAIN);
	assert_permits(&sem, 3, 2, 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	assert_permits(&sem, 3, 3, 0);
}

TEST(what_was_taken_together_may_be_given_in_parts)
{
	struct weir_sem sem = WEIR_SEM_INIT(10);

	assert_int_equal(weir_sem_acquire(&sem, 7), 0);
	assert_int_equal(weir_sem_release(&sem, 3), 0);
	assert_permits(&sem, 10, 4, 0);
	assert_int_equal(weir_sem_acquire(&sem, 6), 0);
	assert_int_equal(weir_sem_release(&sem, 10), 0);
	assert_permits(&sem, 10, 0, 0);
}

TEST(a_counted_semaphore_does_the_same_P1_P2)
{
	struct weir_sem_counted counted;
	struct weir_sem *sem = &counted.sem;

	assert_int_equal(weir_sem_init_counted(&counted, 3), 0);
	assert_int_equal(weir_sem_acquire(sem, 2), 0);
	assert_int_equal(weir_sem_try_acquire(sem, 2), -EAGAIN);
	assert_int_equal(weir_sem_try_acquire(sem, 1), 0);
	assert_int_equal(weir_sem_acquire_until(sem, 1, 0), -ETIMEDOUT);
	assert_permits(sem, 3, 3, 0);
	assert_int_equal(weir_sem_release(sem, 3), 0);
	assert_int_equal(weir_sem_release(sem, 1), -EOVERFLOW);
	assert_permits(sem, 3, 0, 0);
}

TEST(until_grants_at_once_although_the_deadline_has_passed)
{
	static const weir_time past[] = { 1, 0, -1, INT64_MIN };
	struct weir_sem sem = WEIR_SEM_INIT(4);

	for (size_t i = 0; i < sizeof(past) / sizeof(*past); i++)
		assert_int_equal(weir_sem_acquire_until(&sem, 1, past[i]), 0);
	assert_permits(&sem, 4, 4, 0);
}

TEST(until_is_never_early_and_then_has_changed_nothing_P5_P9)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	for (uint32_t i = 0; i < 20; i++) {
		weir_time deadline = weir_after(i * WEIR_MS / 4);

		assert_int_equal(weir_sem_acquire_until(&sem, 1, deadline), -ETIMEDOUT);
		assert_true(weir_now() >= deadline);
		assert_permits(&sem, 1, 1, 0);
		assert_int_equal(stats_of(&sem).timed_out, i + 1);
	}
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_permits(&sem, 1, 0, 0);
}

TEST(until_is_granted_before_a_deadline_that_is_far)
{
	static const weir_time far[] = { 1000000 * WEIR_SECOND, WEIR_NEVER - 1, WEIR_NEVER };

	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
		struct weir_sem sem = WEIR_SEM_INIT(1);
		struct acquirer waiter = { .sem = &sem, .n = 1, .deadline = far[i] };

		assert_int_equal(weir_sem_acquire(&sem, 1), 0);
		acquirer_queue(&waiter);
		assert_int_equal(weir_sem_release(&sem, 1), 0);
		assert_int_equal(acquirer_join(&waiter), 0);
		assert_permits(&sem, 1, 1, 0);
	}
}

TEST(a_waiter_sleeps_until_all_it_asked_for_is_free_P1)
{
	struct weir_sem sem = WEIR_SEM_INIT(4);
	struct acquirer waiter = { .sem = &sem, .n = 3, .deadline = WEIR_NEVER };

	assert_int_equal(weir_sem_acquire(&sem, 4), 0);
	acquirer_queue(&waiter);
	for (uint32_t held = 3; held > 1; held--) {
		assert_int_equal(weir_sem_release(&sem, 1), 0);
		assert_permits(&sem, 4, held, 1);
	}
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_permits(&sem, 4, 4, 0);
	assert_int_equal(acquirer_join(&waiter), 0);
}

static void *release_one(void *sem)
{
	(void)weir_sem_release(sem, 1);
	return NULL;
}

TEST(any_thread_may_release)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	(void)pthread_join(start_thread(release_one, &sem), NULL);
	assert_permits(&sem, 1, 0, 0);
}

TEST(errno_is_left_alone)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct acquirer waiter = { .sem = &sem, .n = 1, .deadline = WEIR_NEVER };

	errno = 12345;
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, weir_after(WEIR_MS)), -ETIMEDOUT);
	acquirer_queue(&waiter);
	errno = 12345;
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(weir_sem_release(&sem, 2), -EOVERFLOW);
	weir_sem_close(&sem);
	assert_int_equal(errno, 12345);
	assert_int_equal(acquirer_join(&waiter), 0);
}

/* CHECKLIST 24: the thread is asked to end while it waits. It must come back with its permit and
 * end at a cancellation point of its own. */
TEST(no_call_is_a_cancellation_point_CHECKLIST_24)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct acquirer waiter = { .sem = &sem, .n = 1, .deadline = WEIR_NEVER, .result = 1 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	acquirer_queue(&waiter);
	assert_int_equal(pthread_cancel(waiter.thread), 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(acquirer_join(&waiter), 0);
	assert_permits(&sem, 1, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acquire_takes_and_release_gives_back_P2),
		cmocka_unit_test(try_takes_what_is_free_and_no_more_P1),
		cmocka_unit_test(what_was_taken_together_may_be_given_in_parts),
		cmocka_unit_test(a_counted_semaphore_does_the_same_P1_P2),
		cmocka_unit_test(until_grants_at_once_although_the_deadline_has_passed),
		cmocka_unit_test(until_is_never_early_and_then_has_changed_nothing_P5_P9),
		cmocka_unit_test(until_is_granted_before_a_deadline_that_is_far),
		cmocka_unit_test(a_waiter_sleeps_until_all_it_asked_for_is_free_P1),
		cmocka_unit_test(any_thread_may_release),
		cmocka_unit_test(errno_is_left_alone),
		cmocka_unit_test(no_call_is_a_cancellation_point_CHECKLIST_24),
	};

	return RUN_TESTS(tests);
}

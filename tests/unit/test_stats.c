/* sem: statistics, field by field. */
#include "support/acquirer.h"
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>
#include <string.h>

TEST(every_field_is_written)
{
	struct weir_sem sem = WEIR_SEM_INIT(7);
	struct weir_sem_stats stats;

	memset(&stats, 0xff, sizeof(stats));
	weir_sem_stats(&sem, &stats);
	assert_int_equal(stats.limit, 7);
	assert_int_equal(stats.free, 7);
	assert_int_equal(stats.held + stats.owed + stats.waiting, 0);
	assert_int_equal(stats.timed_out + stats.cancelled + stats.peak_held, 0);
	assert_true(stats.granted_after_wait + stats.granted_at_once == 0);
	assert_true(stats.wait_total == 0 && stats.wait_longest == 0);
	assert_false(stats.closed);
	assert_false(stats.counted);
}

TEST(free_held_and_owed_add_up_P2)
{
	struct weir_sem sem = WEIR_SEM_INIT(9);

	assert_int_equal(weir_sem_acquire(&sem, 8), 0);
	for (uint32_t limit = 0; limit <= 20; limit++) {
		struct weir_sem_stats stats;

		assert_int_equal(weir_sem_resize(&sem, limit), 0);
		stats = stats_of(&sem);
		assert_int_equal(stats.held, 8);
		assert_int_equal(stats.free + stats.held, stats.limit + stats.owed);
		assert_true(stats.free == 0 || stats.owed == 0);
	}
}

TEST(waits_that_ended_are_counted_by_how)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct async waiters[6] = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(async_acquire(&waiters[i], &sem, 1), 1);
	assert_int_equal(stats_of(&sem).waiting, 6);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, 0), -ETIMEDOUT);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, -1), -ETIMEDOUT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(weir_sem_cancel(&sem, &waiters[i].waiter), 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	weir_sem_close(&sem);
	assert_int_equal(stats_of(&sem).timed_out, 2);
	assert_int_equal(stats_of(&sem).cancelled, 3);
	assert_int_equal(stats_of(&sem).granted_after_wait, 1);
	assert_int_equal(stats_of(&sem).waiting, 0);
	assert_true(stats_of(&sem).closed);
}

TEST(failed_waits_are_counted_modulo_2_to_the_32_CHECKLIST_7)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct async waiter = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	sem.timed_out = UINT32_MAX;
	sem.cancelled = UINT32_MAX;
	assert_int_equal(weir_sem_acquire_until(&sem, 1, 0), -ETIMEDOUT);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	assert_int_equal(weir_sem_cancel(&sem, &waiter.waiter), 0);
	assert_int_equal(stats_of(&sem).timed_out, 0);
	assert_int_equal(stats_of(&sem).cancelled, 0);
	assert_permits(&sem, 1, 1, 0);
}

/* Whether the figures of one wait of `length` are right to within a half. They are converted with
 * clocks that cannot be read at the same moment, so a preemption may spoil them: the caller repeats
 * it. */
static bool wait_is_measured(weir_time length)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct async waiter = { 0 };
	struct weir_sem_stats stats;
	weir_time start = weir_now();
	weir_time waited;

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	do
		waited = weir_now() - start;
	while (waited < length);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	stats = stats_of(&sem);
	return stats.wait_longest > waited / 2 && stats.wait_longest < waited * 3 / 2;
}

TEST(a_wait_is_measured_in_nanoseconds)
{
	weir_time length = WEIR_MS;

	while (!wait_is_measured(length)) {
		length *= 2;
		assert_true(length < 20 * WEIR_SECOND);
	}
}

static void spin_for(weir_time length)
{
	weir_time start = weir_now();

	while (weir_now() - start < length)
		;
}

/* By the raw ticks: two figures of one snapshot may be converted at slightly different rates. */
TEST(the_longest_wait_is_one_of_the_total)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	uint64_t granted = 0;

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	for (int i = 0; i < 20; i++) {
		struct async waiter = { 0 };

		assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
		spin_for(i * 50 * WEIR_US);
		assert_int_equal(weir_sem_release(&sem, 1), 0);
		assert_true(stats_of(&sem).granted_after_wait == ++granted);
	}
	assert_true(sem.ticks_longest > 0);
	assert_true(sem.ticks_waited > sem.ticks_longest);
	assert_true(sem.ticks_waited < 20 * sem.ticks_longest);
}

TEST(waits_that_failed_are_not_measured)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, weir_after(WEIR_MS)), -ETIMEDOUT);
	assert_int_equal(stats_of(&sem).granted_after_wait, 0);
	assert_true(stats_of(&sem).wait_total == 0);
}

TEST(a_counted_semaphore_counts_grants_at_once_and_the_peak)
{
	struct weir_sem_counted counted;
	struct weir_sem *sem = &counted.sem;
	struct async waiter = { 0 };
	struct async at_once = { 0 };

	assert_int_equal(weir_sem_init_counted(&counted, 5), 0);
	assert_int_equal(weir_sem_acquire(sem, 2), 0);
	assert_int_equal(weir_sem_try_acquire(sem, 1), 0);
	assert_int_equal(weir_sem_acquire_until(sem, 1, 0), 0);
	assert_int_equal(stats_of(sem).granted_at_once, 3);
	assert_int_equal(stats_of(sem).peak_held, 4);
	assert_int_equal(weir_sem_release(sem, 3), 0);
	assert_int_equal(async_acquire(&at_once, sem, 1), 0);
	assert_int_equal(stats_of(sem).granted_at_once, 4);
	assert_int_equal(stats_of(sem).peak_held, 4);

	assert_int_equal(weir_sem_try_acquire(sem, 4), -EAGAIN);
	assert_int_equal(weir_sem_acquire_until(sem, 4, 0), -ETIMEDOUT);
	assert_int_equal(stats_of(sem).granted_at_once, 4);
	assert_int_equal(async_acquire(&waiter, sem, 5), 1);
	assert_int_equal(stats_of(sem).peak_held, 4);
	assert_int_equal(weir_sem_release(sem, 2), 0);
	assert_int_equal(waiter.calls, 1);
	assert_int_equal(stats_of(sem).peak_held, 5);
	assert_int_equal(stats_of(sem).granted_at_once, 4);
	assert_int_equal(stats_of(sem).granted_after_wait, 1);
}

TEST(a_plain_semaphore_does_not_count_them)
{
	struct weir_sem sem = WEIR_SEM_INIT(5);

	assert_int_equal(weir_sem_acquire(&sem, 5), 0);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, 0), -ETIMEDOUT);
	assert_false(stats_of(&sem).counted);
	assert_int_equal(stats_of(&sem).granted_at_once, 0);
	assert_int_equal(stats_of(&sem).peak_held, 0);
}

TEST(a_thread_that_waits_is_counted_like_any_other)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct acquirer waiter = { .sem = &sem, .n = 1, .deadline = WEIR_NEVER };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	acquirer_queue(&waiter);
	spin_for(WEIR_MS);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(acquirer_join(&waiter), 0);
	assert_int_equal(stats_of(&sem).granted_after_wait, 1);
	assert_true(stats_of(&sem).wait_total > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_written),
		cmocka_unit_test(free_held_and_owed_add_up_P2),
		cmocka_unit_test(waits_that_ended_are_counted_by_how),
		cmocka_unit_test(failed_waits_are_counted_modulo_2_to_the_32_CHECKLIST_7),
		cmocka_unit_test(a_wait_is_measured_in_nanoseconds),
		cmocka_unit_test(the_longest_wait_is_one_of_the_total),
		cmocka_unit_test(waits_that_failed_are_not_measured),
		cmocka_unit_test(a_counted_semaphore_counts_grants_at_once_and_the_peak),
		cmocka_unit_test(a_plain_semaphore_does_not_count_them),
		cmocka_unit_test(a_thread_that_waits_is_counted_like_any_other),
	};

	return RUN_TESTS(tests);
}

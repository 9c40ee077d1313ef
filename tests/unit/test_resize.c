/* sem: changing the limit. */
#include "support/acquirer.h"
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>

TEST(raising_frees_more_P2)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_resize(&sem, 3), 0);
	assert_permits(&sem, 3, 1, 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 2), 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	assert_int_equal(weir_sem_release(&sem, 3), 0);
	assert_permits(&sem, 3, 0, 0);
}

TEST(lowering_takes_free_permits_away_P1)
{
	struct weir_sem sem = WEIR_SEM_INIT(5);

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_resize(&sem, 2), 0);
	assert_permits(&sem, 2, 1, 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	assert_int_equal(weir_sem_try_acquire(&sem, 3), -E2BIG);
}

TEST(lowering_below_what_is_held_leaves_a_debt_P1_CHECKLIST_18)
{
	struct weir_sem sem = WEIR_SEM_INIT(5);

	assert_int_equal(weir_sem_acquire(&sem, 5), 0);
	assert_int_equal(weir_sem_resize(&sem, 2), 0);
	assert_permits(&sem, 2, 5, 0);
	assert_int_equal(stats_of(&sem).owed, 3);
	/* Releases pay the debt before they free anything. */
	for (uint32_t held = 4; held >= 2; held--) {
		assert_int_equal(weir_sem_release(&sem, 1), 0);
		assert_permits(&sem, 2, held, 0);
		assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	}
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_release(&sem, 2), 0);
	assert_permits(&sem, 2, 0, 0);
}

TEST(one_release_may_pay_the_debt_and_free_the_rest_CHECKLIST_18)
{
	struct weir_sem sem = WEIR_SEM_INIT(5);
	struct async waiter = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 5), 0);
	assert_int_equal(weir_sem_resize(&sem, 2), 0);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	assert_int_equal(weir_sem_release(&sem, 3), 0);
	assert_int_equal(waiter.calls, 0);
	assert_permits(&sem, 2, 2, 1);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(waiter.calls, 1);
	assert_permits(&sem, 2, 2, 0);
}

TEST(a_debt_is_forgiven_by_raising_P2)
{
	struct weir_sem sem = WEIR_SEM_INIT(5);

	assert_int_equal(weir_sem_acquire(&sem, 5), 0);
	assert_int_equal(weir_sem_resize(&sem, 1), 0);
	assert_int_equal(weir_sem_resize(&sem, 6), 0);
	assert_permits(&sem, 6, 5, 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_release(&sem, 6), 0);
	assert_permits(&sem, 6, 0, 0);
}

TEST(releases_in_debt_are_still_counted_CHECKLIST_17)
{
	struct weir_sem sem = WEIR_SEM_INIT(5);

	assert_int_equal(weir_sem_acquire(&sem, 4), 0);
	assert_int_equal(weir_sem_resize(&sem, 1), 0);
	assert_int_equal(weir_sem_release(&sem, 5), -EOVERFLOW);
	assert_permits(&sem, 1, 4, 0);
	assert_int_equal(weir_sem_release(&sem, 4), 0);
	assert_int_equal(weir_sem_release(&sem, 1), -EOVERFLOW);
	assert_permits(&sem, 1, 0, 0);
}

TEST(raising_grants_whoever_now_fits_in_order_P3_P4)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);
	uint32_t turns = 0;
	struct acquirer thread = { .sem = &sem, .n = 2, .deadline = WEIR_NEVER };
	struct async second = { .turns = &turns };
	struct async third = { .turns = &turns };

	assert_int_equal(weir_sem_acquire(&sem, 3), 0);
	acquirer_queue(&thread);
	assert_int_equal(async_acquire(&second, &sem, 1), 1);
	assert_int_equal(async_acquire(&third, &sem, 3), 1);
	assert_int_equal(weir_sem_resize(&sem, 4), 0);
	assert_int_equal(second.calls, 0);
	assert_permits(&sem, 4, 3, 3);
	assert_int_equal(weir_sem_resize(&sem, 8), 0);
	assert_int_equal(acquirer_join(&thread), 0);
	assert_int_equal(second.turn, 1);
	assert_int_equal(third.calls, 0);
	assert_permits(&sem, 8, 6, 1);
	assert_int_equal(weir_sem_resize(&sem, 9), 0);
	assert_int_equal(third.turn, 2);
	assert_permits(&sem, 9, 9, 0);
}

TEST(a_waiter_too_heavy_for_the_new_limit_fails_at_once)
{
	struct weir_sem sem = WEIR_SEM_INIT(5);
	struct async light = { 0 };
	struct acquirer heavy_thread = { .sem = &sem, .n = 4, .deadline = WEIR_NEVER };
	struct async heavy = { 0 };
	struct async last = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 5), 0);
	assert_int_equal(async_acquire(&light, &sem, 2), 1);
	acquirer_queue(&heavy_thread);
	assert_int_equal(async_acquire(&heavy, &sem, 5), 1);
	assert_int_equal(async_acquire(&last, &sem, 3), 1);
	assert_int_equal(weir_sem_resize(&sem, 3), 0);
	assert_int_equal(acquirer_join(&heavy_thread), -E2BIG);
	assert_int_equal(heavy.calls, 1);
	assert_int_equal(heavy.result, -E2BIG);
	assert_int_equal(light.calls + last.calls, 0);
	assert_permits(&sem, 3, 5, 2);
	assert_int_equal(weir_sem_release(&sem, 5), 0);
	assert_int_equal(light.calls, 1);
	assert_int_equal(weir_sem_release(&sem, 2), 0);
	assert_int_equal(last.calls, 1);
	assert_permits(&sem, 3, 3, 0);
}

/* The heavy head is refused; the light one behind it fits what is free. */
TEST(refusing_the_head_lets_the_next_in_P4_CHECKLIST_2)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);
	struct async heavy = { 0 };
	struct async light = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&heavy, &sem, 3), 1);
	assert_int_equal(async_acquire(&light, &sem, 1), 1);
	assert_int_equal(weir_sem_resize(&sem, 2), 0);
	assert_int_equal(heavy.result, -E2BIG);
	assert_int_equal(light.calls, 1);
	assert_int_equal(light.result, 0);
	assert_permits(&sem, 2, 2, 0);
}

TEST(zero_pauses_nobody_is_granted_and_nobody_fails)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);
	struct acquirer waiter = { .sem = &sem, .n = 2, .deadline = WEIR_NEVER };
	struct async later = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 2), 0);
	acquirer_queue(&waiter);
	assert_int_equal(weir_sem_resize(&sem, 0), 0);
	assert_permits(&sem, 0, 2, 1);
	assert_int_equal(weir_sem_release(&sem, 2), 0);
	assert_permits(&sem, 0, 0, 1);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, 0), -ETIMEDOUT);
	/* Whether it is too heavy shows when the limit is raised. */
	assert_int_equal(async_acquire(&later, &sem, WEIR_SEM_MAX), 1);
	assert_int_equal(weir_sem_resize(&sem, 2), 0);
	assert_int_equal(acquirer_join(&waiter), 0);
	assert_int_equal(later.result, -E2BIG);
	assert_permits(&sem, 2, 2, 0);
}

TEST(an_idle_semaphore_may_be_paused_too)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);

	assert_int_equal(weir_sem_resize(&sem, 0), 0);
	assert_permits(&sem, 0, 0, 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	assert_int_equal(weir_sem_release(&sem, 1), -EOVERFLOW);
	assert_int_equal(weir_sem_resize(&sem, 1), 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), 0);
}

TEST(a_resize_to_the_same_limit_changes_nothing)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);
	struct weir_sem before;

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	before = sem;
	assert_int_equal(weir_sem_resize(&sem, 3), 0);
	assert_memory_equal(&sem, &before, sizeof(sem));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raising_frees_more_P2),
		cmocka_unit_test(lowering_takes_free_permits_away_P1),
		cmocka_unit_test(lowering_below_what_is_held_leaves_a_debt_P1_CHECKLIST_18),
		cmocka_unit_test(one_release_may_pay_the_debt_and_free_the_rest_CHECKLIST_18),
		cmocka_unit_test(a_debt_is_forgiven_by_raising_P2),
		cmocka_unit_test(releases_in_debt_are_still_counted_CHECKLIST_17),
		cmocka_unit_test(raising_grants_whoever_now_fits_in_order_P3_P4),
		cmocka_unit_test(a_waiter_too_heavy_for_the_new_limit_fails_at_once),
		cmocka_unit_test(refusing_the_head_lets_the_next_in_P4_CHECKLIST_2),
		cmocka_unit_test(zero_pauses_nobody_is_granted_and_nobody_fails),
		cmocka_unit_test(an_idle_semaphore_may_be_paused_too),
		cmocka_unit_test(a_resize_to_the_same_limit_changes_nothing),
	};

	return RUN_TESTS(tests);
}

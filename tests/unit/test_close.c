/* sem: closing. */
#include "support/acquirer.h"
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>
#include <string.h>

TEST(everyone_who_waits_is_told_P5)
{
	enum { WAITERS = 4 };
	struct weir_sem sem = WEIR_SEM_INIT(3);
	struct acquirer threads[WAITERS];
	struct async asyncs[WAITERS];

	assert_int_equal(weir_sem_acquire(&sem, 3), 0);
	for (uint32_t i = 0; i < WAITERS; i++) {
		threads[i] =
			(struct acquirer){ .sem = &sem, .n = i % 3 + 1, .deadline = WEIR_NEVER };
		acquirer_queue(&threads[i]);
		asyncs[i] = (struct async){ 0 };
		assert_int_equal(async_acquire(&asyncs[i], &sem, 1), 1);
	}
	weir_sem_close(&sem);
	for (int i = 0; i < WAITERS; i++) {
		assert_int_equal(acquirer_join(&threads[i]), -ESHUTDOWN);
		assert_int_equal(asyncs[i].calls, 1);
		assert_int_equal(asyncs[i].result, -ESHUTDOWN);
	}
	assert_permits(&sem, 3, 3, 0);
	assert_true(stats_of(&sem).closed);
	assert_int_equal(stats_of(&sem).granted_after_wait, 0);
}

TEST(what_is_held_is_released_as_usual_P2)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);

	assert_int_equal(weir_sem_acquire(&sem, 3), 0);
	weir_sem_close(&sem);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(weir_sem_release(&sem, 2), 0);
	assert_permits(&sem, 3, 0, 0);
	assert_int_equal(weir_sem_release(&sem, 1), -EOVERFLOW);
	assert_permits(&sem, 3, 0, 0);
}

TEST(free_permits_are_not_granted_any_more)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);
	struct async waiter = { 0 };

	weir_sem_close(&sem);
	assert_int_equal(weir_sem_acquire(&sem, 1), -ESHUTDOWN);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -ESHUTDOWN);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, WEIR_NEVER), -ESHUTDOWN);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, INT64_MIN), -ESHUTDOWN);
	assert_int_equal(async_acquire(&waiter, &sem, 1), -ESHUTDOWN);
	assert_int_equal(waiter.calls, 0);
	assert_int_equal(weir_sem_resize(&sem, 5), -ESHUTDOWN);
	assert_permits(&sem, 3, 0, 0);
}

TEST(a_second_close_does_nothing)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);
	struct weir_sem before;

	assert_int_equal(weir_sem_acquire(&sem, 2), 0);
	weir_sem_close(&sem);
	before = sem;
	weir_sem_close(&sem);
	assert_memory_equal(&sem, &before, sizeof(sem));
}

TEST(a_paused_semaphore_may_be_closed)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct async waiter = { 0 };

	assert_int_equal(weir_sem_resize(&sem, 0), 0);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	weir_sem_close(&sem);
	assert_int_equal(waiter.result, -ESHUTDOWN);
	assert_permits(&sem, 0, 0, 0);
}

TEST(a_semaphore_in_debt_may_be_closed_P2)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);

	assert_int_equal(weir_sem_acquire(&sem, 3), 0);
	assert_int_equal(weir_sem_resize(&sem, 1), 0);
	weir_sem_close(&sem);
	assert_permits(&sem, 1, 3, 0);
	assert_int_equal(weir_sem_release(&sem, 3), 0);
	assert_permits(&sem, 1, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everyone_who_waits_is_told_P5),
		cmocka_unit_test(what_is_held_is_released_as_usual_P2),
		cmocka_unit_test(free_permits_are_not_granted_any_more),
		cmocka_unit_test(a_second_close_does_nothing),
		cmocka_unit_test(a_paused_semaphore_may_be_closed),
		cmocka_unit_test(a_semaphore_in_debt_may_be_closed_P2),
	};

	return RUN_TESTS(tests);
}

/* sem: strict order. */
#include "support/acquirer.h"
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>
#include <sched.h>

enum { THREADS = 8 };

/* Waits until `count` have drawn their turn, which is after they were granted. */
static void wait_for_turns(const uint32_t *turns, uint32_t count)
{
	while (__atomic_load_n(turns, __ATOMIC_SEQ_CST) != count)
		(void)sched_yield();
}

TEST(threads_are_served_in_the_order_they_came_P3)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct acquirer waiters[THREADS];
	uint32_t turns = 0;

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	for (int i = 0; i < THREADS; i++) {
		waiters[i] = (struct acquirer){
			.sem = &sem, .n = 1, .deadline = WEIR_NEVER, .turns = &turns
		};
		acquirer_queue(&waiters[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(weir_sem_release(&sem, 1), 0);
		wait_for_turns(&turns, i + 1);
		assert_int_equal(acquirer_join(&waiters[i]), 0);
		assert_int_equal(waiters[i].turn, i + 1);
	}
	assert_permits(&sem, 1, 1, 0);
}

TEST(threads_and_async_waiters_share_one_queue_P3)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	uint32_t turns = 0;
	struct async first = { .turns = &turns };
	struct acquirer second = { .sem = &sem, .n = 1, .deadline = WEIR_NEVER, .turns = &turns };
	struct async third = { .turns = &turns };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&first, &sem, 1), 1);
	acquirer_queue(&second);
	assert_int_equal(async_acquire(&third, &sem, 1), 1);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(weir_sem_release(&sem, 1), 0);
		wait_for_turns(&turns, i);
	}
	assert_int_equal(acquirer_join(&second), 0);
	assert_int_equal(first.turn, 1);
	assert_int_equal(second.turn, 2);
	assert_int_equal(third.turn, 3);
}

TEST(nobody_overtakes_a_heavy_head_P3_CHECKLIST_15)
{
	struct weir_sem sem = WEIR_SEM_INIT(4);
	struct async heavy = { 0 };
	struct async light = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&heavy, &sem, 4), 1);
	/* Three permits are free, and stay so. */
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, weir_after(WEIR_MS)), -ETIMEDOUT);
	assert_int_equal(async_acquire(&light, &sem, 1), 1);
	assert_permits(&sem, 4, 1, 2);
	assert_int_equal(heavy.calls + light.calls, 0);

	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(heavy.calls, 1);
	assert_int_equal(light.calls, 0);
	assert_permits(&sem, 4, 4, 1);
	assert_int_equal(weir_sem_release(&sem, 4), 0);
	assert_int_equal(light.calls, 1);
	assert_permits(&sem, 4, 1, 0);
}

TEST(a_thread_that_takes_again_goes_to_the_back_P3)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct async waiter = { 0 };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&waiter, &sem, 1), 1);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(waiter.calls, 1);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	assert_permits(&sem, 1, 1, 0);
}

TEST(one_release_serves_all_who_fit_in_order_P3_P4)
{
	static const uint32_t weights[] = { 2, 1, 3, 1 };
	struct weir_sem sem = WEIR_SEM_INIT(6);
	struct async waiters[4];
	uint32_t turns = 0;

	assert_int_equal(weir_sem_acquire(&sem, 6), 0);
	for (int i = 0; i < 4; i++) {
		waiters[i] = (struct async){ .turns = &turns };
		assert_int_equal(async_acquire(&waiters[i], &sem, weights[i]), 1);
	}
	/* 2 and 1 fit; 3 does not, and the last 1 stays behind it. */
	assert_int_equal(weir_sem_release(&sem, 5), 0);
	assert_int_equal(turns, 2);
	assert_int_equal(waiters[0].turn, 1);
	assert_int_equal(waiters[1].turn, 2);
	assert_permits(&sem, 6, 4, 2);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(waiters[2].turn, 3);
	assert_permits(&sem, 6, 6, 1);
	assert_int_equal(weir_sem_release(&sem, 6), 0);
	assert_int_equal(waiters[3].turn, 4);
	assert_permits(&sem, 6, 1, 0);
}

TEST(a_release_of_n_serves_at_most_n_CHECKLIST_14)
{
	enum { LIGHT = 20 };
	struct weir_sem sem = WEIR_SEM_INIT(LIGHT);
	struct async heavy = { 0 };
	struct async light[LIGHT] = { 0 };
	uint32_t turns = 0;

	/* Nine are free, and the head needs one more: the release of one serves it alone. */
	assert_int_equal(weir_sem_acquire(&sem, LIGHT - 9), 0);
	assert_int_equal(async_acquire(&heavy, &sem, 10), 1);
	for (int i = 0; i < LIGHT; i++) {
		light[i].turns = &turns;
		assert_int_equal(async_acquire(&light[i], &sem, 1), 1);
	}
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(heavy.calls, 1);
	assert_int_equal(turns, 0);
	assert_int_equal(weir_sem_release(&sem, 3), 0);
	assert_int_equal(turns, 3);
	assert_permits(&sem, LIGHT, LIGHT, LIGHT - 3);
	assert_int_equal(weir_sem_release(&sem, 16), 0);
	assert_int_equal(weir_sem_release(&sem, 4), 0);
	assert_permits(&sem, LIGHT, LIGHT - 3, 0);
}

/* The heavy head has a deadline; when it leaves, nothing is freed, and yet the next must be let in.
 */
TEST(a_head_that_times_out_lets_the_next_in_P4_CHECKLIST_2)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);
	struct acquirer heavy = { .sem = &sem, .n = 2, .deadline = weir_after(50 * WEIR_MS) };
	struct async light = { 0 };
	int queued;

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	acquirer_start(&heavy);
	while (stats_of(&sem).waiting == 0 && stats_of(&sem).timed_out == 0)
		(void)sched_yield();
	/* 1 when it waits behind the heavy one; 0 when that one has timed out already. */
	queued = async_acquire(&light, &sem, 1);
	assert_in_range(queued, 0, 1);
	assert_int_equal(acquirer_join(&heavy), -ETIMEDOUT);
	assert_int_equal(light.calls, queued);
	assert_permits(&sem, 2, 2, 0);
}

TEST(a_waiter_that_times_out_leaves_the_others_in_order_P3)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	uint32_t turns = 0;
	struct async first = { .turns = &turns };
	struct async last = { .turns = &turns };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(async_acquire(&first, &sem, 1), 1);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, weir_after(WEIR_MS)), -ETIMEDOUT);
	assert_int_equal(async_acquire(&last, &sem, 1), 1);
	assert_permits(&sem, 1, 1, 2);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(first.turn, 1);
	assert_int_equal(last.turn, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_served_in_the_order_they_came_P3),
		cmocka_unit_test(threads_and_async_waiters_share_one_queue_P3),
		cmocka_unit_test(nobody_overtakes_a_heavy_head_P3_CHECKLIST_15),
		cmocka_unit_test(a_thread_that_takes_again_goes_to_the_back_P3),
		cmocka_unit_test(one_release_serves_all_who_fit_in_order_P3_P4),
		cmocka_unit_test(a_release_of_n_serves_at_most_n_CHECKLIST_14),
		cmocka_unit_test(a_head_that_times_out_lets_the_next_in_P4_CHECKLIST_2),
		cmocka_unit_test(a_waiter_that_times_out_leaves_the_others_in_order_P3),
	};

	return RUN_TESTS(tests);
}

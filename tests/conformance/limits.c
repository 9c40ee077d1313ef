/* conformance: limits that are made, insisted on, and changed (S13, S14, S23, M15, A7, A8). */
#include "conformance/suite.h"

#include "support/acquirer.h"

TEST(ensure_creates_and_leaves_alone)
{
	const char *name = fresh_name();

	assert_int_equal(weir_ensure(store, name, 3), 1);
	assert_int_equal(weir_ensure(other, name, 5), 0);
	assert_counts(name, 3, 0, 0);
}

TEST(a_request_may_create_but_not_disagree_M15_A8_CHECKLIST_30)
{
	const char *name = fresh_name();
	struct weir_request request = { .name = name, .limit = 2, .ttl = LONG };
	struct weir_lease *lease, *none = NULL;

	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	assert_counts(name, 2, 1, 0);
	request.limit = 3;
	assert_int_equal(weir_acquire(other, &request, &none), -EEXIST);
	assert_non_null(strstr(weir_store_error(other), "2"));
	assert_non_null(strstr(weir_store_error(other), "3"));
	assert_null(none);
	assert_counts(name, 2, 1, 0);
	give_back(lease);
}

TEST(heavier_than_the_limit_is_refused_at_once_CHECKLIST_17)
{
	const char *name = fresh_name();
	struct weir_request request = { .name = name, .weight = 3, .deadline = WEIR_NEVER };
	struct weir_lease *none = NULL;

	assert_int_equal(weir_ensure(store, name, 2), 1);
	assert_int_equal(weir_acquire(store, &request, &none), -E2BIG);
	assert_null(none);
}

TEST(a_higher_limit_wakes_whoever_fits_in_order_S13_A7)
{
	const char *name = fresh_name();
	struct waiter waiters[3] = { { 0 } };
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	for (int i = 0; i < 3; i++)
		waiter_queue(&waiters[i], name, 1, WEIR_NEVER);
	assert_int_equal(weir_set_limit(other, name, 3), 0);
	assert_int_equal(waiter_join(&waiters[0]), 0);
	assert_int_equal(waiter_join(&waiters[1]), 0);
	assert_counts(name, 3, 3, 1);
	assert_true(info_of(waiters[0].lease).fence < info_of(waiters[1].lease).fence);
	give_back(lease);
	assert_int_equal(waiter_join(&waiters[2]), 0);
	for (int i = 0; i < 3; i++)
		give_back(waiters[i].lease);
}

TEST(a_lower_limit_revokes_nobody_and_is_paid_off_first_S14_A7_L1)
{
	const char *name = fresh_name();
	struct weir_lease *a, *b;

	assert_int_equal(weir_ensure(store, name, 3), 1);
	a = take(store, name, 1, LONG);
	b = take(store, name, 1, LONG);
	assert_int_equal(weir_set_limit(store, name, 1), 0);
	assert_int_equal(weir_renew(a, 0), 0);
	assert_int_equal(weir_renew(b, 0), 0);
	assert_int_equal(try_once(store, name, 1), -EAGAIN);
	give_back(a);
	assert_int_equal(try_once(store, name, 1), -EAGAIN);
	give_back(b);
	assert_int_equal(try_once(store, name, 1), 0);
	assert_int_equal(weir_set_limit(store, name, 3), 0);
	assert_counts(name, 3, 0, 0);
}

TEST(zero_pauses_and_fails_nobody_A7)
{
	const char *name = fresh_name();
	struct waiter waiter = { 0 };
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 2), 1);
	lease = take(store, name, 1, LONG);
	assert_int_equal(weir_set_limit(store, name, 0), 0);
	assert_int_equal(weir_renew(lease, 0), 0);
	assert_int_equal(try_once(store, name, 1), -EAGAIN);
	waiter_queue(&waiter, name, 2, WEIR_NEVER);
	give_back(lease);
	assert_counts(name, 0, 0, 1);
	assert_int_equal(weir_set_limit(store, name, 2), 0);
	assert_int_equal(waiter_join(&waiter), 0);
	give_back(waiter.lease);
}

TEST(a_waiter_that_became_too_heavy_fails_CHECKLIST_18)
{
	const char *name = fresh_name();
	struct waiter heavy = { 0 }, light = { 0 };
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 3), 1);
	lease = take(store, name, 1, LONG);
	waiter_queue(&heavy, name, 3, WEIR_NEVER);
	light.in = other;
	waiter_queue(&light, name, 1, WEIR_NEVER);
	assert_int_equal(weir_set_limit(store, name, 2), 0);
	assert_int_equal(waiter_join(&heavy), -E2BIG);
	assert_int_equal(waiter_join(&light), 0);
	give_back(light.lease);
	give_back(lease);
}

static const char *fought_over;

static void *set_limit(void *arg)
{
	uint32_t limit = (uint32_t)(uintptr_t)arg;

	return (void *)(intptr_t)weir_set_limit(limit % 2 ? store : other, fought_over, limit);
}

TEST(limits_set_at_the_same_time_leave_it_usable_S23)
{
	pthread_t threads[5];
	void *result;

	fought_over = fresh_name();
	assert_int_equal(weir_ensure(store, fought_over, 9), 1);
	for (uintptr_t i = 0; i < 5; i++)
		threads[i] = start_thread(set_limit, (void *)(i + 1));
	for (int i = 0; i < 5; i++) {
		(void)pthread_join(threads[i], &result);
		assert_null(result);
	}
	assert_int_equal(try_once(store, fought_over, 1), 0);
}

static const struct CMUnitTest tests[] = {
	CONFORMANCE(ensure_creates_and_leaves_alone),
	CONFORMANCE(a_request_may_create_but_not_disagree_M15_A8_CHECKLIST_30),
	CONFORMANCE(heavier_than_the_limit_is_refused_at_once_CHECKLIST_17),
	CONFORMANCE(a_higher_limit_wakes_whoever_fits_in_order_S13_A7),
	CONFORMANCE(a_lower_limit_revokes_nobody_and_is_paid_off_first_S14_A7_L1),
	CONFORMANCE(zero_pauses_and_fails_nobody_A7),
	CONFORMANCE(a_waiter_that_became_too_heavy_fails_CHECKLIST_18),
	CONFORMANCE(limits_set_at_the_same_time_leave_it_usable_S23),
};
GROUP(limits, tests);

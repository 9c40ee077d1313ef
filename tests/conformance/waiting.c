/* conformance: those who wait: order, deadlines, retries, closing. */
#include "conformance/suite.h"

TEST(a_deadline_passes_and_leaves_nothing_M2_M5_M7_P5)
{
	const char *name = fresh_name();
	struct weir_lease *lease, *none = NULL;
	weir_time deadline;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	deadline = weir_after(50 * WEIR_MS);

	struct weir_request request = { .name = name, .deadline = deadline };

	assert_int_equal(weir_acquire(other, &request, &none), -ETIMEDOUT);
	assert_true(weir_now() >= deadline); /* P9 */
	assert_null(none);
	assert_counts(name, 1, 1, 0);
	give_back(lease);
	assert_int_equal(try_once(store, name, 1), 0);
}

TEST(a_release_grants_to_the_next_in_line_and_to_nobody_else_M9_L7_L8)
{
	const char *name = fresh_name();
	struct waiter waiters[4] = { { 0 } };
	uint32_t turns = 0;
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	for (uint32_t i = 0; i < 4; i++) {
		waiters[i].in = i % 2 ? other : store;
		waiters[i].turns = &turns;
		waiter_queue(&waiters[i], name, 1, WEIR_NEVER);
	}
	assert_int_equal(try_once(store, name, 1), -EAGAIN);
	give_back(lease);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(waiter_join(&waiters[i]), 0);
		assert_int_equal(waiters[i].turn, i + 1);
		assert_true(info_of(waiters[i].lease).waited > 0);
		assert_counts(name, 1, 1, 3 - i);
		give_back(waiters[i].lease);
	}
}

TEST(nobody_overtakes_a_heavy_head_P3_A2_CHECKLIST_15)
{
	const char *name = fresh_name();
	struct waiter heavy = { 0 }, light = { 0 };
	struct weir_lease *a, *b;

	assert_int_equal(weir_ensure(store, name, 2), 1);
	a = take(store, name, 1, LONG);
	waiter_queue(&heavy, name, 2, WEIR_NEVER);
	assert_int_equal(try_once(store, name, 1), -EAGAIN); /* though one is free */
	assert_int_equal(try_once(other, name, 1), -EAGAIN);
	waiter_queue(&light, name, 1, WEIR_NEVER);
	give_back(a);
	assert_int_equal(waiter_join(&heavy), 0);
	assert_counts(name, 2, 2, 1);
	b = heavy.lease;
	give_back(b);
	assert_int_equal(waiter_join(&light), 0);
	assert_true(info_of(light.lease).slot == 0);
	give_back(light.lease);
}

TEST(a_head_that_gives_up_lets_the_next_in_CHECKLIST_2_A1)
{
	const char *name = fresh_name();
	struct waiter heavy = { 0 }, light = { 0 };
	struct weir_lease *a;

	assert_int_equal(weir_ensure(store, name, 2), 1);
	a = take(store, name, 1, LONG);
	waiter_queue(&heavy, name, 2, weir_after(100 * WEIR_MS));
	waiter_queue(&light, name, 1, WEIR_NEVER);
	assert_int_equal(waiter_join(&heavy), -ETIMEDOUT);
	assert_int_equal(waiter_join(&light), 0); /* without any release */
	give_back(light.lease);
	give_back(a);
}

TEST(release_and_acquire_again_goes_to_the_end_of_the_queue_A2)
{
	const char *name = fresh_name();
	struct weir_lease *mine;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	mine = take(store, name, 1, LONG);
	for (int i = 0; i < 5; i++) {
		struct waiter waiter = { 0 };

		waiter_queue(&waiter, name, 1, WEIR_NEVER);
		assert_int_equal(weir_release(mine), 0);
		weir_lease_unref(mine);
		assert_int_equal(try_once(store, name, 1), -EAGAIN);
		assert_int_equal(waiter_join(&waiter), 0);
		mine = waiter.lease;
	}
	give_back(mine);
}

TEST(expiry_wakes_the_next_without_any_call_L9_CHECKLIST_45)
{
	const char *name = fresh_name();
	struct waiter waiter = { 0 };
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(other, name, 1, BRIEF);
	waiter_queue(&waiter, name, 1, weir_after(20 * WEIR_SECOND));
	assert_int_equal(waiter_join(&waiter), 0);
	assert_int_equal(weir_release(lease), -ESTALE);
	assert_true(weir_lease_held(waiter.lease));
	weir_lease_unref(lease);
	give_back(waiter.lease);
}

TEST(an_eviction_wakes_the_next)
{
	const char *name = fresh_name();
	struct waiter waiter = { 0 };
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	waiter_queue(&waiter, name, 1, WEIR_NEVER);
	assert_int_equal(weir_evict(store, name, info_of(lease).token), 0);
	assert_int_equal(waiter_join(&waiter), 0);
	weir_lease_unref(lease);
	give_back(waiter.lease);
}

TEST(a_waiter_keeps_its_place_while_it_asks_L7_CHECKLIST_29)
{
	const char *name = fresh_name();
	struct waiter waiters[2] = { { 0 } };
	struct weir_lease *lease;
	struct seen seen;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	waiters[0].request.request_id = "first";
	waiters[1].request.request_id = "second";
	waiters[0].in = open_store("&heartbeat=400ms");
	waiters[1].in = open_store("&heartbeat=400ms");
	waiter_queue(&waiters[0], name, 1, WEIR_NEVER);
	waiter_queue(&waiters[1], name, 1, WEIR_NEVER);
	sleep_for(1300 * WEIR_MS); /* several heartbeats */
	look(store, name, &seen);
	assert_int_equal(seen.n_waiters, 2);
	assert_string_equal(seen.waiters[0].request_id, "first");
	assert_int_equal(seen.waiters[0].position, 1);
	assert_int_equal(seen.waiters[1].position, 2);
	give_back(lease);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waiter_join(&waiters[i]), 0);
		give_back(waiters[i].lease);
		weir_store_close(waiters[i].in);
	}
}

TEST(a_try_under_the_id_of_a_waiter_does_not_wait_L4)
{
	const char *name = fresh_name();
	struct waiter waiter = { 0 };
	struct weir_request request = { .name = name, .request_id = "same" };
	struct weir_lease *lease, *none = NULL;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	waiter.request.request_id = "same";
	waiter_queue(&waiter, name, 1, WEIR_NEVER);
	assert_int_equal(weir_acquire(other, &request, &none), -EAGAIN);
	assert_counts(name, 1, 1, 1);
	give_back(lease);
	assert_int_equal(waiter_join(&waiter), 0);
	assert_int_equal(weir_acquire(other, &request, &none), 0); /* now it finds the lease */
	assert_memory_equal(info_of(none).token, info_of(waiter.lease).token, WEIR_TOKEN_SIZE);
	assert_counts(name, 1, 1, 0);
	give_back(waiter.lease);
	assert_int_equal(weir_release(none), -ESTALE);
	weir_lease_unref(none);
}

TEST(two_who_wait_under_one_id_get_one_handle_L4)
{
	const char *name = fresh_name();

	assert_int_equal(weir_ensure(store, name, 1), 1);
	for (int i = 0; i < 20; i++) {
		struct waiter waiters[2] = { { 0 }, { 0 } };
		struct weir_lease *lease = take(store, name, 1, LONG);

		waiters[0].request.request_id = waiters[1].request.request_id = "same";
		waiter_queue(&waiters[0], name, 1, WEIR_NEVER);
		waiters[1].request = waiters[0].request;
		waiter_start(&waiters[1]);
		give_back(lease);
		for (int j = 0; j < 2; j++)
			assert_int_equal(waiter_join(&waiters[j]), 0);
		assert_ptr_equal(waiters[0].lease, waiters[1].lease);
		weir_lease_unref(waiters[i % 2].lease);
		assert_true(weir_lease_held(waiters[0].lease));
		assert_counts(name, 1, 1, 0);
		give_back(waiters[0].lease);
	}
}

TEST(closing_ends_the_waits_of_that_handle_alone)
{
	const char *name = fresh_name();
	struct waiter theirs = { 0 }, mine = { 0 };
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	theirs.in = open_store("");
	waiter_queue(&theirs, name, 1, WEIR_NEVER);
	waiter_queue(&mine, name, 1, WEIR_NEVER);
	weir_store_close(theirs.in);
	assert_int_equal(waiter_join(&theirs), -ESHUTDOWN);
	assert_counts(name, 1, 1, 1);
	give_back(lease);
	assert_int_equal(waiter_join(&mine), 0);
	give_back(mine.lease);
}

TEST(counters_say_what_happened)
{
	const char *name = fresh_name();
	struct waiter waiter = { 0 };
	struct weir_lease *lease;
	struct seen seen;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	assert_int_equal(try_once(store, name, 1), -EAGAIN);
	waiter_queue(&waiter, name, 1, weir_after(30 * WEIR_MS));
	assert_int_equal(waiter_join(&waiter), -ETIMEDOUT);
	waiter_queue(&waiter, name, 1, WEIR_NEVER);
	give_back(lease);
	assert_int_equal(waiter_join(&waiter), 0);
	give_back(waiter.lease);
	look(store, name, &seen);
	assert_int_equal(seen.info.granted_at_once, 1);
	assert_int_equal(seen.info.granted_after_wait, 1);
	assert_int_equal(seen.info.refused, 2);
	assert_true(seen.info.wait_max > 0);
	assert_true(seen.info.wait_p50 > 0 && seen.info.wait_p50 <= seen.info.wait_max);
}

static const struct CMUnitTest tests[] = {
	CONFORMANCE(a_deadline_passes_and_leaves_nothing_M2_M5_M7_P5),
	CONFORMANCE(a_release_grants_to_the_next_in_line_and_to_nobody_else_M9_L7_L8),
	CONFORMANCE(nobody_overtakes_a_heavy_head_P3_A2_CHECKLIST_15),
	CONFORMANCE(a_head_that_gives_up_lets_the_next_in_CHECKLIST_2_A1),
	CONFORMANCE(release_and_acquire_again_goes_to_the_end_of_the_queue_A2),
	CONFORMANCE(expiry_wakes_the_next_without_any_call_L9_CHECKLIST_45),
	CONFORMANCE(an_eviction_wakes_the_next),
	CONFORMANCE(a_waiter_keeps_its_place_while_it_asks_L7_CHECKLIST_29),
	CONFORMANCE(a_try_under_the_id_of_a_waiter_does_not_wait_L4),
	CONFORMANCE(two_who_wait_under_one_id_get_one_handle_L4),
	CONFORMANCE(closing_ends_the_waits_of_that_handle_alone),
	CONFORMANCE(counters_say_what_happened),
};
GROUP(waiting, tests);

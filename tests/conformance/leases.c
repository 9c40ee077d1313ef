/* conformance: one lease after the other: tokens, fences, expiry, renewal, retries. */
#include "conformance/suite.h"

TEST(two_leases_one_after_the_other_M1_S4)
{
	const char *name = fresh_name();

	assert_int_equal(weir_ensure(store, name, 1), 1);
	give_back(take(store, name, 1, LONG));
	give_back(take(other, name, 1, LONG));
}

TEST(a_second_release_is_harmless_M3_S5_L3)
{
	const char *name = fresh_name();
	struct weir_lease *lease, *next;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	assert_int_equal(weir_release(lease), 0);
	next = take(store, name, 1, LONG);
	assert_int_equal(weir_release(lease), -ESTALE);
	assert_int_equal(weir_renew(lease, 0), -ESTALE); /* S7 */
	assert_true(weir_lease_held(next));
	assert_counts(name, 1, 1, 0);
	weir_lease_unref(lease);
	give_back(next);
}

TEST(up_to_the_limit_and_no_further_S2_S3_L1)
{
	const char *name = fresh_name();
	struct weir_lease *held[3];

	assert_int_equal(weir_ensure(store, name, 3), 1);
	for (uint32_t i = 0; i < 3; i++) {
		held[i] = take(i == 1 ? other : store, name, 1, LONG);
		assert_int_equal(info_of(held[i]).slot, i);
		for (uint32_t k = 0; k < i; k++) {
			assert_memory_not_equal(info_of(held[i]).token, info_of(held[k]).token,
						WEIR_TOKEN_SIZE);
			assert_true(info_of(held[i]).fence > info_of(held[k]).fence);
		}
	}
	assert_int_equal(try_once(store, name, 1), -EAGAIN);
	assert_int_equal(try_once(other, name, 1), -EAGAIN);
	give_back(held[1]);
	held[1] = take(store, name, 1, LONG);
	assert_int_equal(info_of(held[1]).slot, 1); /* the lowest that is free (L2) */
	for (uint32_t i = 0; i < 3; i++)
		give_back(held[i]);
}

TEST(fences_rise_and_refusals_consume_none_S9_L2)
{
	const char *name = fresh_name();
	struct seen seen;
	uint64_t last = 0;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	for (int i = 0; i < 5; i++) {
		struct weir_lease *lease = take(i % 2 ? other : store, name, 1, LONG);

		assert_true(info_of(lease).fence > last);
		last = info_of(lease).fence;
		assert_int_equal(try_once(store, name, 1), -EAGAIN);
		assert_int_equal(weir_renew(lease, 0), 0);
		assert_int_equal(info_of(lease).fence, last);
		assert_int_equal(weir_ensure(store, name, 7), 0); /* nor does a repeated ensure */
		look(store, name, &seen);
		assert_int_equal(seen.info.fence, last);
		give_back(lease);
	}
}

TEST(names_do_not_share_S19)
{
	const char *first = fresh_name(), *second = fresh_name();
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, first, 1), 1);
	assert_int_equal(weir_ensure(store, second, 1), 1);
	lease = take(store, first, 1, LONG);
	assert_int_equal(try_once(store, first, 1), -EAGAIN);
	assert_int_equal(try_once(store, second, 1), 0);
	give_back(lease);
}

TEST(an_expired_lease_is_lost_without_a_reaper_M6_S10_L3_L9)
{
	const char *name = fresh_name();
	struct weir_lease *lease, *next;
	uint64_t fence;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, BRIEF);
	fence = info_of(lease).fence;
	assert_true(info_of(lease).left <= BRIEF);
	after_brief();
	assert_false(weir_lease_held(lease));
	assert_int_equal(info_of(lease).left, 0);
	next = take(other, name, 1, LONG);
	assert_true(info_of(next).fence > fence);
	assert_int_equal(weir_renew(lease, LONG), -ESTALE);
	assert_int_equal(weir_release(lease), -ESTALE); /* A4: the successor is not touched */
	assert_true(weir_lease_held(next));
	assert_counts(name, 1, 1, 0);
	weir_lease_unref(lease);
	give_back(next);
}

TEST(a_late_release_says_so_whether_reaped_or_not_A4_L3)
{
	const char *name = fresh_name();
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 2), 1);
	lease = take(store, name, 1, BRIEF);
	after_brief();
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
	lease = take(store, name, 1, BRIEF);
	after_brief();
	assert_counts(name, 2, 0, 0);
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
}

TEST(a_renewal_extends_and_never_shortens_S6_S8_L3)
{
	const char *name = fresh_name();
	struct weir_lease *lease;
	struct seen seen;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG / 2);
	assert_int_equal(weir_renew(lease, LONG), 0);
	look(other, name, &seen);
	assert_true(seen.holders[0].left > LONG / 2);
	assert_int_equal(weir_renew(lease, BRIEF), 0);
	look(other, name, &seen);
	assert_true(seen.holders[0].left > LONG / 2);
	assert_true(info_of(lease).left > LONG / 2);
	after_brief();
	assert_true(weir_lease_held(lease));
	assert_int_equal(weir_renew(lease, 0), 0);
	give_back(lease);
}

TEST(nothing_extends_max_hold)
{
	const char *name = fresh_name();
	struct weir_request request = { .name = name, .ttl = LONG, .max_hold = BRIEF };
	struct weir_lease *lease;
	weir_time began = weir_now();

	assert_int_equal(weir_ensure(store, name, 1), 1);
	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	assert_true(info_of(lease).left <= BRIEF);
	if (weir_renew(lease, LONG) != 0)
		assert_true(weir_now() - began > BRIEF / 2); /* it took as long as that */
	assert_true(info_of(lease).left <= BRIEF);
	after_brief();
	assert_false(weir_lease_held(lease));
	assert_int_equal(weir_renew(lease, LONG), -ESTALE);
	weir_lease_unref(lease);
	request.keepalive = true;
	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	after_brief();
	assert_false(weir_lease_held(lease));
	assert_int_equal(try_once(store, name, 1), 0);
	weir_lease_unref(lease);
}

TEST(a_max_hold_beyond_all_time_is_none)
{
	static const weir_time longest[] = { WEIR_NEVER, WEIR_NEVER - 1, WEIR_NEVER / 2 };

	for (size_t i = 0; i < sizeof(longest) / sizeof(longest[0]); i++) {
		const char *name = fresh_name();
		struct weir_request request = {
			.name = name, .limit = 1, .ttl = LONG, .max_hold = longest[i]
		};
		struct weir_lease *lease;

		assert_int_equal(weir_acquire(store, &request, &lease), 0);
		assert_int_equal(weir_renew(lease, 0), 0);
		assert_true(info_of(lease).left > LONG / 2 && info_of(lease).left <= LONG);
		assert_counts(name, 1, 1, 0);
		give_back(lease);
	}
}

TEST(keepalive_renews_until_the_release_S26)
{
	const char *name = fresh_name();
	struct weir_request request = { .name = name, .ttl = NOT_LONG, .keepalive = true };
	struct weir_lease *leases_[3];

	assert_int_equal(weir_ensure(store, name, 3), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(weir_acquire(store, &request, &leases_[i]), 0);
	sleep_for(NOT_LONG + NOT_LONG / 2);
	assert_counts(name, 3, 3, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(weir_lease_held(leases_[i]));
		give_back(leases_[i]);
	}
}

/* A6: the same token, fence and expiry; at capacity; by another owner; new after the end. */
TEST(the_same_request_finds_the_same_lease_S15_A6_L4)
{
	const char *name = fresh_name();
	struct weir_request request = { .name = name, .ttl = NOT_LONG, .request_id = "job-1" };
	struct weir_lease *first, *again, *late;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	assert_int_equal(weir_acquire(store, &request, &first), 0);
	request.owner = "somebody-else";
	request.ttl = LONG; /* does not lengthen it */
	assert_int_equal(weir_acquire(other, &request, &again), 0);
	assert_memory_equal(info_of(first).token, info_of(again).token, WEIR_TOKEN_SIZE);
	assert_int_equal(info_of(first).fence, info_of(again).fence);
	assert_int_equal(info_of(first).slot, info_of(again).slot);
	assert_true(info_of(again).left <= NOT_LONG);
	assert_counts(name, 1, 1, 0);
	sleep_for(NOT_LONG + 20 * WEIR_MS);
	assert_int_equal(weir_acquire(store, &request, &late), 0);
	assert_memory_not_equal(info_of(first).token, info_of(late).token, WEIR_TOKEN_SIZE);
	assert_true(info_of(late).fence > info_of(first).fence);
	weir_lease_unref(first);
	weir_lease_unref(again);
	give_back(late);
}

static int count_holders(void *arg, const struct weir_claim_info *info)
{
	(void)info;
	++*(uint32_t *)arg;
	return 0;
}

TEST(reaping_drops_so_many_and_counts_them_S11_S12)
{
	const char *name = fresh_name();
	struct weir_lease *gone[5];
	int reaped;

	assert_int_equal(weir_ensure(store, name, 5), 1);
	(void)weir_reap(store, 10000);
	for (int i = 0; i < 5; i++)
		gone[i] = take(store, name, 1, BRIEF);
	after_brief();
	/* A store may have dropped them on its own, at their time. */
	reaped = weir_reap(store, 2);
	assert_in_range(reaped, 0, 2);
	reaped = weir_reap(store, 1000);
	assert_in_range(reaped, 0, 5);
	assert_int_equal(weir_reap(store, 1000), 0);
	assert_counts(name, 5, 0, 0);
	for (int i = 0; i < 5; i++)
		weir_lease_unref(gone[i]);
}

TEST(an_eviction_ends_a_lease_and_tells_its_holder_A9)
{
	const char *name = fresh_name();
	struct weir_lease *lease;
	struct weir_lease_info info;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	info = info_of(lease);
	assert_int_equal(weir_evict(other, name, info.token), 0);
	assert_int_equal(weir_evict(other, name, info.token), -ESTALE);
	assert_counts(name, 1, 0, 0);
	while (weir_lease_held(lease))
		sleep_for(WEIR_MS);
	assert_int_equal(weir_renew(lease, 0), -ESTALE);
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
}

static void lost(struct weir_lease *lease, void *arg)
{
	assert_false(weir_lease_held(lease));
	(void)__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

TEST(a_lost_lease_is_reported_once_and_a_released_one_not_CHECKLIST_38)
{
	const char *name = fresh_name();
	int calls = 0;
	struct weir_request request = {
		.name = name, .ttl = LONG, .on_lost = lost, .on_lost_arg = &calls
	};
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	request.ttl = BRIEF;
	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	while (__atomic_load_n(&calls, __ATOMIC_SEQ_CST) == 0)
		sleep_for(WEIR_MS);
	after_brief();
	assert_int_equal(__atomic_load_n(&calls, __ATOMIC_SEQ_CST), 1);
	weir_lease_unref(lease);
}

TEST(dropping_the_last_handle_gives_the_lease_back)
{
	const char *name = fresh_name();
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = weir_lease_ref(take(store, name, 1, LONG));
	weir_lease_unref(lease);
	assert_counts(name, 1, 1, 0);
	weir_lease_unref(lease);
	while (try_once(store, name, 1) == -EAGAIN)
		sleep_for(WEIR_MS);
}

TEST(a_lease_can_be_adopted_by_its_token)
{
	const char *name = fresh_name();
	struct weir_request request = { .name = name, .ttl = LONG, .detached = true };
	struct weir_lease *mine, *adopted;
	struct weir_lease_info info;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	assert_int_equal(weir_acquire(store, &request, &mine), 0);
	info = info_of(mine);
	assert_int_equal(weir_lease_adopt(other, name, info.token, &adopted), 0);
	assert_int_equal(info_of(adopted).fence, info.fence);
	weir_lease_unref(mine); /* nobody's any more, so it stays */
	assert_counts(name, 1, 1, 0);
	assert_int_equal(weir_renew(adopted, LONG), 0);
	give_back(adopted);
	assert_int_equal(weir_lease_adopt(other, name, info.token, &adopted), -ESTALE);
}

TEST(the_newest_is_released_and_an_expired_inner_one_leaves_the_outer_A3)
{
	const char *name = fresh_name();
	struct weir_lease *outer, *inner;

	assert_int_equal(weir_ensure(store, name, 2), 1);
	assert_int_equal(weir_release_last(store, name), -ENOENT);
	outer = take(store, name, 1, LONG);
	inner = take(store, name, 1, BRIEF);
	after_brief();
	assert_int_equal(weir_release_last(store, name), -ESTALE);
	assert_true(weir_lease_held(outer));
	assert_counts(name, 2, 1, 0);
	assert_int_equal(weir_release_last(store, name), 0);
	assert_false(weir_lease_held(outer));
	assert_int_equal(weir_release_last(store, name), -ENOENT);
	weir_lease_unref(outer);
	weir_lease_unref(inner);
}

TEST(closing_a_handle_gives_back_what_it_holds_A9)
{
	const char *name = fresh_name();
	struct weir_store *third = open_store("");
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(third, name, 1, LONG);
	assert_counts(name, 1, 1, 0);
	weir_store_close(third);
	assert_counts(name, 1, 0, 0);
	assert_false(weir_lease_held(lease));
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
}

TEST(the_listing_is_by_how_full_they_are_M8)
{
	const char *ten = fresh_name(), *twenty = fresh_name();
	struct weir_lease *a, *b, *c;
	struct seen seen;
	uint32_t holders = 0;

	assert_int_equal(weir_ensure(store, ten, 10), 1);
	assert_int_equal(weir_ensure(store, twenty, 20), 1);
	a = take(store, ten, 1, LONG);
	b = take(store, ten, 1, LONG);
	c = take(store, twenty, 2, LONG);
	look(store, ten, &seen);
	assert_true(seen.info.percent > 19.99 && seen.info.percent < 20.01);
	look(store, twenty, &seen);
	assert_true(seen.info.percent > 9.99 && seen.info.percent < 10.01);
	assert_int_equal(weir_list(store, (const char *const[]){ ten, twenty, "no-such" }, 3,
				   &(struct weir_visitor){ .holder = count_holders }, &holders),
			 0);
	assert_int_equal(holders, 3);
	give_back(a);
	give_back(b);
	give_back(c);
	look(store, ten, &seen);
	assert_true(seen.info.percent < 0.01);
}

static const struct CMUnitTest tests[] = {
	CONFORMANCE(two_leases_one_after_the_other_M1_S4),
	CONFORMANCE(a_second_release_is_harmless_M3_S5_L3),
	CONFORMANCE(up_to_the_limit_and_no_further_S2_S3_L1),
	CONFORMANCE(fences_rise_and_refusals_consume_none_S9_L2),
	CONFORMANCE(names_do_not_share_S19),
	CONFORMANCE(an_expired_lease_is_lost_without_a_reaper_M6_S10_L3_L9),
	CONFORMANCE(a_late_release_says_so_whether_reaped_or_not_A4_L3),
	CONFORMANCE(a_renewal_extends_and_never_shortens_S6_S8_L3),
	CONFORMANCE(nothing_extends_max_hold),
	CONFORMANCE(a_max_hold_beyond_all_time_is_none),
	CONFORMANCE(keepalive_renews_until_the_release_S26),
	CONFORMANCE(the_same_request_finds_the_same_lease_S15_A6_L4),
	CONFORMANCE(reaping_drops_so_many_and_counts_them_S11_S12),
	CONFORMANCE(an_eviction_ends_a_lease_and_tells_its_holder_A9),
	CONFORMANCE(a_lost_lease_is_reported_once_and_a_released_one_not_CHECKLIST_38),
	CONFORMANCE(dropping_the_last_handle_gives_the_lease_back),
	CONFORMANCE(a_lease_can_be_adopted_by_its_token),
	CONFORMANCE(the_newest_is_released_and_an_expired_inner_one_leaves_the_outer_A3),
	CONFORMANCE(closing_a_handle_gives_back_what_it_holds_A9),
	CONFORMANCE(the_listing_is_by_how_full_they_are_M8),
};
GROUP(leases, tests);

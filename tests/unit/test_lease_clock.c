/* lease: what depends on the clock, on a clock that the test moves.
 *
 * The linker puts the test between the library and CLOCK_BOOTTIME (--wrap). The agent's own waits
 * go by the real clock: what is due by the moved one happens when somebody comes by, as after a
 * machine was suspended. */
#include "base/boottime.h"
#include "support/leases.h"

weir_time __real_weir__boottime(void);
weir_time __wrap_weir__boottime(void);

static weir_time ahead;

weir_time __wrap_weir__boottime(void)
{
	return __real_weir__boottime() + __atomic_load_n(&ahead, __ATOMIC_RELAXED);
}

static void pass(weir_time time)
{
	(void)__atomic_add_fetch(&ahead, time, __ATOMIC_RELAXED);
}

static struct weir_store *store;

static int start(void **state)
{
	(void)state;
	store = open_store("memory:");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

TEST(a_holder_that_wakes_up_late_knows_it_CHECKLIST_35)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);

	pass(29 * WEIR_SECOND);
	assert_true(weir_lease_held(lease));
	/* The guard of 1 % of 30 s: this side stops first. */
	pass(750 * WEIR_MS);
	assert_false(weir_lease_held(lease));
	assert_int_equal(look(store, "a").held, 1);
	pass(300 * WEIR_MS);
	assert_int_equal(look(store, "a").held, 0);
	weir_lease_unref(lease);
}

TEST(once_it_is_over_nothing_brings_it_back_CHECKLIST_34)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);

	pass(29 * WEIR_SECOND + 800 * WEIR_MS);
	/* The store still has it and would extend it. */
	assert_int_equal(weir_renew(lease, 0), -ESTALE);
	pass(-20 * WEIR_SECOND);
	assert_false(weir_lease_held(lease));
	assert_int_equal(info_of(lease).left, 0);
	pass(20 * WEIR_SECOND);
	assert_int_equal(weir_release(lease), -ESTALE);
	assert_int_equal(look(store, "a").held, 0);
	weir_lease_unref(lease);
}

TEST(an_idle_name_is_dropped_and_its_fence_is_not_forgotten_CHECKLIST_28_46)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);
	uint64_t fence = info_of(lease).fence;

	assert_int_equal(weir_ensure(store, "kept", 1), 1);
	release(lease);
	pass(59 * WEIR_SECOND);
	(void)weir_reap(store, 100);
	assert_int_equal(look(store, "a").limit, 1);
	pass(2 * WEIR_SECOND);
	(void)weir_reap(store, 100);
	assert_int_equal(look(store, "a").limit, 0);
	assert_int_equal(look(store, "kept").limit, 1);
	request.limit = 5; /* a new one, so any limit will do */
	lease = acquire(store, &request);
	assert_true(info_of(lease).fence > fence);
	release(lease);
}

TEST(a_handle_outlives_the_name_of_its_lease_CHECKLIST_28)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);

	pass(31 * WEIR_SECOND);
	(void)weir_reap(store, 100); /* unless the agent came first: see below */
	assert_int_equal(look(store, "a").expired, 1);
	pass(61 * WEIR_SECOND);
	assert_int_equal(weir_reap(store, 100), 0);
	assert_int_equal(look(store, "a").limit, 0);
	assert_int_equal(weir_renew(lease, 0), -ESTALE);
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
}

TEST(a_name_that_is_held_or_waited_for_is_not_idle)
{
	struct weir_request request = { .name = "a", .limit = 1, .ttl = 3600 * WEIR_SECOND };
	struct weir_lease *lease = acquire(store, &request);

	pass(3000 * WEIR_SECOND);
	assert_int_equal(weir_reap(store, 100), 0);
	assert_account(store, "a", 1, 0);
	assert_int_equal(weir_renew(lease, 0), 0);
	pass(3000 * WEIR_SECOND);
	assert_true(weir_lease_held(lease));
	release(lease);
}

/* The agent may come first: it begins with the first lease, and then looks at the clock. */
TEST(reaping_stops_where_it_is_told_to_BEHAVIOURS_12)
{
	struct weir_request request = { .name = "a", .limit = 5 };
	struct weir_lease *leases[5];
	int first, rest;

	for (int i = 0; i < 5; i++)
		leases[i] = acquire(store, &request);
	pass(31 * WEIR_SECOND);
	first = weir_reap(store, 2);
	rest = weir_reap(store, 1000);
	assert_true((first == 2 && rest == 3) || (first <= 2 && first + rest < 5));
	assert_int_equal(weir_reap(store, 1000), 0);
	assert_int_equal(look(store, "a").expired, 5);
	for (int i = 0; i < 5; i++)
		weir_lease_unref(leases[i]);
}

TEST(max_hold_is_never_extended)
{
	struct weir_request request = { .name = "a", .limit = 1, .max_hold = 40 * WEIR_SECOND };
	struct weir_lease *lease = acquire(store, &request);

	for (int i = 0; i < 3; i++) {
		pass(10 * WEIR_SECOND);
		assert_int_equal(weir_renew(lease, 0), 0);
	}
	assert_true(info_of(lease).left <= 10 * WEIR_SECOND);
	pass(10 * WEIR_SECOND);
	assert_int_equal(weir_renew(lease, 0), -ESTALE);
	weir_lease_unref(lease);
}

#define clock_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		clock_test(a_holder_that_wakes_up_late_knows_it_CHECKLIST_35),
		clock_test(once_it_is_over_nothing_brings_it_back_CHECKLIST_34),
		clock_test(an_idle_name_is_dropped_and_its_fence_is_not_forgotten_CHECKLIST_28_46),
		clock_test(a_handle_outlives_the_name_of_its_lease_CHECKLIST_28),
		clock_test(a_name_that_is_held_or_waited_for_is_not_idle),
		clock_test(reaping_stops_where_it_is_told_to_BEHAVIOURS_12),
		clock_test(max_hold_is_never_extended),
	};

	return RUN_TESTS(tests);
}

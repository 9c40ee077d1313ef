/* lease: one who asks under a request id by which there is a lease in this store already (L4, L6).
 */
#include "support/namesakes.h"

/* One holds it and has nothing to do with the other, who asks and is answered. */
static void ask_of_a_holder(void)
{
	ask_as(0);
	grant(0, askers[0].token);
	assert_int_equal(result_of(0), 0);
	ask_as(1);
	grant(1, askers[0].token);
}

static void assert_does_not_believe(int which)
{
	assert_int_equal(result_of(which), 0);
	assert_false(weir_lease_held(askers[which].lease));
	assert_int_equal(weir_release(askers[which].lease), -ESTALE);
	weir_lease_unref(askers[which].lease);
	assert_int_equal(releases, 1);
}

TASK(the_holder_releases_it_before_the_other_looks)
{
	(void)arg;
	ask_of_a_holder();
	release(askers[0].lease);
	assert_does_not_believe(1);
	return 0;
}

TASK(the_holder_drops_it_before_the_other_looks)
{
	(void)arg;
	ask_of_a_holder();
	weir_lease_unref(askers[0].lease);
	assert_does_not_believe(1);
	return 0;
}

TASK(releases_the_first)
{
	(void)arg;
	return weir_release(askers[0].lease);
}

/* The other looks before the engine has heard of it. */
TASK(the_holder_is_releasing_it_as_the_other_looks)
{
	struct weir_future *task;

	(void)arg;
	ask_as(0);
	grant(0, askers[0].token);
	assert_int_equal(result_of(0), 0);
	withholds = true;
	task = spawn(releases_the_first, NULL);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(releases, 1);
	ask_as(1);
	grant(1, askers[0].token);
	assert_does_not_believe(1);
	weir__op_answer(withheld, 0);
	assert_int_equal(join(task, NULL), 0);
	weir_lease_unref(askers[0].lease);
	return 0;
}

/* Likewise, and the handle is gone. */
TASK(the_holder_has_dropped_it_as_the_other_looks)
{
	(void)arg;
	ask_as(0);
	grant(0, askers[0].token);
	assert_int_equal(result_of(0), 0);
	withholds = true;
	weir_lease_unref(askers[0].lease);
	ask_as(1);
	grant(1, askers[0].token);
	assert_does_not_believe(1);
	weir__op_answer(withheld, 0);
	return 0;
}

/* Somebody has evicted it. */
TASK(the_holder_was_told_of_its_end_before_the_other_looks)
{
	(void)arg;
	ask_of_a_holder();
	weir__store_lost(store, askers[0].token);
	weir_lease_unref(askers[0].lease);
	releases = 1;
	assert_does_not_believe(1);
	return 0;
}

TEST(who_asks_while_the_lease_ends_does_not_believe_in_it_L5)
{
	static weir_task_fn *const cases[] = {
		the_holder_releases_it_before_the_other_looks,
		the_holder_drops_it_before_the_other_looks,
		the_holder_is_releasing_it_as_the_other_looks,
		the_holder_has_dropped_it_as_the_other_looks,
		the_holder_was_told_of_its_end_before_the_other_looks,
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n_asked = releases = 0;
		withholds = false;
		run_on(WEIR_CLOCK_REAL, cases[i], NULL);
	}
}

/* The first handle's time was up on this side, and the store has the lease still. */
static void ask_after_the_deadline(void)
{
	ask_as(0);
	grant_for(0, askers[0].token, 1);
	assert_int_equal(result_of(0), 0);
	assert_false(weir_lease_held(askers[0].lease));
	ask_as(1);
	grant(1, askers[0].token);
	assert_int_equal(result_of(1), 0);
	assert_true(weir_lease_held(askers[1].lease));
}

TASK(the_lost_handle_is_dropped)
{
	(void)arg;
	ask_after_the_deadline();
	weir_lease_unref(askers[0].lease);
	assert_int_equal(releases, 0);
	assert_true(weir_lease_held(askers[1].lease));
	release(askers[1].lease);
	assert_int_equal(releases, 1);
	return 0;
}

TASK(the_lost_handle_is_released)
{
	(void)arg;
	ask_after_the_deadline();
	assert_int_equal(weir_release(askers[0].lease), -ESTALE);
	assert_int_equal(releases, 0);
	assert_true(weir_lease_held(askers[1].lease));
	weir_lease_unref(askers[0].lease);
	release(askers[1].lease);
	assert_int_equal(releases, 1);
	return 0;
}

TEST(who_asks_again_after_a_loss_has_it_whatever_becomes_of_the_lost_handle)
{
	run_on(WEIR_CLOCK_REAL, the_lost_handle_is_dropped, NULL);
	n_asked = releases = 0;
	run_on(WEIR_CLOCK_REAL, the_lost_handle_is_released, NULL);
}

/* A detached lease is none the worse for that its handle goes. */
TASK(the_handle_of_a_detached_one_is_dropped)
{
	(void)arg;
	ask_as(0);
	asked[0]->lease->adopted = true;
	grant(0, askers[0].token);
	assert_int_equal(result_of(0), 0);
	ask_as(1);
	grant(1, askers[0].token);
	weir_lease_unref(askers[0].lease);
	assert_int_equal(result_of(1), 0);
	assert_true(weir_lease_held(askers[1].lease));
	assert_int_equal(releases, 0);
	release(askers[1].lease);
	return 0;
}

TEST(who_asks_again_for_a_detached_lease_has_it)
{
	run_on(WEIR_CLOCK_REAL, the_handle_of_a_detached_one_is_dropped, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		namesake_test(who_asks_while_the_lease_ends_does_not_believe_in_it_L5),
		namesake_test(
			who_asks_again_after_a_loss_has_it_whatever_becomes_of_the_lost_handle),
		namesake_test(who_asks_again_for_a_detached_lease_has_it),
	};

	return RUN_TESTS(tests);
}

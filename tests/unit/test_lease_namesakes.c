/* lease: several who ask through one store under one request id at the same time (L4). */
#include "support/namesakes.h"

/* ---- one lease, one handle ------------------------------------------------------------------- */

static void assert_shared(int first, int second)
{
	assert_int_equal(result_of(first), 0);
	assert_int_equal(result_of(second), 0);
	assert_ptr_equal(askers[first].lease, askers[second].lease);
	assert_memory_equal(info_of(askers[0].lease).token, askers[0].token, WEIR_TOKEN_SIZE);
	weir_lease_unref(askers[first].lease);
	assert_true(weir_lease_held(askers[second].lease));
	assert_int_equal(releases, 0);
	weir_lease_unref(askers[second].lease);
	assert_int_equal(releases, 1);
}

TASK(the_first_is_told_first)
{
	(void)arg;
	ask(2);
	grant(0, askers[0].token);
	grant(1, askers[0].token);
	assert_shared(0, 1);
	return 0;
}

TASK(the_second_is_told_first)
{
	(void)arg;
	ask(2);
	grant(1, askers[0].token);
	grant(0, askers[0].token);
	assert_shared(1, 0);
	return 0;
}

TEST(they_get_one_handle_whoever_is_told_first)
{
	run_on(WEIR_CLOCK_REAL, the_first_is_told_first, NULL);
	n_asked = releases = 0;
	run_on(WEIR_CLOCK_REAL, the_second_is_told_first, NULL);
}

/* The other one's handle counts from its grant, not from when it looks. */
TASK(one_drops_it_before_the_other_looks)
{
	(void)arg;
	ask(2);
	grant(0, askers[0].token);
	assert_int_equal(result_of(0), 0);
	weir_lease_unref(askers[0].lease);
	assert_int_equal(releases, 0);
	grant(1, askers[0].token);
	assert_int_equal(result_of(1), 0);
	assert_true(weir_lease_held(askers[1].lease));
	weir_lease_unref(askers[1].lease);
	assert_int_equal(releases, 1);
	return 0;
}

TEST(what_one_drops_the_other_has)
{
	run_on(WEIR_CLOCK_REAL, one_drops_it_before_the_other_looks, NULL);
}

TASK(one_releases_it_before_the_other_looks)
{
	(void)arg;
	ask(2);
	grant(0, askers[0].token);
	assert_int_equal(result_of(0), 0);
	release(askers[0].lease);
	grant(1, askers[0].token);
	assert_int_equal(result_of(1), 0);
	assert_false(weir_lease_held(askers[1].lease));
	assert_int_equal(weir_release(askers[1].lease), -ESTALE);
	weir_lease_unref(askers[1].lease);
	assert_int_equal(releases, 1);
	return 0;
}

TEST(what_one_has_released_the_other_does_not_believe_in)
{
	run_on(WEIR_CLOCK_REAL, one_releases_it_before_the_other_looks, NULL);
}

/* ---- those who give up ----------------------------------------------------------------------- */

TASK(they_give_up_one_by_one)
{
	(void)arg;
	ask(ASKERS);
	for (int i = 0; i < ASKERS; i++) {
		assert_int_equal(places_ended, 0);
		cancel(i);
		assert_int_equal(result_of(i), -ECANCELED);
	}
	assert_int_equal(places_ended, 1);
	assert_int_equal(releases, 0);
	return 0;
}

TEST(their_place_stays_until_the_last_gives_up)
{
	places_ended = 0;
	run_on(WEIR_CLOCK_REAL, they_give_up_one_by_one, NULL);
}

/* The engine has not done it yet, and is about to. */
TASK(one_comes_as_the_last_gives_up)
{
	struct weir__op *given_up;

	(void)arg;
	ask_as(0);
	withholds = true;
	cancel(0);
	assert_int_equal(weir_yield(), 0);
	given_up = withheld;
	assert_ptr_equal(given_up, asked[0]);
	assert_false(given_up->place_stays);
	ask_as(1);
	withholds = false;
	assert_true(weir__namesakes_keep_place(given_up));
	weir__op_answer(given_up, given_up->give_up);
	assert_int_equal(result_of(0), -ECANCELED);
	cancel(1);
	assert_int_equal(result_of(1), -ECANCELED);
	assert_int_equal(places_ended, 1);
	assert_int_equal(places_inherited, 1);
	return 0;
}

TEST(the_place_stays_for_one_who_comes_before_it_has_ended_L7)
{
	places_ended = places_inherited = 0;
	run_on(WEIR_CLOCK_REAL, one_comes_as_the_last_gives_up, NULL);
}

static void *ask_in_thread(void *arg)
{
	return (void *)(intptr_t)asks(arg, NULL);
}

/* Closing ends all waits at once, and the place with the last of them. */
TEST(their_place_ends_when_the_store_is_closed)
{
	pthread_t threads[ASKERS];
	void *result;

	places_ended = 0;
	for (int i = 0; i < ASKERS; i++) {
		askers[i] = (struct asker){
			.request = { .name = "a", .request_id = "x", .deadline = WEIR_NEVER },
		};
		threads[i] = start_thread(ask_in_thread, &askers[i]);
		assert_int_equal(weir_sem_acquire(&submitted, 1), 0);
	}
	weir_store_close(store);
	for (int i = 0; i < ASKERS; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_int_equal((intptr_t)result, -ESHUTDOWN);
	}
	assert_int_equal(places_ended, 1);
	(void)start(NULL);
}

/* ---- those who cannot keep it ---------------------------------------------------------------- */

static int to_be_cancelled;

TASK(one_is_cancelled_as_it_is_granted)
{
	int other = 1 - to_be_cancelled;

	(void)arg;
	ask(2);
	grant(0, askers[0].token);
	grant(1, askers[0].token);
	cancel(to_be_cancelled);
	assert_int_equal(result_of(to_be_cancelled), -ECANCELED);
	assert_int_equal(result_of(other), 0);
	assert_true(weir_lease_held(askers[other].lease));
	assert_int_equal(releases, 0);
	release(askers[other].lease);
	return 0;
}

TEST(a_cancelled_one_leaves_the_grant_to_the_other_P5)
{
	for (to_be_cancelled = 0; to_be_cancelled < 2; to_be_cancelled++) {
		n_asked = releases = 0;
		run_on(WEIR_CLOCK_REAL, one_is_cancelled_as_it_is_granted, NULL);
	}
}

TASK(all_are_cancelled_as_they_are_granted)
{
	(void)arg;
	ask(ASKERS);
	for (int i = 0; i < ASKERS; i++)
		grant(i, askers[0].token);
	for (int i = 0; i < ASKERS; i++)
		cancel(i);
	for (int i = 0; i < ASKERS; i++)
		assert_int_equal(result_of(i), -ECANCELED);
	assert_int_equal(releases, 1);
	assert_memory_equal(released, askers[0].token, WEIR_TOKEN_SIZE);
	return 0;
}

/* The other has left the queue before the grant, and looks after it. */
TASK(one_is_cancelled_and_the_other_gave_up)
{
	(void)arg;
	ask(2);
	cancel(1);
	grant(0, askers[0].token);
	cancel(0);
	assert_int_equal(result_of(0), -ECANCELED);
	assert_int_equal(result_of(1), -ECANCELED);
	assert_int_equal(releases, 1);
	return 0;
}

/* The place in the queue was that of one who has left long ago. */
TASK(the_heir_of_a_place_is_cancelled_as_it_is_granted)
{
	(void)arg;
	ask(2);
	cancel(0);
	assert_int_equal(result_of(0), -ECANCELED);
	assert_int_equal(releases, 0);
	grant(1, askers[0].token);
	cancel(1);
	assert_int_equal(result_of(1), -ECANCELED);
	assert_int_equal(releases, 1);
	assert_memory_equal(released, askers[0].token, WEIR_TOKEN_SIZE);
	return 0;
}

/* Likewise, and that one came after many others. */
TASK(the_heirs_of_a_late_comers_place_are_cancelled_as_it_is_granted)
{
	const uint8_t *token = askers[ASKERS - 1].token;

	(void)arg;
	ask(ASKERS);
	cancel(ASKERS - 1);
	assert_int_equal(result_of(ASKERS - 1), -ECANCELED);
	for (int i = 0; i < ASKERS - 1; i++) {
		grant(i, token);
		cancel(i);
		assert_int_equal(result_of(i), -ECANCELED);
	}
	assert_int_equal(releases, 1);
	assert_memory_equal(released, token, WEIR_TOKEN_SIZE);
	return 0;
}

TEST(the_last_gives_back_what_nobody_took_P5)
{
	static weir_task_fn *const cases[] = {
		all_are_cancelled_as_they_are_granted,
		one_is_cancelled_and_the_other_gave_up,
		the_heir_of_a_place_is_cancelled_as_it_is_granted,
		the_heirs_of_a_late_comers_place_are_cancelled_as_it_is_granted,
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n_asked = releases = 0;
		run_on(WEIR_CLOCK_REAL, cases[i], NULL);
	}
}

TASK(they_are_cancelled_as_they_find_somebody_elses)
{
	static const uint8_t theirs[WEIR_TOKEN_SIZE] = "somebody else's";

	(void)arg;
	ask(2);
	for (int i = 0; i < 2; i++) {
		grant(i, theirs);
		cancel(i);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(result_of(i), -ECANCELED);
	assert_int_equal(releases, 0);
	return 0;
}

TEST(what_another_process_holds_is_left_alone)
{
	run_on(WEIR_CLOCK_REAL, they_are_cancelled_as_they_find_somebody_elses, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		namesake_test(they_get_one_handle_whoever_is_told_first),
		namesake_test(what_one_drops_the_other_has),
		namesake_test(what_one_has_released_the_other_does_not_believe_in),
		namesake_test(their_place_stays_until_the_last_gives_up),
		namesake_test(the_place_stays_for_one_who_comes_before_it_has_ended_L7),
		namesake_test(their_place_ends_when_the_store_is_closed),
		namesake_test(a_cancelled_one_leaves_the_grant_to_the_other_P5),
		namesake_test(the_last_gives_back_what_nobody_took_P5),
		namesake_test(what_another_process_holds_is_left_alone),
	};

	return RUN_TESTS(tests);
}

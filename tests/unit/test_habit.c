/* base: how long a watch lasts, and what a wake-up takes (habit.h, wake.h). */
#include "base/habit.h"
#include "support/unit.h"

#include <time.h>
#include <weir/base.h>

enum { MOST = 256 };

/* Nothing counts as a wake-up that took longer than that, so no watch lasts for twice that. */
static const weir_time longest = 10 * WEIR_MS;

static void pass(weir_time time)
{
	struct timespec rest = { .tv_nsec = time };

	while (nanosleep(&rest, &rest) < 0)
		;
}

/* Later than `ticks`, by whatever processor. */
static uint64_t ticks_after(uint64_t ticks)
{
	uint64_t now;

	do {
		now = weir__ticks();
	} while (now <= ticks);
	return now;
}

/* Somebody who sleeps is woken at once, and runs so much later. */
static uint64_t wake_up(weir_time later)
{
	uint64_t slept_at = weir__ticks();

	(void)ticks_after(slept_at);
	weir__wake_begins();
	pass(later);
	return weir__wake_ended(slept_at);
}

/* A few wake-ups that took long, but not too long. */
static void be_slow_to_wake(void)
{
	while (weir__ticks_to_time(weir__wake_ticks()) < WEIR_MS)
		(void)wake_up(longest / 2);
}

TEST(what_fails_is_halved_and_what_succeeds_is_whole)
{
	struct weir__habit habit = { .uses = 1, .length = MOST };

	habit_learn(&habit, false, MOST);
	assert_int_equal(habit_length(&habit, MOST), MOST / 2);
	habit_learn(&habit, false, MOST);
	assert_int_equal(habit_length(&habit, MOST), MOST / 4);
	habit_learn(&habit, true, MOST);
	assert_int_equal(habit_length(&habit, MOST), MOST);
}

TEST(the_whole_is_tried_once_in_a_while)
{
	struct weir__habit habit = { 0 };
	int whole = 0;

	for (int i = 0; i < 3 * WEIR__HABIT_PROBE; i++) {
		whole += habit_length(&habit, MOST) == MOST;
		habit_learn(&habit, false, MOST);
	}
	assert_int_equal(whole, 3);
}

/* In the end: whoever is kept from its processor for too long meanwhile tries again. */
TEST(a_wake_up_is_measured)
{
	assert_int_equal(weir__wake_ticks(), 0);
	do {
		assert_true(wake_up(WEIR_MS) < UINT64_MAX);
	} while (weir__wake_ticks() == 0);
	assert_true(weir__ticks_to_time(weir__wake_ticks()) >= WEIR_MS / 2);
}

TEST(a_wake_up_from_before_the_sleep_is_none)
{
	uint64_t before = weir__wake_ticks();

	weir__wake_begins();
	assert_true(weir__wake_ended(ticks_after(weir__ticks())) == UINT64_MAX);
	assert_true(weir__wake_ticks() == before);
}

TEST(what_takes_too_long_is_no_measure)
{
	uint64_t before = weir__wake_ticks();

	assert_true(wake_up(longest + WEIR_MS) < UINT64_MAX);
	assert_true(weir__wake_ticks() == before);
}

/* In the end, too. */
TEST(a_watch_of_full_length_lasts_for_two_wake_ups)
{
	be_slow_to_wake();
	while (!habit_goes_on(MOST, MOST, weir__ticks()))
		;
	assert_false(habit_goes_on(MOST / 2, MOST, weir__ticks()));
	assert_false(habit_goes_on(MOST, MOST, weir__ticks() - 2 * weir__wake_ticks()));
}

TEST(who_was_woken_soon_watches_next_time)
{
	struct weir__habit habit = { .uses = 1 };

	while (habit.length != MOST) {
		uint64_t slept_at;

		be_slow_to_wake();
		slept_at = weir__ticks();
		(void)ticks_after(slept_at);
		weir__wake_begins();
		habit_slept(&habit, slept_at, MOST);
	}
}

TEST(who_was_woken_late_does_not)
{
	struct weir__habit habit = { .uses = 1 };
	uint64_t slept_at = weir__ticks();

	pass(2 * longest + WEIR_MS);
	weir__wake_begins();
	habit_slept(&habit, slept_at, MOST);
	assert_int_equal(habit.length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fails_is_halved_and_what_succeeds_is_whole),
		cmocka_unit_test(the_whole_is_tried_once_in_a_while),
		cmocka_unit_test(a_wake_up_is_measured),
		cmocka_unit_test(a_wake_up_from_before_the_sleep_is_none),
		cmocka_unit_test(what_takes_too_long_is_no_measure),
		cmocka_unit_test(a_watch_of_full_length_lasts_for_two_wake_ups),
		cmocka_unit_test(who_was_woken_soon_watches_next_time),
		cmocka_unit_test(who_was_woken_late_does_not),
	};

	return RUN_TESTS(tests);
}

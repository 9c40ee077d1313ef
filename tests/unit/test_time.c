/* base: weir_now, weir_after and the ticks of the statistics. */
#include "base/clock.h"
#include "support/unit.h"

#include <time.h>

static weir_time monotonic(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * WEIR_SECOND + now.tv_nsec;
}

TEST(now_is_the_monotonic_clock_P9)
{
	weir_time before = monotonic();
	weir_time now = weir_now();

	assert_true(before <= now);
	assert_true(now <= monotonic());
}

TEST(after_is_never_early_P9)
{
	weir_time before = weir_now();
	weir_time deadline = weir_after(5 * WEIR_SECOND);

	assert_true(deadline >= before + 5 * WEIR_SECOND);
	assert_true(deadline <= weir_now() + 5 * WEIR_SECOND);
}

TEST(after_beyond_the_range_is_never)
{
	assert_true(weir_after(WEIR_NEVER) == WEIR_NEVER);
	assert_true(weir_after(WEIR_NEVER - 1) == WEIR_NEVER);
	assert_true(weir_after(WEIR_NEVER - weir_now()) == WEIR_NEVER);
	assert_true(weir_after(WEIR_NEVER - weir_now() - 3600 * WEIR_SECOND) < WEIR_NEVER);
}

TEST(after_a_negative_delay_is_now)
{
	static const weir_time delays[] = { 0, -1, -WEIR_SECOND, INT64_MIN };

	for (size_t i = 0; i < sizeof(delays) / sizeof(*delays); i++) {
		weir_time before = weir_now();
		weir_time deadline = weir_after(delays[i]);

		assert_true(before <= deadline);
		assert_true(deadline <= weir_now());
	}
}

TEST(units_are_nanoseconds)
{
	assert_true(WEIR_US == 1000);
	assert_true(WEIR_MS == 1000 * WEIR_US);
	assert_true(WEIR_SECOND == 1000 * WEIR_MS);
}

TEST(no_ticks_are_no_time)
{
	assert_true(weir__ticks_to_time(0) == 0);
}

/* A stretch of `length` measured by both clocks, to within a tenth. The clocks are not read at the
 * same moment, so a preemption in between spoils a measurement: the caller repeats it. */
static bool clocks_agree_over(weir_time length)
{
	weir_time start = weir_now();
	uint64_t first = weir__ticks();
	weir_time by_clock, by_ticks;

	do
		by_clock = weir_now() - start;
	while (by_clock < length);
	by_ticks = weir__ticks_to_time(weir__ticks() - first);
	return by_ticks > by_clock - by_clock / 10 && by_ticks < by_clock + by_clock / 10;
}

TEST(ticks_convert_to_nanoseconds)
{
	weir_time length = WEIR_MS;

	while (!clocks_agree_over(length)) {
		length *= 2;
		assert_true(length < 20 * WEIR_SECOND);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(now_is_the_monotonic_clock_P9),
		cmocka_unit_test(after_is_never_early_P9),
		cmocka_unit_test(after_beyond_the_range_is_never),
		cmocka_unit_test(after_a_negative_delay_is_now),
		cmocka_unit_test(units_are_nanoseconds),
		cmocka_unit_test(no_ticks_are_no_time),
		cmocka_unit_test(ticks_convert_to_nanoseconds),
	};

	return RUN_TESTS(tests);
}

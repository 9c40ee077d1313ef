/* base: numbers and durations as people write them. */
#include "base/parse.h"
#include "support/unit.h"

#include <errno.h>

static weir_time duration(const char *text)
{
	weir_time result = -1;

	assert_int_equal(weir__duration_parse(text, &result), 0);
	return result;
}

TEST(durations_read_as_people_write_them)
{
	assert_int_equal(duration("0"), 0);
	assert_int_equal(duration("30"), 30 * WEIR_SECOND);
	assert_int_equal(duration("30s"), 30 * WEIR_SECOND);
	assert_int_equal(duration("250ms"), 250 * WEIR_MS);
	assert_int_equal(duration("5m"), 300 * WEIR_SECOND);
	assert_int_equal(duration("1h"), 3600 * WEIR_SECOND);
	assert_int_equal(duration("007"), 7 * WEIR_SECOND);
}

TEST(fractions_keep_their_nanoseconds)
{
	assert_int_equal(duration("0.5"), WEIR_SECOND / 2);
	assert_int_equal(duration("1.5h"), 5400 * WEIR_SECOND);
	assert_int_equal(duration("0.000000001"), 1);
	assert_int_equal(duration("1.999999999s"), 2 * WEIR_SECOND - 1);
	assert_int_equal(duration("0.1ms"), WEIR_MS / 10);
	assert_int_equal(duration("0.3333333333333333333333333333333333"), 333333333);
}

TEST(what_is_no_duration_is_refused_and_changes_nothing)
{
	static const char *const wrong[] = { "",    " 1",  "1 ",    "-1",  "+1",  "s",   ".5",
					     "1.",  "1.s", "1x",    "1sm", "1S",  "1d",  "1us",
					     "1e3", "0x1", "1.5.5", "inf", "1,5", "1 s", "\n" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		weir_time untouched = 42;

		assert_int_equal(weir__duration_parse(wrong[i], &untouched), -EINVAL);
		assert_int_equal(untouched, 42);
	}
}

TEST(what_is_too_long_is_refused)
{
	weir_time untouched = 42;

	assert_int_equal(duration("9223372036"), 9223372036 * WEIR_SECOND);
	assert_int_equal(weir__duration_parse("9223372037", &untouched), -ERANGE);
	assert_int_equal(weir__duration_parse("2562048h", &untouched), -ERANGE);
	assert_int_equal(weir__duration_parse("99999999999999999999999", &untouched), -ERANGE);
	assert_int_equal(untouched, 42);
}

TEST(numbers_are_digits_within_bounds)
{
	uint32_t number = 0;

	assert_int_equal(weir__number_parse("17", 1, 20, &number), 0);
	assert_int_equal(number, 17);
	assert_int_equal(weir__number_parse("4294967295", 0, UINT32_MAX, &number), 0);
	assert_int_equal(number, UINT32_MAX);
	number = 5;
	assert_int_equal(weir__number_parse("0", 1, 20, &number), -ERANGE);
	assert_int_equal(weir__number_parse("21", 1, 20, &number), -ERANGE);
	assert_int_equal(weir__number_parse("4294967296", 0, UINT32_MAX, &number), -ERANGE);
	assert_int_equal(weir__number_parse("99999999999999999999999999", 0, 9, &number), -ERANGE);
	assert_int_equal(weir__number_parse("", 0, 9, &number), -EINVAL);
	assert_int_equal(weir__number_parse("-1", 0, 9, &number), -EINVAL);
	assert_int_equal(weir__number_parse("1k", 0, 9, &number), -EINVAL);
	assert_int_equal(number, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_read_as_people_write_them),
		cmocka_unit_test(fractions_keep_their_nanoseconds),
		cmocka_unit_test(what_is_no_duration_is_refused_and_changes_nothing),
		cmocka_unit_test(what_is_too_long_is_refused),
		cmocka_unit_test(numbers_are_digits_within_bounds),
	};

	return RUN_TESTS(tests);
}

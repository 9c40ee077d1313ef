/* base: weir_strerror and weir_version. */
#include "support/unit.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* Every code that weir/sem.h and weir/task.h document. */
static const int codes[] = {
	-EINVAL,    -E2BIG,     -EAGAIN, -ETIMEDOUT, -ECANCELED,
	-ESHUTDOWN, -EOVERFLOW, -ENOMEM, -EDEADLK,   -EALREADY,
};

enum { CODES = sizeof(codes) / sizeof(*codes) };

TEST(success_is_success)
{
	assert_string_equal(weir_strerror(0), "success");
}

TEST(released_too_many_times_CHECKLIST_17)
{
	assert_string_equal(weir_strerror(-EOVERFLOW), "semaphore released too many times");
}

TEST(a_bad_size_says_what_is_right)
{
	assert_non_null(strstr(weir_strerror(-EINVAL), "permits must be >= 1"));
}

TEST(every_code_has_words_of_its_own_P8)
{
	for (int i = 0; i < CODES; i++) {
		const char *text = weir_strerror(codes[i]);

		assert_non_null(strchr(text, ' '));
		assert_string_not_equal(text, "unknown error");
		for (int j = 0; j < i; j++)
			assert_string_not_equal(text, weir_strerror(codes[j]));
	}
}

TEST(a_text_is_constant)
{
	for (int i = 0; i < CODES; i++)
		assert_ptr_equal(weir_strerror(codes[i]), weir_strerror(codes[i]));
	assert_ptr_equal(weir_strerror(-EPERM), weir_strerror(-EPERM));
}

TEST(a_foreign_code_gets_the_c_librarys_word)
{
	assert_string_equal(weir_strerror(-EPERM), strerrordesc_np(EPERM));
	assert_string_equal(weir_strerror(-ENOSPC), strerrordesc_np(ENOSPC));
}

TEST(no_number_is_too_strange)
{
	static const int strange[] = { 1, EINVAL, INT_MAX, -4095, -4096, -1000000, INT_MIN };

	for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++)
		assert_string_equal(weir_strerror(strange[i]), "unknown error");
}

TEST(errno_is_left_alone)
{
	errno = 12345;
	(void)weir_strerror(-EINVAL);
	(void)weir_strerror(-4095);
	(void)weir_strerror(INT_MIN);
	assert_int_equal(errno, 12345);
}

TEST(version_is_the_one_that_was_built)
{
	const char *version = weir_version();
	int dots = 0;

	assert_string_equal(version, WEIR_VERSION);
	for (const char *c = version; *c; c++) {
		assert_true(isdigit((unsigned char)*c) || *c == '.');
		dots += *c == '.';
	}
	assert_int_equal(dots, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(success_is_success),
		cmocka_unit_test(released_too_many_times_CHECKLIST_17),
		cmocka_unit_test(a_bad_size_says_what_is_right),
		cmocka_unit_test(every_code_has_words_of_its_own_P8),
		cmocka_unit_test(a_text_is_constant),
		cmocka_unit_test(a_foreign_code_gets_the_c_librarys_word),
		cmocka_unit_test(no_number_is_too_strange),
		cmocka_unit_test(errno_is_left_alone),
		cmocka_unit_test(version_is_the_one_that_was_built),
	};

	return RUN_TESTS(tests);
}

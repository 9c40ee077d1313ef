/* base: random bytes. */
#include "base/random.h"
#include "support/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LENGTH = 32,
	/* More than the kernel gives in one call (2^25 - 1 bytes), so it takes several. */
	LONG_LENGTH = (1 << 25) + 1000,
};

static bool all_zero(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

TEST(two_draws_differ)
{
	unsigned char first[LENGTH], second[LENGTH];

	assert_int_equal(weir__random(first, LENGTH), 0);
	assert_int_equal(weir__random(second, LENGTH), 0);
	assert_memory_not_equal(first, second, LENGTH);
}

TEST(only_the_bytes_asked_for_are_written)
{
	unsigned char bytes[LENGTH + 2];

	memset(bytes, 0xa5, sizeof(bytes));
	assert_int_equal(weir__random(bytes + 1, LENGTH), 0);
	assert_int_equal(bytes[0], 0xa5);
	assert_int_equal(bytes[LENGTH + 1], 0xa5);
	assert_int_equal(weir__random(bytes, 0), 0);
	assert_int_equal(bytes[0], 0xa5);
}

TEST(a_long_draw_is_filled_to_its_end)
{
	unsigned char *bytes = calloc(LONG_LENGTH, 1);

	assert_non_null(bytes);
	assert_int_equal(weir__random(bytes, LONG_LENGTH), 0);
	assert_false(all_zero(bytes + LONG_LENGTH - LENGTH, LENGTH));
	free(bytes);
}

TEST(a_fork_does_not_repeat_them)
{
	unsigned char ours[LENGTH], theirs[LENGTH];
	int pipe_ends[2];
	pid_t child;

	assert_int_equal(pipe(pipe_ends), 0);
	child = fork();
	if (child == 0) {
		if (weir__random(ours, LENGTH) < 0 || write(pipe_ends[1], ours, LENGTH) != LENGTH)
			_exit(1);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(weir__random(ours, LENGTH), 0);
	assert_int_equal(read(pipe_ends[0], theirs, LENGTH), LENGTH);
	assert_memory_not_equal(ours, theirs, LENGTH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(pipe_ends[0]);
	(void)close(pipe_ends[1]);
}

TEST(bad_memory_is_an_error_and_errno_is_left_alone)
{
	errno = 12345;
	assert_int_equal(weir__random((void *)(uintptr_t)1, LENGTH), -EFAULT);
	assert_int_equal(errno, 12345);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_draws_differ),
		cmocka_unit_test(only_the_bytes_asked_for_are_written),
		cmocka_unit_test(a_long_draw_is_filled_to_its_end),
		cmocka_unit_test(a_fork_does_not_repeat_them),
		cmocka_unit_test(bad_memory_is_an_error_and_errno_is_left_alone),
	};

	return RUN_TESTS(tests);
}

/* base: memory. */
#include "base/alloc.h"
#include "support/unit.h"

#include <string.h>

enum { CACHE_LINE = 64 };

/* The sanitizers' allocators end the program when they have no memory, unless told to act like the
 * C library's. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

TEST(memory_is_zero_even_when_used_before)
{
	static const size_t sizes[] = { 1, 63, 64, 65, 200, 4096 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (int again = 0; again < 10; again++) {
			unsigned char *memory = weir__alloc(sizes[i]);

			assert_non_null(memory);
			for (size_t at = 0; at < sizes[i]; at++)
				assert_int_equal(memory[at], 0);
			memset(memory, 0xff, sizes[i]);
			weir__free(memory);
		}
	}
}

TEST(memory_has_its_own_cache_lines_CHECKLIST_26)
{
	char *first = weir__alloc(1);
	char *second = weir__alloc(CACHE_LINE + 1);

	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal((uintptr_t)first % CACHE_LINE, 0);
	assert_int_equal((uintptr_t)second % CACHE_LINE, 0);
	weir__free(first);
	weir__free(second);
}

TEST(no_memory_is_NULL)
{
	/* Out of the compiler's sight, which would warn about the size. */
	volatile size_t more_than_there_is = PTRDIFF_MAX / 2;

	assert_null(weir__alloc(more_than_there_is));
}

TEST(free_takes_NULL)
{
	weir__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zero_even_when_used_before),
		cmocka_unit_test(memory_has_its_own_cache_lines_CHECKLIST_26),
		cmocka_unit_test(no_memory_is_NULL),
		cmocka_unit_test(free_takes_NULL),
	};

	return RUN_TESTS(tests);
}

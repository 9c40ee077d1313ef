/* cli: tables, when there is no memory for them. */
#include "support/unit.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"

static int allocations_left = -1; /* -1: any number */

static bool is_out_of_memory(void)
{
	return allocations_left >= 0 && allocations_left-- == 0;
}

void *__real_reallocarray(void *memory, size_t n, size_t size);
void *__wrap_reallocarray(void *memory, size_t n, size_t size);
int __real_vasprintf(char **text, const char *format, va_list args);
int __wrap_vasprintf(char **text, const char *format, va_list args);

void *__wrap_reallocarray(void *memory, size_t n, size_t size)
{
	return is_out_of_memory() ? NULL : __real_reallocarray(memory, n, size);
}

int __wrap_vasprintf(char **text, const char *format, va_list args)
{
	return is_out_of_memory() ? -1 : __real_vasprintf(text, format, args);
}

/* So many rows of two cells. */
static bool print(int rows, char **ret_text)
{
	struct table table = { .heads = { "A", ">B" }, .n_columns = 2 };
	size_t size;
	FILE *stream = open_memstream(ret_text, &size);
	bool printed;

	assert_non_null(stream);
	for (int i = 0; i < rows; i++) {
		table_add(&table, "%s", "x\n");
		table_add(&table, "%d", i);
	}
	printed = table_print(&table, stream, false);
	assert_null(table.cells);
	assert_int_equal(fclose(stream), 0);
	return printed;
}

TEST(a_table_is_aligned_and_harmless)
{
	char *text;

	assert_true(print(11, &text));
	assert_int_equal(strncmp(text, "A    B\nx?   0\nx?   1\n", 21), 0);
	free(text);
}

/* Whichever allocation fails, nothing is printed rather than something wrong. 40 rows are more than
 * a table has room for at first. */
TEST(a_table_without_memory_says_so)
{
	bool printed = false;
	int count = 0;

	for (; !printed; count++) {
		char *text;

		allocations_left = count;
		printed = print(40, &text);
		allocations_left = -1;
		assert_true(printed || text[0] == '\0');
		free(text);
	}
	assert_int_equal(count, 80 + 2 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_aligned_and_harmless),
		cmocka_unit_test(a_table_without_memory_says_so),
	};

	return RUN_TESTS(tests);
}

/* base: places of instructions, in a program that is loaded anywhere and in one that is not: what
 * is printed is what addr2line takes. */
#include "base/place.h"
#include "support/unit.h"

#include <dlfcn.h>
#include <stdlib.h>

extern const char __executable_start[]; /* the linker's: the lowest address of the file */

static uintptr_t address_of_a_function(void)
{
	return (uintptr_t)address_of_a_function;
}

/* As the file counts, which begins at 0 if it may be loaded anywhere. */
static uintptr_t in_file(uintptr_t address)
{
#ifdef __PIE__
	return address - (uintptr_t)__executable_start;
#else
	return address;
#endif
}

TEST(a_place_of_the_program_is_as_far_as_its_file_says)
{
	const char *file = NULL;
	uintptr_t place = address_of_a_function();

	assert_int_equal(weir__place_in_file((void *)place, &file), in_file(place));
	assert_string_equal(file, "the program");
}

TEST(a_place_of_a_library_has_its_name)
{
	const char *file = NULL;
	Dl_info info;

	assert_true(dladdr(dlsym(RTLD_DEFAULT, "cmocka_set_message_output"), &info) != 0);
	assert_int_equal(weir__place_in_file(info.dli_saddr, &file),
			 (uintptr_t)info.dli_saddr - (uintptr_t)info.dli_fbase);
	assert_string_equal(file, info.dli_fname);
}

TEST(what_is_in_no_file_is_a_bare_address)
{
	const char *file = "";
	int here = 0;

	assert_int_equal(weir__place_in_file(&here, &file), (uintptr_t)&here);
	assert_null(file);
}

static void assert_printed(void *place, const char *expected)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	weir__print_place(stream, place);
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(text, expected);
	free(text);
}

TEST(a_place_is_printed_as_name_and_distance)
{
	uintptr_t place = address_of_a_function();
	char expected[64];

	(void)snprintf(expected, sizeof(expected), "the program+0x%lx",
		       (unsigned long)in_file(place));
	assert_printed((void *)place, expected);
	assert_printed((char *)dlsym(RTLD_DEFAULT, "cmocka_set_message_output") + 1,
		       "cmocka_set_message_output+0x1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_of_the_program_is_as_far_as_its_file_says),
		cmocka_unit_test(a_place_of_a_library_has_its_name),
		cmocka_unit_test(what_is_in_no_file_is_a_bare_address),
		cmocka_unit_test(a_place_is_printed_as_name_and_distance),
	};

	return RUN_TESTS(tests);
}

/* store/postgres: what a server says while a connection is made. */
#include "store/postgres/fault.h"

#include "support/unit.h"

static void check(const char *said, enum weir__pg_fault fault, const char *left)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "%s", said);
	assert_int_equal(weir__pg_fault_said(text), fault);
	assert_string_equal(text, left);
}

TEST(the_code_is_read_and_taken_out)
{
	check("to h failed: FATAL:  28P01: wrong\nLOCATION:  auth_failed, auth.c:338\n",
	      WEIR__PG_FORBIDDEN, "to h failed: FATAL:  wrong\n");
	check("FATAL:  3D000: there is no \"x\"\nORT:  InitPostgres, postinit.c:885\n",
	      WEIR__PG_MISSING, "FATAL:  there is no \"x\"\n");
	check("FATAL:  53300: too many", WEIR__PG_LATER, "FATAL:  too many");
}

TEST(the_last_of_several_attempts_decides)
{
	check("a: FATAL:  57P03: starting\nLOCATION:  f, x.c:1\nb: FATAL:  28000: no\n",
	      WEIR__PG_FORBIDDEN, "a: FATAL:  starting\nb: FATAL:  no\n");
}

TEST(what_has_no_code_stays_as_it_is)
{
	static const char *const said[] = {
		"",
		"connection refused\n\tIs it running?\n",
		"FATAL:  28P0: x",
		"FATAL:  28P01",
		"see main.c:\nx.c:12a",
		":  ",
	};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		check(said[i], WEIR__PG_ELSEWHERE, said[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_code_is_read_and_taken_out),
		cmocka_unit_test(the_last_of_several_attempts_decides),
		cmocka_unit_test(what_has_no_code_stays_as_it_is),
	};

	return RUN_TESTS(tests);
}

/* sem: WEIR_HOLD, and each way out of its block. */
#include "support/acquirer.h"
#include "support/unit.h"

#include <errno.h>

static struct weir_sem sem = WEIR_SEM_INIT(3);

static int fresh(void **state)
{
	(void)state;
	return weir_sem_init(&sem, 3);
}

static int all_given_back(void **state)
{
	(void)state;
	return stats_of(&sem).held == 0 ? 0 : -1;
}

TEST(the_end_of_the_block)
{
	int runs = 0;

	WEIR_HOLD(&sem, 2) {
		assert_permits(&sem, 3, 2, 0);
		runs++;
	}
	assert_int_equal(runs, 1);
	assert_permits(&sem, 3, 0, 0);
}

TEST(break_leaves_the_block_only)
{
	int rounds = 0;

	for (int i = 0; i < 3; i++) {
		WEIR_HOLD(&sem, 1) {
			if (i == 1)
				break;
			rounds++;
		}
		assert_permits(&sem, 3, 0, 0);
	}
	assert_int_equal(rounds, 2);
}

TEST(continue_leaves_the_block_once)
{
	int runs = 0;

	WEIR_HOLD(&sem, 1) {
		runs++;
		continue;
	}
	assert_int_equal(runs, 1);
	assert_permits(&sem, 3, 0, 0);
}

static int return_from_inside(void)
{
	WEIR_HOLD(&sem, 3) {
		return (int)stats_of(&sem).held;
	}
	return -1;
}

TEST(return_gives_back_after_its_value_is_known)
{
	assert_int_equal(return_from_inside(), 3);
	assert_permits(&sem, 3, 0, 0);
}

TEST(goto_out_of_the_block)
{
	WEIR_HOLD(&sem, 1) {
		goto out;
	}
	fail();
out:
	assert_permits(&sem, 3, 0, 0);
}

TEST(blocks_may_be_nested)
{
	struct weir_sem other = WEIR_SEM_INIT(1);

	WEIR_HOLD(&sem, 1) {
		WEIR_HOLD(&other, 1) {
			WEIR_HOLD(&sem, 2) {
				assert_permits(&sem, 3, 3, 0);
				assert_permits(&other, 1, 1, 0);
			}
			assert_permits(&sem, 3, 1, 0);
		}
		assert_permits(&other, 1, 0, 0);
	}
	assert_permits(&sem, 3, 0, 0);
}

static int return_from_the_innermost(struct weir_sem *other)
{
	WEIR_HOLD(&sem, 1) {
		WEIR_HOLD(other, 1) {
			return 1;
		}
	}
	return 0;
}

TEST(return_leaves_all_nested_blocks)
{
	struct weir_sem other = WEIR_SEM_INIT(1);

	assert_int_equal(return_from_the_innermost(&other), 1);
	assert_permits(&sem, 3, 0, 0);
	assert_permits(&other, 1, 0, 0);
}

TEST(one_statement_needs_no_braces)
{
	uint32_t held = 0;

	WEIR_HOLD(&sem, 2)
		held = stats_of(&sem).held;
	assert_int_equal(held, 2);
	assert_permits(&sem, 3, 0, 0);
}

TEST(success_is_reported_as_0)
{
	int error = 1;
	int runs = 0;

	WEIR_HOLD(&sem, 1, &error) {
		assert_int_equal(error, 0);
		runs++;
	}
	assert_int_equal(runs, 1);
	assert_int_equal(error, 0);
}

TEST(the_block_is_skipped_when_the_acquire_fails_P5)
{
	static const struct {
		uint32_t n;
		int error;
	} bad[] = { { 0, -EINVAL }, { 4, -E2BIG }, { UINT32_MAX, -E2BIG } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int error = 0;

		WEIR_HOLD(&sem, bad[i].n, &error) {
			fail();
		}
		assert_int_equal(error, bad[i].error);
		assert_permits(&sem, 3, 0, 0);
	}
}

TEST(the_block_is_skipped_when_the_semaphore_is_closed)
{
	int error = 0;

	weir_sem_close(&sem);
	WEIR_HOLD(&sem, 1) {
		fail();
	}
	WEIR_HOLD(&sem, 1, &error) {
		fail();
	}
	assert_int_equal(error, -ESHUTDOWN);
	assert_permits(&sem, 3, 0, 0);
}

static uint32_t evaluations;

static struct weir_sem *evaluated(void)
{
	evaluations++;
	return &sem;
}

TEST(its_arguments_are_evaluated_once)
{
	uint32_t n = 1;

	evaluations = 0;
	WEIR_HOLD(evaluated(), n++) {
		assert_permits(&sem, 3, 1, 0);
	}
	assert_int_equal(evaluations, 1);
	assert_int_equal(n, 2);
	assert_permits(&sem, 3, 0, 0);
}

TEST(the_end_of_the_block_grants_the_next_P4)
{
	struct acquirer next = { .sem = &sem, .n = 3, .deadline = WEIR_NEVER };

	WEIR_HOLD(&sem, 1) {
		acquirer_queue(&next);
	}
	assert_int_equal(acquirer_join(&next), 0);
	assert_int_equal(weir_sem_release(&sem, 3), 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, fresh, all_given_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_end_of_the_block),
		test(break_leaves_the_block_only),
		test(continue_leaves_the_block_once),
		test(return_gives_back_after_its_value_is_known),
		test(goto_out_of_the_block),
		test(blocks_may_be_nested),
		test(return_leaves_all_nested_blocks),
		test(one_statement_needs_no_braces),
		test(success_is_reported_as_0),
		test(the_block_is_skipped_when_the_acquire_fails_P5),
		test(the_block_is_skipped_when_the_semaphore_is_closed),
		test(its_arguments_are_evaluated_once),
		test(the_end_of_the_block_grants_the_next_P4),
	};

	return RUN_TESTS(tests);
}

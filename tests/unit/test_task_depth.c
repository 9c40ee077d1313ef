/* task: how deep stacks went, for each place where tasks are spawned. */
#include "support/sanitizers.h"
#include "support/tasks.h"

#include <errno.h>
#include <stdlib.h>

enum { SHALLOW = 4096, DEEP = 30 * 1024, FRAME = 512, AT_ONCE = 40 };

/* Uses at least `bytes` of the stack, and not many more. */
static __attribute__((noinline)) int dig(int bytes)
{
	volatile char frame[FRAME];

	for (int i = 0; i < FRAME; i++)
		frame[i] = 1;
	return bytes <= FRAME ? 0 : dig(bytes - FRAME) + frame[0];
}

TASK(digs)
{
	*value = dig((int)(intptr_t)arg);
	return 0;
}

/* One place that spawns, and a counter that keeps the compiler from making it several. */
static __attribute__((noinline)) void spawn_deep(int times)
{
	for (volatile int i = 0; i < times; i++)
		assert_int_equal(join(weir_spawn(digs, (void *)DEEP), NULL), 0);
}

static __attribute__((noinline)) void spawn_shallow(int times)
{
	for (volatile int i = 0; i < times; i++)
		assert_int_equal(join(weir_spawn(digs, (void *)SHALLOW), NULL), 0);
}

static void assert_about(size_t bytes, size_t expected)
{
	/* A sanitizer's frames are larger, or elsewhere. */
	if (UNDER_ASAN || UNDER_TSAN)
		return;
	assert_true(bytes >= expected);
	assert_true(bytes <= expected + expected / 2 + 2048);
}

TASK(measures)
{
	struct weir_stack_use uses[4] = { { .ended = 0 } };
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	/* A stack that was used deeply is used again, and then counts from nothing. */
	spawn_deep(3);
	spawn_shallow(5);
	assert_int_equal(weir_stack_uses(NULL, 0), 3);
	assert_int_equal(weir_stack_uses(uses, 4), 3);
	assert_int_equal(uses[0].ended, 3);
	assert_about(uses[0].deepest, DEEP);
	assert_int_equal(uses[1].ended, 5);
	assert_about(uses[1].deepest, SHALLOW);
	assert_int_equal(uses[2].ended, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(uses[i].size >= 58 * 1024);
		assert_true(uses[i].deepest > 0 && uses[i].deepest <= uses[i].size);
		assert_non_null(uses[i].site);
	}

	assert_non_null(stream);
	assert_int_equal(weir_sched_dump(stream), 0);
	assert_int_equal(fclose(stream), 0);
	assert_contains(text, " bytes, and how much of them was used:\n");
	assert_contains(text, " %), 5 have ended\n");
	free(text);
	return 0;
}

TEST(each_place_has_its_own_figure)
{
	struct weir_run_config config = { .measure_stacks = true };

	assert_int_equal(weir_run(measures, NULL, &config), 0);
	/* No stack is kept warm. */
	config.stack_cache = 1;
	assert_int_equal(weir_run(measures, NULL, &config), 0);
}

static __attribute__((noinline)) void spawn_at_once(int n)
{
	struct weir_future *tasks[AT_ONCE];

	for (volatile int i = 0; i < n; i++)
		tasks[i] = spawn(digs, (void *)SHALLOW);
	for (int i = 0; i < n; i++)
		assert_int_equal(join(tasks[i], NULL), 0);
}

/* Stacks begin at different places, and measuring is not done on another task's stack. */
TASK(compares_one_with_many)
{
	size_t deepest[2];
	struct weir_stack_use use[2];

	spawn_at_once(1);
	assert_int_equal(weir_stack_uses(use, 2), 2);
	deepest[0] = use[0].deepest;
	spawn_at_once(AT_ONCE);
	assert_int_equal(weir_stack_uses(use, 2), 2);
	deepest[1] = use[0].deepest;
	assert_int_equal(use[0].ended, 1 + AT_ONCE);
	if (!UNDER_ASAN && !UNDER_TSAN)
		assert_int_equal(deepest[0], deepest[1]);
	return 0;
}

TEST(where_a_stack_begins_does_not_count)
{
	struct weir_run_config config = { .measure_stacks = true };

	assert_int_equal(weir_run(compares_one_with_many, NULL, &config), 0);
}

TASK(asks_in_vain)
{
	struct weir_stack_use use;

	assert_int_equal(weir_stack_uses(&use, 1), -EINVAL);
	return 0;
}

TEST(what_is_not_measured_is_not_known)
{
	struct weir_stack_use use;

	run(asks_in_vain, NULL);
	assert_int_equal(weir_stack_uses(&use, 1), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_has_its_own_figure),
		cmocka_unit_test(where_a_stack_begins_does_not_count),
		cmocka_unit_test(what_is_not_measured_is_not_known),
	};

	return RUN_TESTS(tests);
}

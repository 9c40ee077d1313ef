/* task: how much work is done for each future that is waited for, counted in atomic steps, which is
 * how often anybody looks at one. BEHAVIOURS 30. */
#include "support/tasks.h"

#include <stdlib.h>

enum { FEW = 500, MANY = 2 * FEW };

struct work {
	size_t n;
	bool race;
	uint64_t steps;
};

TASK(takes_turns)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(weir_yield(), 0);
	return 0;
}

/* From the first spawn to the last end. */
TASK(waits_for_all)
{
	struct work *work = arg;
	struct weir_future **tasks = calloc(work->n, sizeof(*tasks));
	uint64_t before = counting_steps;
	size_t winner;

	assert_non_null(tasks);
	for (size_t i = 0; i < work->n; i++)
		tasks[i] = spawn(takes_turns, NULL);
	if (work->race)
		assert_int_equal(weir_race(tasks, work->n, WEIR_NEVER, &winner, NULL), 0);
	assert_int_equal(weir_gather(tasks, work->n, WEIR_NEVER, NULL), 0);
	work->steps = counting_steps - before;
	drop(tasks, work->n);
	free(tasks);
	return 0;
}

static uint64_t steps_of(size_t n, bool race)
{
	struct work work = { .n = n, .race = race };

	run(waits_for_all, &work);
	return work.steps;
}

static void assert_linear(bool race)
{
	uint64_t few = steps_of(FEW, race);
	uint64_t many = steps_of(MANY, race);

	assert_true(few >= FEW);
	/* What is done once, not for each, is a part of both. */
	assert_true(many <= 2 * few + FEW / 2);
}

TEST(twice_as_many_are_twice_the_work_for_gather_BEHAVIOURS_30)
{
	assert_linear(false);
}

TEST(twice_as_many_are_twice_the_work_for_race)
{
	assert_linear(true);
}

/* With three turns of its own, each is looked at while it starts, waits, ends, is waited for. */
TEST(a_few_looks_for_each_task_are_enough_BEHAVIOURS_30)
{
	assert_in_range(steps_of(MANY, false) / MANY, 1, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twice_as_many_are_twice_the_work_for_gather_BEHAVIOURS_30),
		cmocka_unit_test(twice_as_many_are_twice_the_work_for_race),
		cmocka_unit_test(a_few_looks_for_each_task_are_enough_BEHAVIOURS_30),
	};

	return RUN_TESTS(tests);
}

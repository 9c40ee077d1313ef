/* task: spawning, and the order in which tasks run. BEHAVIOURS 29, 34 (equal ones are FIFO). */
#include "support/sanitizers.h"
#include "support/tasks.h"

#include <errno.h>
#include <stdlib.h>

enum { HUNDRED = 100, MANY = UNDER_TSAN ? 1000 : 10000 };

TASK(doubles)
{
	*value = (intptr_t)arg * 2;
	return 0;
}

TASK(waits_for_one)
{
	struct weir_future *task = spawn(doubles, (void *)21);
	intptr_t result = 0;

	assert_false(weir_future_done(task));
	assert_int_equal(weir_wait(task, WEIR_NEVER, &result), 0);
	assert_int_equal(result, 42);
	/* Again, now that it has ended. */
	assert_true(weir_future_done(task));
	assert_int_equal(weir_wait(task, 0, NULL), 0);
	assert_int_equal(value_of(task), 42);
	return 0;
}

TEST(spawn_and_wait_gives_the_value_BEHAVIOURS_29)
{
	run(waits_for_one, NULL);
}

TASK(waits_one_after_the_other)
{
	for (intptr_t i = 0; i < HUNDRED; i++)
		assert_int_equal(value_of(spawn(doubles, (void *)i)), 2 * i);
	return 0;
}

TEST(a_hundred_waits_in_sequence_BEHAVIOURS_29)
{
	run(waits_one_after_the_other, NULL);
}

TASK(waits_for_many)
{
	struct weir_future **tasks = malloc(MANY * sizeof(struct weir_future *));

	assert_non_null(tasks);
	for (intptr_t i = 0; i < MANY; i++)
		tasks[i] = spawn(doubles, (void *)i);
	for (intptr_t i = 0; i < MANY; i++)
		assert_int_equal(value_of(tasks[i]), 2 * i);
	free(tasks);
	return 0;
}

TEST(many_tasks_at_once)
{
	run(waits_for_many, NULL);
}

TASK(spawns_one_less)
{
	intptr_t depth = (intptr_t)arg;

	*value = depth == 0 ? 0 : value_of(spawn(spawns_one_less, (void *)(depth - 1))) + 1;
	return 0;
}

TASK(nests)
{
	assert_int_equal(value_of(spawn(spawns_one_less, (void *)HUNDRED)), HUNDRED);
	return 0;
}

TEST(tasks_spawn_tasks_BEHAVIOURS_29)
{
	run(nests, NULL);
}

struct named {
	struct events *events;
	const char *name;
	int yields;
};

TASK(says_its_name)
{
	const struct named *named = arg;

	for (int i = 0; i <= named->yields; i++) {
		if (i > 0)
			assert_int_equal(weir_yield(), 0);
		event(named->events, named->name);
	}
	return 0;
}

TASK(spawns_three)
{
	struct named a = { arg, "a", 1 }, b = { arg, "b", 1 }, c = { arg, "c", 1 };
	struct weir_future *tasks[] = {
		spawn(says_its_name, &a),
		spawn(says_its_name, &b),
		spawn(says_its_name, &c),
	};

	event(arg, "spawned");
	assert_int_equal(weir_gather(tasks, 3, WEIR_NEVER, NULL), 0);
	event(arg, "gathered");
	drop(tasks, 3);
	return 0;
}

TEST(a_spawner_goes_on_and_its_children_run_in_order_BEHAVIOURS_34)
{
	struct events events = { "" };

	run(spawns_three, &events);
	assert_events(&events, "spawned a b c a b c gathered ");
}

TASK(yields_to_all)
{
	struct named a = { arg, "a", 0 }, b = { arg, "b", 0 };
	struct weir_future *tasks[] = { spawn(says_its_name, &a), spawn(says_its_name, &b) };

	assert_int_equal(weir_yield(), 0);
	event(arg, "root");
	assert_true(weir_future_done(tasks[0]) && weir_future_done(tasks[1]));
	drop(tasks, 2);
	return 0;
}

TEST(a_yield_lets_all_that_are_ready_run_first)
{
	struct events events = { "" };

	run(yields_to_all, &events);
	assert_events(&events, "a b root ");
}

TASK(yields_alone)
{
	for (int i = 0; i < 1000; i++)
		assert_int_equal(weir_yield(), 0);
	return 0;
}

TEST(a_task_that_is_alone_may_yield)
{
	run(yields_alone, NULL);
}

TASK(adds_after_yields)
{
	for (int i = 0; i < 8; i++) {
		assert_int_equal(weir_yield(), 0);
		++*(int *)arg;
	}
	return 0;
}

TASK(runs_64)
{
	struct weir_future *tasks[64];

	for (int i = 0; i < 64; i++)
		tasks[i] = spawn(adds_after_yields, arg);
	assert_int_equal(weir_gather(tasks, 64, WEIR_NEVER, NULL), 0);
	drop(tasks, 64);
	return 0;
}

TEST(sixty_four_tasks_yield_eight_times_each_BEHAVIOURS_29)
{
	int count = 0;

	run(runs_64, &count);
	assert_int_equal(count, 64 * 8);
}

TASK(crashes_after_yields)
{
	for (int i = 0; i < 5; i++)
		assert_int_equal(weir_yield(), 0);
	return -EIO;
}

TASK(runs_ten_and_a_crasher)
{
	struct weir_future *tasks[11];

	for (int i = 0; i < 10; i++)
		tasks[i] = spawn(adds_after_yields, arg);
	tasks[10] = spawn(crashes_after_yields, NULL);
	assert_int_equal(weir_gather(tasks, 11, WEIR_NEVER, NULL), -EIO);
	/* The healthy ones are not disturbed. */
	assert_int_equal(weir_gather(tasks, 10, WEIR_NEVER, NULL), 0);
	drop(tasks, 11);
	return 0;
}

TEST(a_crasher_among_healthy_ones_surfaces_BEHAVIOURS_29)
{
	int count = 0;

	run(runs_ten_and_a_crasher, &count);
	assert_int_equal(count, 10 * 8);
}

struct baton {
	struct weir_sem sem;
	struct events events;
};

TASK(takes_the_baton)
{
	struct baton *baton = arg;

	int result = weir_sem_acquire(&baton->sem, 1);

	if (result == 0)
		event(&baton->events, "taken");
	return result;
}

TASK(releases_and_goes_on)
{
	struct baton *baton = arg;
	struct weir_future *taker;
	struct weir_future *other;

	assert_int_equal(weir_sem_acquire(&baton->sem, 1), 0);
	taker = spawn(takes_the_baton, baton);
	other = spawn(takes_the_baton, baton);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_sem_release(&baton->sem, 1), 0);
	event(&baton->events, "released");
	assert_int_equal(weir_cancel(other), 0);
	event(&baton->events, "cancelled");
	assert_int_equal(join(taker, NULL), 0);
	assert_int_equal(join(other, NULL), -ECANCELED);
	return 0;
}

TEST(neither_a_release_nor_a_cancel_switches)
{
	struct baton baton = { .sem = WEIR_SEM_INIT(1) };

	run(releases_and_goes_on, &baton);
	assert_events(&baton.events, "released cancelled taken ");
}

/* CHECKLIST 21: what a compiler may keep in registers survives a switch. */
TASK(computes)
{
	double sum = 0;
	uint64_t bits = (uint64_t)(intptr_t)arg;

	for (int i = 1; i <= 200; i++) {
		sum += 1.0 / i * (double)(intptr_t)arg;
		bits = bits * 6364136223846793005u + 1442695040888963407u;
		if (i % 10 == 0)
			assert_int_equal(weir_yield(), 0);
	}
	*value = (intptr_t)(bits ^ (uint64_t)(sum * 1e6));
	return 0;
}

TASK(compares_computations)
{
	struct weir_future *tasks[20];
	intptr_t values[20];

	for (intptr_t i = 0; i < 20; i++)
		tasks[i] = spawn(computes, (void *)(i / 2));
	assert_int_equal(weir_gather(tasks, 20, WEIR_NEVER, values), 0);
	for (int i = 0; i < 20; i += 2)
		assert_int_equal(values[i], values[i + 1]);
	drop(tasks, 20);
	return 0;
}

TEST(registers_survive_a_switch)
{
	run(compares_computations, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spawn_and_wait_gives_the_value_BEHAVIOURS_29),
		cmocka_unit_test(a_hundred_waits_in_sequence_BEHAVIOURS_29),
		cmocka_unit_test(many_tasks_at_once),
		cmocka_unit_test(tasks_spawn_tasks_BEHAVIOURS_29),
		cmocka_unit_test(a_spawner_goes_on_and_its_children_run_in_order_BEHAVIOURS_34),
		cmocka_unit_test(a_yield_lets_all_that_are_ready_run_first),
		cmocka_unit_test(a_task_that_is_alone_may_yield),
		cmocka_unit_test(sixty_four_tasks_yield_eight_times_each_BEHAVIOURS_29),
		cmocka_unit_test(a_crasher_among_healthy_ones_surfaces_BEHAVIOURS_29),
		cmocka_unit_test(neither_a_release_nor_a_cancel_switches),
		cmocka_unit_test(registers_survive_a_switch),
	};

	return RUN_TESTS(tests);
}

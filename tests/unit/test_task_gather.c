/* task: waiting for several futures. BEHAVIOURS 30 to 33 and 40. */
#include "support/tasks.h"

#include <errno.h>
#include <stdlib.h>

enum { MANY = 1000 };

/* Sleeps as many seconds as its argument says, and returns them. */
TASK(sleeps)
{
	*value = (intptr_t)arg;
	return weir_sleep((intptr_t)arg * WEIR_SECOND);
}

TASK(gathers_in_order)
{
	struct weir_future *tasks[] = {
		spawn(sleeps, (void *)3),
		spawn(sleeps, (void *)1),
		spawn(sleeps, (void *)2),
	};
	weir_time start = weir_now();
	intptr_t values[3] = { 0 };

	assert_int_equal(weir_gather(tasks, 3, WEIR_NEVER, values), 0);
	assert_int_equal(weir_now() - start, 3 * WEIR_SECOND);
	assert_int_equal(values[0], 3);
	assert_int_equal(values[1], 1);
	assert_int_equal(values[2], 2);
	/* Again, now that all have ended; and without the values. */
	assert_int_equal(weir_gather(tasks, 3, 0, values), 0);
	assert_int_equal(weir_gather(tasks, 3, 0, NULL), 0);
	drop(tasks, 3);
	return 0;
}

TEST(gather_waits_for_all_and_keeps_the_order_of_its_input_BEHAVIOURS_30)
{
	run(gathers_in_order, NULL);
}

TASK(gathers_one_several_times)
{
	struct weir_future *task = spawn(sleeps, (void *)1);
	struct weir_future *same[] = { task, task, task };
	intptr_t values[3];

	assert_int_equal(weir_gather(same, 3, WEIR_NEVER, values), 0);
	assert_int_equal(values[0] + values[1] + values[2], 3);
	weir_future_unref(task);
	return 0;
}

TEST(gather_takes_the_same_handle_twice)
{
	run(gathers_one_several_times, NULL);
}

TASK(gathers_too_late)
{
	struct weir_future *tasks[] = { spawn(sleeps, (void *)1), spawn(sleeps, (void *)5) };
	intptr_t values[2] = { -1, -1 };

	assert_int_equal(weir_gather(tasks, 2, weir_after(2 * WEIR_SECOND), values), -ETIMEDOUT);
	assert_int_equal(values[0] + values[1], -2);
	/* They go on. */
	assert_int_equal(weir_gather(tasks, 2, WEIR_NEVER, values), 0);
	assert_int_equal(values[1], 5);
	drop(tasks, 2);
	return 0;
}

TEST(gather_has_a_deadline_and_the_others_go_on)
{
	run(gathers_too_late, NULL);
}

struct fast {
	struct weir_future *release;
	struct events events;
};

TASK(is_blocked)
{
	struct fast *fast = arg;
	int result = weir_wait(fast->release, WEIR_NEVER, NULL);

	event(&fast->events, "unblocked");
	return result;
}

TASK(raises)
{
	struct fast *fast = arg;

	event(&fast->events, "raised");
	return -EIO;
}

TASK(gathers_blocked_and_failing)
{
	struct fast *fast = arg;
	struct weir_future *tasks[] = { spawn(is_blocked, fast), spawn(raises, fast) };
	intptr_t values[2] = { -1, -1 };

	fast->release = promise();
	assert_int_equal(weir_gather(tasks, 2, WEIR_NEVER, values), -EIO);
	assert_int_equal(values[0] + values[1], -2);
	event(&fast->events, "caught");
	assert_int_equal(weir_complete(fast->release, 0), 0);
	/* Fail-fast leaves the sibling alone: it ends as it would have. */
	assert_int_equal(join(tasks[0], NULL), 0);
	weir_future_unref(tasks[1]);
	weir_future_unref(fast->release);
	return 0;
}

TEST(gather_fails_at_once_and_siblings_go_on_BEHAVIOURS_31)
{
	struct fast fast = { .events = { "" } };

	run(gathers_blocked_and_failing, &fast);
	assert_events(&fast.events, "raised caught unblocked ");
}

TASK(gathers_a_cancelled_child)
{
	struct weir_future *tasks[] = { spawn(sleeps, (void *)9), spawn(sleeps, (void *)1) };

	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(tasks[0]), 0);
	assert_int_equal(weir_gather(tasks, 2, WEIR_NEVER, NULL), -ECANCELED);
	assert_int_equal(weir_wait(tasks[1], WEIR_NEVER, NULL), 0);
	drop(tasks, 2);
	return 0;
}

TEST(gather_over_a_cancelled_child_is_cancelled_BEHAVIOURS_32)
{
	run(gathers_a_cancelled_child, NULL);
}

TASK(gathers_two_failures)
{
	struct weir_future *futures[] = { promise(), promise(), promise() };

	assert_int_equal(weir_complete(futures[0], 1), 0);
	assert_int_equal(weir_fail(futures[2], -EPIPE), 0);
	assert_int_equal(weir_fail(futures[1], -EIO), 0);
	assert_int_equal(weir_gather(futures, 3, WEIR_NEVER, NULL), -EPIPE);
	drop(futures, 3);
	return 0;
}

TEST(of_several_failures_gather_gives_the_first_in_time)
{
	run(gathers_two_failures, NULL);
}

TASK(collects_outcomes)
{
	struct weir_future *futures[] = { promise(), promise(), promise() };
	static const int expected[] = { 0, -EIO, -ECANCELED };

	assert_int_equal(weir_complete(futures[0], 1), 0);
	assert_int_equal(weir_fail(futures[1], -EIO), 0);
	assert_int_equal(weir_cancel(futures[2]), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(join(futures[i], NULL), expected[i]);
	return 0;
}

TEST(waiting_for_each_collects_all_outcomes_BEHAVIOURS_32)
{
	run(collects_outcomes, NULL);
}

TASK(races_three)
{
	struct weir_future *tasks[] = {
		spawn(sleeps, (void *)3),
		spawn(sleeps, (void *)2),
		spawn(sleeps, (void *)1),
	};
	size_t winner = 9;
	intptr_t seen = 0;

	assert_int_equal(weir_race(tasks, 3, WEIR_NEVER, &winner, &seen), 0);
	assert_int_equal(winner, 2);
	assert_int_equal(seen, 1);
	assert_int_equal(weir_race(tasks, 2, WEIR_NEVER, &winner, &seen), 0);
	assert_int_equal(winner, 1);
	assert_int_equal(seen, 2);
	/* Of those that have ended the first one wins, wherever it stands. */
	assert_int_equal(weir_race(tasks, 3, 0, &winner, NULL), 0);
	assert_int_equal(winner, 2);
	assert_int_equal(weir_wait(tasks[0], WEIR_NEVER, NULL), 0);
	assert_int_equal(weir_race(tasks, 3, 0, NULL, NULL), 0);
	drop(tasks, 3);
	return 0;
}

TEST(the_first_to_end_wins_a_race_and_losers_go_on_BEHAVIOURS_33)
{
	run(races_three, NULL);
}

TASK(races_failures)
{
	struct weir_future *futures[] = { promise(), promise(), promise() };
	struct weir_future *twice[] = { futures[2], futures[2] };
	size_t winner = 9;
	intptr_t seen = 7;

	assert_int_equal(weir_race(futures, 3, weir_after(WEIR_SECOND), &winner, &seen),
			 -ETIMEDOUT);
	assert_int_equal(winner, 9);
	assert_int_equal(weir_fail(futures[1], -EIO), 0);
	assert_int_equal(weir_race(futures, 3, WEIR_NEVER, &winner, &seen), -EIO);
	assert_int_equal(winner, 1);
	assert_int_equal(seen, 7);
	assert_int_equal(weir_cancel(futures[2]), 0);
	assert_int_equal(weir_race(twice, 2, WEIR_NEVER, &winner, NULL), -ECANCELED);
	assert_int_equal(winner, 0);
	drop(futures, 3);
	return 0;
}

TEST(a_race_is_decided_by_failure_and_by_cancel_BEHAVIOURS_33)
{
	run(races_failures, NULL);
}

struct pair {
	struct weir_future *futures[2];
};

TASK(completes_back_to_back)
{
	struct pair *pair = arg;

	assert_int_equal(weir_complete(pair->futures[1], 1), 0);
	assert_int_equal(weir_complete(pair->futures[0], 0), 0);
	return 0;
}

TASK(races_back_to_back)
{
	struct pair pair = { { promise(), promise() } };
	struct weir_future *completer = spawn(completes_back_to_back, &pair);
	size_t winner = 9;
	intptr_t seen = 9;

	assert_int_equal(weir_race(pair.futures, 2, WEIR_NEVER, &winner, &seen), 0);
	assert_int_equal(winner, 1);
	assert_int_equal(seen, 1);
	assert_int_equal(join(completer, NULL), 0);
	drop(pair.futures, 2);
	return 0;
}

TEST(of_two_that_end_back_to_back_the_first_wins_BEHAVIOURS_33)
{
	run(races_back_to_back, NULL);
}

TASK(races_forgotten_losers)
{
	struct weir_future *futures[] = { promise(), spawn(sleeps, (void *)1) };

	assert_int_equal(weir_race(futures, 2, WEIR_NEVER, NULL, NULL), 0);
	/* The loser never ends, and that keeps nobody from going on or from returning. */
	drop(futures, 2);
	return 0;
}

TEST(a_losing_promise_does_not_hold_up_the_run_BEHAVIOURS_40)
{
	run(races_forgotten_losers, NULL);
}

TASK(gathers_many)
{
	struct weir_future **tasks = malloc(MANY * sizeof(struct weir_future *));
	intptr_t *values = malloc(MANY * sizeof(intptr_t));

	assert_true(tasks && values);
	for (intptr_t i = 0; i < MANY; i++)
		tasks[i] = spawn(sleeps, (void *)(i * 7 % MANY));
	assert_int_equal(weir_gather(tasks, MANY, WEIR_NEVER, values), 0);
	for (intptr_t i = 0; i < MANY; i++)
		assert_int_equal(values[i], i * 7 % MANY);
	drop(tasks, MANY);
	free(tasks);
	free(values);
	return 0;
}

TEST(gather_of_a_thousand)
{
	run(gathers_many, NULL);
}

/* A table of futures that others use, too, in which ended ones make room for new ones. */
struct table {
	struct weir_future *futures[2];
	size_t n;
	size_t winner;
	intptr_t values[2];
};

TASK(gathers_table)
{
	struct table *table = arg;

	return weir_gather(table->futures, table->n, WEIR_NEVER, table->values);
}

TASK(races_table)
{
	struct table *table = arg;

	return weir_race(table->futures, table->n, WEIR_NEVER, &table->winner, &table->values[0]);
}

/* Those that are waited for are completed and dropped; the new ones stay as they are. */
static void replace_while(weir_task_fn *waits, struct table *table)
{
	struct weir_future *meant[2] = { promise(), promise() };
	struct weir_future *others[2] = { promise(), promise() };
	struct weir_future *task;

	memcpy(table->futures, meant, sizeof(meant));
	task = spawn(waits, table);
	assert_int_equal(weir_yield(), 0);
	memcpy(table->futures, others, sizeof(others));
	for (int i = 1; i >= 0; i--)
		assert_int_equal(weir_complete(meant[i], i + 1), 0);
	drop(meant, 2);
	assert_int_equal(join(task, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(weir_complete(others[i], 7), 0);
	drop(others, 2);
}

TASK(changes_what_is_waited_for)
{
	struct table two = { .n = 2, .winner = 9 };
	struct table one = { .n = 1 };

	replace_while(gathers_table, &two);
	assert_int_equal(two.values[0], 1);
	assert_int_equal(two.values[1], 2);
	replace_while(races_table, &two);
	assert_int_equal(two.values[0], 2);
	assert_int_equal(two.winner, 1);
	replace_while(gathers_table, &one);
	assert_int_equal(one.values[0], 1);
	return 0;
}

TEST(what_the_array_held_at_first_is_waited_for)
{
	run(changes_what_is_waited_for, NULL);
}

TASK(races_one_twice)
{
	struct weir_future *slow = promise();
	struct weir_future *twice = spawn(sleeps, (void *)1);
	struct weir_future *futures[] = { slow, twice, twice };
	size_t winner = 9;
	intptr_t seen = 9;

	assert_int_equal(weir_race(futures, 3, WEIR_NEVER, &winner, &seen), 0);
	assert_int_equal(winner, 1);
	assert_int_equal(seen, 1);
	weir_future_unref(twice);
	weir_future_unref(slow);
	return 0;
}

TEST(one_that_races_twice_wins_once_BEHAVIOURS_33)
{
	run(races_one_twice, NULL);
}

TASK(gathers_what_has_ended)
{
	struct weir_future *futures[] = { promise(), promise() };

	assert_int_equal(weir_complete(futures[0], 1), 0);
	assert_int_equal(weir_complete(futures[1], 2), 0);
	assert_int_equal(weir_yield(), -ECANCELED);
	assert_int_equal(weir_cancel(*(struct weir_future **)arg), 0);
	/* The cancel is for the next call that would wait, and these need not. */
	assert_int_equal(weir_wait(futures[0], WEIR_NEVER, NULL), 0);
	assert_int_equal(weir_race(futures, 2, WEIR_NEVER, NULL, NULL), 0);
	assert_int_equal(weir_gather(futures, 2, WEIR_NEVER, NULL), 0);
	assert_int_equal(weir_gather(NULL, 0, WEIR_NEVER, NULL), 0);
	assert_int_equal(weir_sleep(0), -ECANCELED);
	drop(futures, 2);
	return 0;
}

TASK(cancels_a_gatherer)
{
	struct weir_future *self;
	struct weir_future *task = spawn(gathers_what_has_ended, &self);

	self = task;
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(task), 0);
	return join(task, NULL);
}

TEST(what_has_ended_is_not_waited_for_even_by_the_cancelled)
{
	run(cancels_a_gatherer, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			gather_waits_for_all_and_keeps_the_order_of_its_input_BEHAVIOURS_30),
		cmocka_unit_test(gather_takes_the_same_handle_twice),
		cmocka_unit_test(gather_has_a_deadline_and_the_others_go_on),
		cmocka_unit_test(gather_fails_at_once_and_siblings_go_on_BEHAVIOURS_31),
		cmocka_unit_test(gather_over_a_cancelled_child_is_cancelled_BEHAVIOURS_32),
		cmocka_unit_test(of_several_failures_gather_gives_the_first_in_time),
		cmocka_unit_test(waiting_for_each_collects_all_outcomes_BEHAVIOURS_32),
		cmocka_unit_test(the_first_to_end_wins_a_race_and_losers_go_on_BEHAVIOURS_33),
		cmocka_unit_test(a_race_is_decided_by_failure_and_by_cancel_BEHAVIOURS_33),
		cmocka_unit_test(of_two_that_end_back_to_back_the_first_wins_BEHAVIOURS_33),
		cmocka_unit_test(a_losing_promise_does_not_hold_up_the_run_BEHAVIOURS_40),
		cmocka_unit_test(gather_of_a_thousand),
		cmocka_unit_test(what_the_array_held_at_first_is_waited_for),
		cmocka_unit_test(one_that_races_twice_wins_once_BEHAVIOURS_33),
		cmocka_unit_test(what_has_ended_is_not_waited_for_even_by_the_cancelled),
	};

	return RUN_TESTS(tests);
}

/* task: sleeping, deadlines and the virtual clock. The time section of BEHAVIOURS. */
#include "support/tasks.h"

#include <errno.h>

TASK(sleeps_in_turn)
{
	weir_time start = weir_now();
	weir_time total = 0;

	for (int i = 1; i <= 4; i++) {
		total += i * WEIR_SECOND;
		assert_int_equal(weir_sleep(i * WEIR_SECOND), 0);
		assert_int_equal(weir_now() - start, total);
	}
	return 0;
}

TEST(chained_sleeps_add_up_exactly)
{
	run(sleeps_in_turn, NULL);
}

TASK(sleeps_a_century)
{
	weir_time century = INT64_C(100) * 365 * 24 * 3600 * WEIR_SECOND;
	weir_time start = weir_now();

	assert_int_equal(weir_sleep(century), 0);
	assert_int_equal(weir_now() - start, century);
	return 0;
}

TEST(a_century_passes_in_no_time_and_only_inside)
{
	weir_time before = weir_now();

	run(sleeps_a_century, NULL);
	assert_true(weir_now() - before < 60 * WEIR_SECOND);
}

struct sleeper {
	struct events *events;
	const char *name;
	weir_time duration;
};

TASK(sleeps)
{
	const struct sleeper *sleeper = arg;
	weir_time start = weir_now();

	assert_int_equal(weir_sleep(sleeper->duration), 0);
	event(sleeper->events, sleeper->name);
	*value = weir_now() - start;
	return 0;
}

TASK(sleeps_concurrently)
{
	struct sleeper sleepers[] = {
		{ arg, "1s", WEIR_SECOND },           { arg, "3s", 3 * WEIR_SECOND },
		{ arg, "2s", 2 * WEIR_SECOND },       { arg, "1s-again", WEIR_SECOND },
		{ arg, "2s-again", 2 * WEIR_SECOND },
	};
	struct weir_future *tasks[5];
	intptr_t took[5];

	for (int i = 0; i < 5; i++)
		tasks[i] = spawn(sleeps, &sleepers[i]);
	assert_int_equal(weir_gather(tasks, 5, WEIR_NEVER, took), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(took[i], sleepers[i].duration);
	drop(tasks, 5);
	return 0;
}

TEST(sleepers_wake_in_the_order_of_time_and_equals_in_their_own)
{
	struct events events = { "" };

	run(sleeps_concurrently, &events);
	assert_events(&events, "1s 1s-again 2s 2s-again 3s ");
}

TASK(keeps_time_standing_still)
{
	struct events events = { "" };
	struct sleeper sleeper = { &events, "slept", 1 };
	struct weir_future *task = spawn(sleeps, &sleeper);
	weir_time start = weir_now();

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(weir_yield(), 0);
		assert_int_equal(weir_now(), start);
	}
	assert_events(&events, "");
	assert_int_equal(value_of(task), 1);
	return 0;
}

TEST(the_clock_does_not_move_while_anybody_can_run)
{
	run(keeps_time_standing_still, NULL);
}

TASK(notes)
{
	event(arg, "other");
	return 0;
}

TASK(waits_for_the_past)
{
	static const weir_time pasts[] = { INT64_MIN, -1, 0, 1 };
	weir_time start = weir_now();

	for (int i = 0; i < 4; i++) {
		struct weir_future *other = spawn(notes, arg);

		/* It only lets the others run. */
		assert_int_equal(weir_sleep_until(pasts[i]), 0);
		event(arg, "self");
		weir_future_unref(other);
	}
	assert_int_equal(weir_sleep_until(weir_now()), 0);
	assert_int_equal(weir_sleep(0), 0);
	assert_int_equal(weir_now(), start);
	return 0;
}

TEST(a_past_time_only_lets_others_run)
{
	struct events events = { "" };

	run(waits_for_the_past, &events);
	assert_events(&events, "other self other self other self other self ");
}

TASK(has_deadlines)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_future *future = promise();
	weir_time start = weir_now();

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, start + 5), -ETIMEDOUT);
	assert_int_equal(weir_now(), start + 5);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, start), -ETIMEDOUT);
	assert_int_equal(weir_wait(future, start + 10, NULL), -ETIMEDOUT);
	assert_int_equal(weir_now(), start + 10);
	assert_permits(&sem, 1, 1, 0);
	assert_int_equal(stats_of(&sem).timed_out, 2);
	weir_future_unref(future);
	return 0;
}

TEST(deadlines_pass_on_the_tasks_own_clock_P9)
{
	run(has_deadlines, NULL);
}

TASK(releases_later)
{
	assert_int_equal(weir_sleep(WEIR_SECOND), 0);
	return weir_sem_release(arg, 1);
}

TASK(is_granted_at_the_deadline)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_future *releaser = spawn(releases_later, &sem);
	weir_time deadline = weir_after(WEIR_SECOND);

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_yield(), 0);
	/* Both timers fire at once. The wait is over by then, but the releaser runs first and
	 * grants it: what was granted is kept. */
	assert_int_equal(weir_sem_acquire_until(&sem, 1, deadline), 0);
	assert_permits(&sem, 1, 1, 0);
	assert_int_equal(stats_of(&sem).timed_out, 0);
	return join(releaser, NULL);
}

TEST(a_grant_at_the_very_deadline_is_kept_CHECKLIST_5)
{
	run(is_granted_at_the_deadline, NULL);
}

TASK(sleeps_for_real)
{
	for (int i = 0; i < 3; i++) {
		weir_time time = weir_after(2 * WEIR_MS);

		assert_int_equal(weir_sleep_until(time), 0);
		assert_true(weir_now() >= time);
	}
	return 0;
}

TEST(on_the_real_clock_nobody_wakes_early_P9)
{
	weir_time time = weir_after(2 * WEIR_MS);

	run_on(WEIR_CLOCK_REAL, sleeps_for_real, NULL);
	/* A thread may sleep, too. */
	assert_int_equal(weir_sleep_until(time), 0);
	assert_int_equal(weir_sleep(WEIR_MS), 0);
	assert_true(weir_now() >= time + WEIR_MS);
	assert_int_equal(weir_sleep(0), 0);
}

TASK(yields_until_told)
{
	while (!*(volatile bool *)arg)
		assert_int_equal(weir_yield(), 0);
	return 0;
}

TASK(sleeps_beside_a_busy_task)
{
	bool over = false;
	struct weir_future *busy = spawn(yields_until_told, &over);

	assert_int_equal(weir_sleep(WEIR_MS), 0);
	over = true;
	return join(busy, NULL);
}

TEST(timers_fire_although_somebody_is_always_ready)
{
	run_on(WEIR_CLOCK_REAL, sleeps_beside_a_busy_task, NULL);
}

TASK(waits_for_statistics)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_future *releaser;

	/* Hours on the virtual clock, no time at all on the one that counts. */
	assert_int_equal(weir_sleep(1000000 * WEIR_SECOND), 0);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	releaser = spawn(releases_later, &sem);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(stats_of(&sem).granted_after_wait, 1);
	/* How long a wait took is measured in real time, for people. */
	assert_true(stats_of(&sem).wait_total < 10 * WEIR_SECOND);
	return join(releaser, NULL);
}

TEST(statistics_are_in_real_time)
{
	run(waits_for_statistics, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chained_sleeps_add_up_exactly),
		cmocka_unit_test(a_century_passes_in_no_time_and_only_inside),
		cmocka_unit_test(sleepers_wake_in_the_order_of_time_and_equals_in_their_own),
		cmocka_unit_test(the_clock_does_not_move_while_anybody_can_run),
		cmocka_unit_test(a_past_time_only_lets_others_run),
		cmocka_unit_test(deadlines_pass_on_the_tasks_own_clock_P9),
		cmocka_unit_test(a_grant_at_the_very_deadline_is_kept_CHECKLIST_5),
		cmocka_unit_test(on_the_real_clock_nobody_wakes_early_P9),
		cmocka_unit_test(timers_fire_although_somebody_is_always_ready),
		cmocka_unit_test(statistics_are_in_real_time),
	};

	return RUN_TESTS(tests);
}

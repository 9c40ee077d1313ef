/* task: noticing that nothing can happen any more. BEHAVIOURS 15 and 21 to 27. */
#include "support/acquirer.h"
#include "support/sanitizers.h"
#include "support/tasks.h"

#include <errno.h>

struct alarm {
	char report[2048];
	int calls;
};

static void keep_report(const char *report, void *arg)
{
	struct alarm *alarm = arg;

	alarm->calls++;
	(void)snprintf(alarm->report, sizeof(alarm->report), "%s", report);
}

static int run_watched(weir_task_fn *root, void *arg, struct alarm *alarm)
{
	struct weir_run_config config = { .clock = WEIR_CLOCK_VIRTUAL,
					  .deadlock = keep_report,
					  .deadlock_arg = alarm,
					  .alone = true };

	*alarm = (struct alarm){ .calls = 0 };
	return weir_run(root, arg, &config);
}

TASK(acquires)
{
	int result;

	assert_int_equal(weir_task_name("waiter"), 0);
	result = weir_sem_acquire(arg, 1);
	assert_int_equal(result, -EDEADLK);
	return result;
}

TASK(acquires_twice)
{
	struct weir_sem *sem = arg;
	struct weir_future *tasks[] = { spawn(acquires, sem), spawn(acquires, sem) };

	assert_int_equal(weir_task_name("root"), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), -EDEADLK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(join(tasks[i], NULL), -EDEADLK);
	/* The waits are over and the holder still holds. */
	assert_permits(sem, 1, 1, 0);
	return weir_sem_release(sem, 1);
}

TEST(a_double_acquire_is_reported_with_all_who_wait_BEHAVIOURS_15)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct alarm alarm;
	char name[64];

	assert_int_equal(run_watched(acquires_twice, &sem, &alarm), 0);
	assert_int_equal(alarm.calls, 1);
	assert_contains(alarm.report, "deadlock: all 3 tasks wait");
	assert_contains(alarm.report, "task 1 \"root\", started at ");
	assert_contains(alarm.report, "task 2 \"waiter\", started at ");
	assert_contains(alarm.report, "task 3 \"waiter\", started at ");
	(void)snprintf(name, sizeof(name), "semaphore %p: 1 of 1 held, 3 waiting", (void *)&sem);
	assert_contains(alarm.report, name);
}

TASK(waits_for_nobody)
{
	return weir_wait(arg, WEIR_NEVER, NULL);
}

TEST(a_promise_that_nobody_completes_is_named_BEHAVIOURS_21)
{
	struct weir_future *future = promise();
	struct alarm alarm;
	char name[64];

	assert_int_equal(run_watched(waits_for_nobody, future, &alarm), -EDEADLK);
	(void)snprintf(name, sizeof(name), "waits for promise %p", (void *)future);
	assert_contains(alarm.report, name);
	weir_future_unref(future);
}

TEST(without_a_function_for_the_report_the_waits_fail_all_the_same)
{
	struct weir_future *future = promise();
	struct weir_run_config config = { .alone = true };

	assert_int_equal(weir_run(waits_for_nobody, future, &config), -EDEADLK);
	weir_future_unref(future);
}

/* Two tasks, each with the permit that the other one wants. */
struct cycle {
	struct weir_sem a;
	struct weir_sem b;
	struct weir_future *idle;
};

TASK(takes_a_then_b)
{
	struct cycle *cycle = arg;
	int result;

	assert_int_equal(weir_sem_acquire(&cycle->a, 1), 0);
	assert_int_equal(weir_yield(), 0);
	result = weir_sem_acquire(&cycle->b, 1);
	assert_int_equal(weir_sem_release(&cycle->a, 1), 0);
	return result;
}

TASK(takes_b_then_a)
{
	struct cycle *cycle = arg;
	int result;

	assert_int_equal(weir_sem_acquire(&cycle->b, 1), 0);
	assert_int_equal(weir_yield(), 0);
	result = weir_sem_acquire(&cycle->a, 1);
	if (result == 0)
		assert_int_equal(weir_sem_release(&cycle->a, 1), 0);
	assert_int_equal(weir_sem_release(&cycle->b, 1), 0);
	return result;
}

TASK(runs_a_cycle)
{
	struct cycle *cycle = arg;
	struct weir_future *tasks[] = {
		spawn(takes_a_then_b, cycle),
		spawn(takes_b_then_a, cycle),
		/* Has nothing to do with it, and waits, too. */
		spawn(waits_for_nobody, cycle->idle),
	};

	/* Of one that failed; the root itself is told of nothing. */
	assert_int_equal(weir_gather(tasks, 3, WEIR_NEVER, NULL), -EDEADLK);
	/* The first to be told backs off, and what it releases is granted to the second in time. */
	assert_int_equal(join(tasks[0], NULL), -EDEADLK);
	assert_int_equal(join(tasks[1], NULL), 0);
	assert_int_equal(join(tasks[2], NULL), -EDEADLK);
	return 0;
}

TEST(a_cycle_is_noticed_beside_an_idle_listener_BEHAVIOURS_22_25)
{
	struct cycle cycle = { .a = WEIR_SEM_INIT(1), .b = WEIR_SEM_INIT(1), .idle = promise() };
	struct alarm alarm;

	assert_int_equal(run_watched(runs_a_cycle, &cycle, &alarm), 0);
	assert_int_equal(alarm.calls, 1);
	assert_contains(alarm.report, "deadlock: all 4 tasks wait");
	assert_permits(&cycle.a, 1, 0, 0);
	assert_permits(&cycle.b, 1, 0, 0);
	weir_future_unref(cycle.idle);
}

TASK(sleeps_first)
{
	assert_int_equal(weir_sleep(3600 * WEIR_SECOND), 0);
	return weir_wait(arg, WEIR_NEVER, NULL);
}

TEST(behind_a_wait_that_ends_it_is_noticed_BEHAVIOURS_23)
{
	struct weir_future *future = promise();
	struct alarm alarm;

	assert_int_equal(run_watched(sleeps_first, future, &alarm), -EDEADLK);
	assert_int_equal(alarm.calls, 1);
	weir_future_unref(future);
}

TASK(waits_until)
{
	return weir_wait(arg, weir_after(3600 * WEIR_SECOND), NULL);
}

TEST(a_wait_with_a_deadline_is_no_deadlock)
{
	struct weir_future *future = promise();
	struct alarm alarm;

	assert_int_equal(run_watched(waits_until, future, &alarm), -ETIMEDOUT);
	assert_int_equal(alarm.calls, 0);
	weir_future_unref(future);
}

TASK(releases_after_a_while)
{
	for (int i = 0; i < 1000; i++)
		assert_int_equal(weir_yield(), 0);
	return weir_sem_release(arg, 1);
}

TASK(is_saved)
{
	struct weir_sem *sem = arg;
	struct weir_future *saviour = spawn(releases_after_a_while, sem);

	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	return join(saviour, NULL);
}

TEST(while_somebody_can_run_there_is_no_alarm_BEHAVIOURS_26)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct alarm alarm;

	assert_int_equal(run_watched(is_saved, &sem, &alarm), 0);
	assert_int_equal(alarm.calls, 0);
}

static void *complete_later(void *argument)
{
	assert_int_equal(weir_sleep(5 * WEIR_MS), 0);
	assert_int_equal(weir_complete(argument, 7), 0);
	return NULL;
}

struct outside {
	struct weir_sem sem;
	struct events events;
};

TASK(waits_behind_the_holder)
{
	struct outside *outside = arg;
	int result = weir_sem_acquire(&outside->sem, 1);

	event(&outside->events, "second");
	return result;
}

TASK(holds_and_waits_for_a_thread)
{
	struct outside *outside = arg;
	struct weir_future *future = promise();
	struct weir_future *task = spawn(waits_behind_the_holder, outside);
	pthread_t thread = start_thread(complete_later, future);
	intptr_t seen = 0;

	assert_int_equal(weir_sem_acquire(&outside->sem, 1), 0);
	assert_int_equal(weir_wait(future, WEIR_NEVER, &seen), 0);
	assert_int_equal(seen, 7);
	event(&outside->events, "first");
	assert_int_equal(weir_sem_release(&outside->sem, 1), 0);
	assert_int_equal(join(task, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	weir_future_unref(future);
	return 0;
}

TEST(while_another_thread_lives_there_is_no_alarm_BEHAVIOURS_24)
{
	/* Often: the thread may be gone by the time that threads are counted. */
	for (int i = 0; i < 20; i++) {
		struct outside outside = { .sem = WEIR_SEM_INIT(1) };
		struct alarm alarm = { .calls = 0 };
		struct weir_run_config config = { .deadlock = keep_report, .deadlock_arg = &alarm };

		assert_int_equal(weir_run(holds_and_waits_for_a_thread, &outside, &config), 0);
		assert_int_equal(alarm.calls, 0);
		assert_events(&outside.events, "first second ");
	}
}

static void *leave_without_a_word(void *argument)
{
	(void)weir_sleep(*(weir_time *)argument);
	return NULL;
}

TASK(is_left_alone)
{
	struct weir_future *future = promise();
	pthread_t thread = start_thread(leave_without_a_word, arg);
	int result;

	/* Joined, a thread may still be on its way out; not joined, it is still there for a while.
	 */
	if (*(weir_time *)arg == 0)
		assert_int_equal(pthread_join(thread, NULL), 0);
	result = weir_wait(future, WEIR_NEVER, NULL);
	if (*(weir_time *)arg > 0)
		assert_int_equal(pthread_join(thread, NULL), 0);
	weir_future_unref(future);
	return result;
}

TEST(when_the_last_other_thread_has_gone_the_alarm_is_raised)
{
	/* ThreadSanitizer has a thread of its own. */
	if (UNDER_TSAN)
		skip();
	for (int i = 0; i < 20; i++) {
		weir_time stays = i % 2 * 5 * WEIR_MS;

		assert_int_equal(weir_run(is_left_alone, &stays, NULL), -EDEADLK);
	}
}

/* BEHAVIOURS 27: that others could help is not believed when the caller says that nobody will. */
TASK(trusts_its_word)
{
	struct weir_future *future = promise();
	int result = weir_wait(future, WEIR_NEVER, NULL);

	weir_future_unref(future);
	return result;
}

static void *wait_for_end(void *argument)
{
	(void)weir_wait(argument, WEIR_NEVER, NULL);
	return NULL;
}

TEST(tasks_that_are_on_their_own_are_alarmed_beside_threads_BEHAVIOURS_27)
{
	struct weir_future *end = promise();
	pthread_t bystander = start_thread(wait_for_end, end);
	struct alarm alarm;

	assert_int_equal(run_watched(trusts_its_word, NULL, &alarm), -EDEADLK);
	assert_int_equal(alarm.calls, 1);
	assert_int_equal(weir_complete(end, 0), 0);
	assert_int_equal(pthread_join(bystander, NULL), 0);
	weir_future_unref(end);
}

TASK(waits_for_each_other)
{
	struct weir_future **other = arg;

	return weir_wait(*other, WEIR_NEVER, NULL);
}

TASK(makes_two_wait_for_each_other)
{
	struct weir_future *tasks[2];

	tasks[0] = spawn(waits_for_each_other, &tasks[1]);
	tasks[1] = spawn(waits_for_each_other, &tasks[0]);
	assert_int_equal(weir_gather(tasks, 2, WEIR_NEVER, NULL), -EDEADLK);
	assert_int_equal(weir_gather(tasks, 2, WEIR_NEVER, NULL), -EDEADLK);
	drop(tasks, 2);
	return 0;
}

TEST(two_that_wait_for_each_other)
{
	struct alarm alarm;

	assert_int_equal(run_watched(makes_two_wait_for_each_other, NULL, &alarm), 0);
	assert_int_equal(alarm.calls, 1);
	assert_contains(alarm.report, "waits for task 2\n");
	assert_contains(alarm.report, "waits for task 3\n");
	assert_contains(alarm.report, "waits for task 2, task 3\n");
}

/* One of two that back off from each other's permit does, and tries again. */
TASK(backs_off)
{
	struct cycle *cycle = arg;
	int result = takes_a_then_b(cycle, value);

	assert_int_equal(result, -EDEADLK);
	assert_int_equal(weir_sem_acquire(&cycle->a, 1), 0);
	assert_int_equal(weir_sem_acquire(&cycle->b, 1), 0);
	assert_int_equal(weir_sem_release(&cycle->b, 1), 0);
	return weir_sem_release(&cycle->a, 1);
}

TASK(hears_of_no_deadlock)
{
	struct weir_future *tasks[] = { spawn(backs_off, arg), spawn(takes_b_then_a, arg) };

	assert_int_equal(weir_gather(tasks, 2, WEIR_NEVER, NULL), 0);
	drop(tasks, 2);
	return 0;
}

TEST(whoever_waits_for_tasks_hears_of_a_deadlock_from_them)
{
	struct cycle cycle = { .a = WEIR_SEM_INIT(1), .b = WEIR_SEM_INIT(1) };
	struct alarm alarm;

	assert_int_equal(run_watched(hears_of_no_deadlock, &cycle, &alarm), 0);
	assert_int_equal(alarm.calls, 1);
	assert_contains(alarm.report, "task 1, started at ");
	assert_contains(alarm.report, "  task 2, task 3\n    waited for by task 1\n");
}

TASK(completes_another_when_told)
{
	struct weir_future **futures = arg;

	assert_int_equal(weir_wait(futures[0], WEIR_NEVER, NULL), -EDEADLK);
	return weir_complete(futures[1], 7);
}

TASK(waits_for_the_other)
{
	struct weir_future **futures = arg;

	return weir_wait(futures[1], WEIR_NEVER, value);
}

TASK(is_saved_by_another)
{
	struct weir_future *told = spawn(completes_another_when_told, arg);
	struct weir_future *saved = spawn(waits_for_the_other, arg);

	assert_int_equal(value_of(saved), 7);
	return join(told, NULL);
}

TEST(a_wait_may_end_well_after_the_alarm)
{
	struct weir_future *futures[] = { promise(), promise() };
	struct alarm alarm;

	assert_int_equal(run_watched(is_saved_by_another, futures, &alarm), 0);
	assert_int_equal(alarm.calls, 1);
	drop(futures, 2);
}

static void wait_in_the_report(const char *report, void *arg)
{
	(void)report;
	assert_int_equal(weir_sleep(1), 0);
	assert_int_equal(weir_sem_acquire(arg, 1), 0);
	assert_int_equal(weir_yield(), -EINVAL);
	assert_null(weir_spawn(waits_for_nobody, NULL));
}

TEST(the_function_that_receives_the_report_is_no_task_and_may_wait)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_run_config config = { .deadlock = wait_in_the_report,
					  .deadlock_arg = &sem,
					  .alone = true };
	struct weir_future *future = promise();

	assert_int_equal(weir_run(waits_for_nobody, future, &config), -EDEADLK);
	assert_permits(&sem, 1, 1, 0);
	weir_future_unref(future);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_double_acquire_is_reported_with_all_who_wait_BEHAVIOURS_15),
		cmocka_unit_test(a_promise_that_nobody_completes_is_named_BEHAVIOURS_21),
		cmocka_unit_test(without_a_function_for_the_report_the_waits_fail_all_the_same),
		cmocka_unit_test(a_cycle_is_noticed_beside_an_idle_listener_BEHAVIOURS_22_25),
		cmocka_unit_test(behind_a_wait_that_ends_it_is_noticed_BEHAVIOURS_23),
		cmocka_unit_test(a_wait_with_a_deadline_is_no_deadlock),
		cmocka_unit_test(while_somebody_can_run_there_is_no_alarm_BEHAVIOURS_26),
		cmocka_unit_test(while_another_thread_lives_there_is_no_alarm_BEHAVIOURS_24),
		cmocka_unit_test(when_the_last_other_thread_has_gone_the_alarm_is_raised),
		cmocka_unit_test(
			tasks_that_are_on_their_own_are_alarmed_beside_threads_BEHAVIOURS_27),
		cmocka_unit_test(two_that_wait_for_each_other),
		cmocka_unit_test(whoever_waits_for_tasks_hears_of_a_deadlock_from_them),
		cmocka_unit_test(a_wait_may_end_well_after_the_alarm),
		cmocka_unit_test(the_function_that_receives_the_report_is_no_task_and_may_wait),
	};

	return RUN_TESTS(tests);
}

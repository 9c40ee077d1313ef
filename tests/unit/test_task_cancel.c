/* task: cancelling. BEHAVIOURS 37 and issue lines on finished, unstarted, self, twice. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>

TASK(sleeps_long)
{
	return weir_sleep(3600 * WEIR_SECOND);
}

TASK(cancels_a_sleeper)
{
	struct weir_future *task = spawn(sleeps_long, NULL);
	weir_time start = weir_now();

	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(join(task, NULL), -ECANCELED);
	assert_int_equal(weir_now(), start);
	return 0;
}

TEST(a_task_that_waits_is_told_at_once_BEHAVIOURS_37)
{
	run(cancels_a_sleeper, NULL);
}

struct waiter {
	struct weir_future *future;
	struct events events;
};

TASK(waits)
{
	struct waiter *waiter = arg;
	int result;

	event(&waiter->events, "waiting");
	result = weir_wait(waiter->future, WEIR_NEVER, NULL);
	if (result == 0)
		event(&waiter->events, "resumed");
	return result;
}

TASK(completes_after_the_cancel)
{
	struct waiter *waiter = arg;
	struct weir_future *task = spawn(waits, waiter);

	waiter->future = promise();
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(task), 0);
	/* The promise is completed before the task has run again, and after. */
	assert_int_equal(weir_complete(waiter->future, 1), 0);
	assert_int_equal(join(task, NULL), -ECANCELED);
	weir_future_unref(waiter->future);
	return 0;
}

TEST(a_cancelled_waiter_does_not_go_on_when_its_promise_completes_BEHAVIOURS_37)
{
	struct waiter waiter = { .events = { "" } };

	run(completes_after_the_cancel, &waiter);
	assert_events(&waiter.events, "waiting ");
}

TASK(completes_before_the_cancel)
{
	struct waiter *waiter = arg;
	struct weir_future *task = spawn(waits, waiter);

	waiter->future = promise();
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_complete(waiter->future, 1), 0);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(join(task, NULL), -ECANCELED);
	weir_future_unref(waiter->future);
	return 0;
}

TEST(a_cancel_overtakes_a_completion_that_was_not_noticed_yet)
{
	struct waiter waiter = { .events = { "" } };

	run(completes_before_the_cancel, &waiter);
	assert_events(&waiter.events, "waiting ");
}

TASK(says_started)
{
	event(arg, "started");
	return 0;
}

TASK(cancels_the_unstarted)
{
	struct weir_future *task = spawn(says_started, arg);

	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(join(task, NULL), -ECANCELED);
	return 0;
}

TEST(an_unstarted_task_never_starts)
{
	struct events events = { "" };

	run(cancels_the_unstarted, &events);
	assert_events(&events, "");
}

TASK(five)
{
	*value = 5;
	return 0;
}

TASK(cancels_the_finished)
{
	struct weir_future *task = spawn(five, NULL);

	assert_int_equal(weir_wait(task, WEIR_NEVER, NULL), 0);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(value_of(task), 5);
	return 0;
}

TEST(cancelling_what_has_finished_does_nothing_BEHAVIOURS_37)
{
	run(cancels_the_finished, NULL);
}

TASK(cancels_itself)
{
	struct weir_future *self = *(struct weir_future **)arg;
	struct weir_sem sem = WEIR_SEM_INIT(1);

	assert_int_equal(weir_cancel(self), 0);
	/* What need not wait goes on. */
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), -EAGAIN);
	/* What would wait is told, once. */
	assert_int_equal(weir_sem_acquire(&sem, 1), -ECANCELED);
	assert_permits(&sem, 1, 1, 0);
	assert_int_equal(weir_sleep(WEIR_SECOND), 0);

	assert_int_equal(weir_cancel(self), 0);
	assert_int_equal(weir_cancel(self), 0);
	assert_int_equal(weir_yield(), -ECANCELED);
	assert_int_equal(weir_yield(), 0);
	*value = 3;
	return 0;
}

TASK(runs_a_self_canceller)
{
	struct weir_future *task = NULL;

	task = spawn(cancels_itself, &task);
	assert_int_equal(value_of(task), 3);
	return 0;
}

TEST(a_task_may_cancel_itself_and_is_told_once)
{
	run(runs_a_self_canceller, NULL);
}

TASK(recovers)
{
	struct events *events = arg;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(weir_sleep(3600 * WEIR_SECOND), -ECANCELED);
		event(events, "told");
	}
	return 0;
}

TASK(cancels_again_and_again)
{
	struct weir_future *task = spawn(recovers, arg);

	for (int i = 0; i < 3; i++) {
		assert_int_equal(weir_yield(), 0);
		assert_int_equal(weir_cancel(task), 0);
		assert_int_equal(weir_cancel(task), 0);
	}
	assert_int_equal(join(task, NULL), 0);
	return 0;
}

TEST(each_cancel_is_delivered_once_and_a_second_before_that_is_the_same)
{
	struct events events = { "" };

	run(cancels_again_and_again, &events);
	assert_events(&events, "told told told ");
}

TASK(is_shielded)
{
	struct events *events = arg;

	assert_int_equal(weir_shield(true), 0);
	assert_int_equal(weir_shield(true), 0);
	assert_int_equal(weir_sleep(WEIR_SECOND), 0);
	event(events, "slept");
	assert_int_equal(weir_shield(false), 0);
	assert_int_equal(weir_yield(), 0);
	event(events, "yielded");
	assert_int_equal(weir_shield(false), 0);
	assert_int_equal(weir_sleep(WEIR_SECOND), -ECANCELED);
	event(events, "told");
	assert_int_equal(weir_sleep(WEIR_SECOND), 0);
	return 0;
}

TASK(cancels_the_shielded)
{
	struct weir_future *task = spawn(is_shielded, arg);

	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(task), 0);
	event(arg, "cancelled");
	assert_int_equal(join(task, NULL), 0);
	return 0;
}

TEST(a_shield_holds_a_cancel_back_and_nests)
{
	struct events events = { "" };

	run(cancels_the_shielded, &events);
	assert_events(&events, "cancelled slept yielded told ");
}

struct cleanup {
	struct weir_sem sem;
	bool clean;
};

TASK(cleans_up_shielded)
{
	struct cleanup *cleanup = arg;
	int result = weir_sleep(3600 * WEIR_SECOND);

	assert_int_equal(weir_shield(true), 0);
	WEIR_HOLD(&cleanup->sem, 1) {
		assert_int_equal(weir_sleep(WEIR_SECOND), 0);
		cleanup->clean = true;
	}
	assert_int_equal(weir_shield(false), 0);
	return result;
}

TASK(cancels_twice_during_cleanup)
{
	struct cleanup *cleanup = arg;
	struct weir_future *task = spawn(cleans_up_shielded, cleanup);

	assert_int_equal(weir_sem_acquire(&cleanup->sem, 1), 0);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(stats_of(&cleanup->sem).waiting, 1);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(weir_sem_release(&cleanup->sem, 1), 0);
	assert_int_equal(join(task, NULL), -ECANCELED);
	return 0;
}

TEST(cleanup_that_must_wait_does_so_shielded)
{
	struct cleanup cleanup = { .sem = WEIR_SEM_INIT(1) };

	run(cancels_twice_during_cleanup, &cleanup);
	assert_true(cleanup.clean);
	assert_permits(&cleanup.sem, 1, 0, 0);
}

/* After a grant that came too late the task has waited undisturbed for a moment. */
TASK(is_cancelled_after_a_race)
{
	struct weir_sem *sem = arg;

	assert_int_equal(weir_sem_acquire(sem, 1), -ECANCELED);
	assert_int_equal(weir_yield(), -ECANCELED);
	return 0;
}

TASK(cancels_after_a_race)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_future *task = spawn(is_cancelled_after_a_race, &sem);

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(task), 0);
	assert_permits(&sem, 1, 0, 0);
	return join(task, NULL);
}

TEST(a_yield_is_told_as_well)
{
	run(cancels_after_a_race, NULL);
}

static void *cancel(void *argument)
{
	assert_int_equal(weir_cancel(argument), 0);
	return NULL;
}

static void cancel_in_thread(struct weir_future *future)
{
	pthread_t thread = start_thread(cancel, future);

	assert_int_equal(pthread_join(thread, NULL), 0);
}

TASK(is_cancelled_by_threads)
{
	struct weir_future *task = spawn(recovers, arg);

	for (int i = 0; i < 3; i++) {
		assert_int_equal(weir_yield(), 0);
		/* The first goes its way before the second comes. */
		cancel_in_thread(task);
		cancel_in_thread(task);
		assert_int_equal(weir_sleep(1), 0);
	}
	assert_int_equal(join(task, NULL), 0);
	return 0;
}

TEST(each_cancel_of_another_thread_is_delivered_once)
{
	struct events events = { "" };

	run(is_cancelled_by_threads, &events);
	assert_events(&events, "told told told ");
}

TASK(survives_a_cancel)
{
	assert_int_equal(weir_sleep(3600 * WEIR_SECOND), -ECANCELED);
	event(arg, "survived");
	assert_int_equal(weir_sleep_until(WEIR_NEVER), -ECANCELED);
	event(arg, "ended");
	return 0;
}

TASK(leaves_a_survivor)
{
	struct weir_future *task = spawn(survives_a_cancel, arg);

	assert_int_equal(weir_yield(), 0);
	cancel_in_thread(task);
	assert_int_equal(weir_sleep(1), 0);
	weir_future_unref(task);
	return 0;
}

TEST(a_task_that_survived_another_threads_cancel_ends_with_the_run)
{
	struct events events = { "" };
	struct weir_run_config config = { .clock = WEIR_CLOCK_VIRTUAL };

	assert_int_equal(weir_run(leaves_a_survivor, &events, &config), 0);
	assert_events(&events, "survived ended ");
}

TASK(ends_as_cancelled)
{
	return -ECANCELED;
}

/* -ECANCELED may be what the other one ended with. */
TASK(asks_whose_it_was)
{
	assert_false(weir_cancelled());
	assert_int_equal(join(spawn(ends_as_cancelled, NULL), NULL), -ECANCELED);
	assert_false(weir_cancelled());
	assert_int_equal(weir_shield(true), 0);
	event(arg, "waits");
	assert_int_equal(weir_yield(), 0);
	assert_true(weir_cancelled());
	assert_int_equal(weir_shield(false), 0);
	assert_int_equal(weir_yield(), -ECANCELED);
	assert_true(weir_cancelled());
	assert_int_equal(weir_yield(), 0);
	return 0;
}

TASK(asks_at_the_end)
{
	assert_false(weir_cancelled());
	assert_int_equal(weir_sleep_until(WEIR_NEVER), -ECANCELED);
	event(arg, weir_cancelled() ? "end" : "none");
	return 0;
}

TASK(cancels_one_that_asks)
{
	struct events *events = arg;
	struct weir_future *task = spawn(asks_whose_it_was, events);

	while (strcmp(events->text, "waits ") != 0)
		assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(join(task, NULL), 0);
	assert_false(weir_cancelled());
	weir_future_unref(spawn(asks_at_the_end, events));
	return weir_yield();
}

TEST(a_task_can_ask_whether_it_was_the_one)
{
	struct weir_run_config config = { .clock = WEIR_CLOCK_VIRTUAL };
	struct events events = { "" };

	assert_false(weir_cancelled());
	assert_int_equal(weir_run(cancels_one_that_asks, &events, &config), 0);
	assert_events(&events, "waits end ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_waits_is_told_at_once_BEHAVIOURS_37),
		cmocka_unit_test(
			a_cancelled_waiter_does_not_go_on_when_its_promise_completes_BEHAVIOURS_37),
		cmocka_unit_test(a_cancel_overtakes_a_completion_that_was_not_noticed_yet),
		cmocka_unit_test(an_unstarted_task_never_starts),
		cmocka_unit_test(cancelling_what_has_finished_does_nothing_BEHAVIOURS_37),
		cmocka_unit_test(a_task_may_cancel_itself_and_is_told_once),
		cmocka_unit_test(
			each_cancel_is_delivered_once_and_a_second_before_that_is_the_same),
		cmocka_unit_test(a_shield_holds_a_cancel_back_and_nests),
		cmocka_unit_test(cleanup_that_must_wait_does_so_shielded),
		cmocka_unit_test(a_yield_is_told_as_well),
		cmocka_unit_test(each_cancel_of_another_thread_is_delivered_once),
		cmocka_unit_test(a_task_that_survived_another_threads_cancel_ends_with_the_run),
		cmocka_unit_test(a_task_can_ask_whether_it_was_the_one),
	};

	return RUN_TESTS(tests);
}

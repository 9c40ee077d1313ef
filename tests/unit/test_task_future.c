/* task: promises, handles and results. BEHAVIOURS 38, 39 and 42. */
#include "support/tasks.h"

#include <errno.h>

TEST(a_promise_completed_first_is_there_when_it_is_waited_for_BEHAVIOURS_38)
{
	struct weir_future *future = promise();
	intptr_t value = 0;

	assert_false(weir_future_done(future));
	assert_int_equal(weir_complete(future, 42), 0);
	assert_true(weir_future_done(future));
	/* A thread may ask, too, and as often as it likes. */
	assert_int_equal(weir_wait(future, 0, &value), 0);
	assert_int_equal(value, 42);
	assert_int_equal(weir_wait(future, WEIR_NEVER, NULL), 0);
	weir_future_unref(future);
}

TEST(a_promise_that_failed_gives_its_error_and_no_value)
{
	struct weir_future *future = promise();
	intptr_t value = 1;

	assert_int_equal(weir_fail(future, -EIO), 0);
	assert_true(weir_future_done(future));
	assert_int_equal(weir_wait(future, WEIR_NEVER, &value), -EIO);
	assert_int_equal(value, 1);
	weir_future_unref(future);
}

TEST(nothing_is_a_value_too_BEHAVIOURS_38)
{
	struct weir_future *future = promise();
	intptr_t value = 1;

	assert_int_equal(weir_complete(future, 0), 0);
	assert_int_equal(weir_wait(future, 0, &value), 0);
	assert_int_equal(value, 0);
	weir_future_unref(future);
}

TEST(the_first_end_stays_BEHAVIOURS_39)
{
	struct weir_future *completed = promise();
	struct weir_future *failed = promise();
	struct weir_future *cancelled = promise();
	intptr_t value = 0;

	assert_int_equal(weir_complete(completed, 1), 0);
	assert_int_equal(weir_complete(completed, 2), -EALREADY);
	assert_int_equal(weir_fail(completed, -EIO), -EALREADY);
	assert_int_equal(weir_cancel(completed), 0);
	assert_int_equal(weir_wait(completed, 0, &value), 0);
	assert_int_equal(value, 1);

	assert_int_equal(weir_fail(failed, -EIO), 0);
	assert_int_equal(weir_fail(failed, -EPIPE), -EALREADY);
	assert_int_equal(weir_complete(failed, 3), -EALREADY);
	assert_int_equal(weir_wait(failed, 0, NULL), -EIO);

	assert_int_equal(weir_cancel(cancelled), 0);
	assert_int_equal(weir_cancel(cancelled), 0);
	assert_int_equal(weir_complete(cancelled, 4), -EALREADY);
	assert_int_equal(weir_wait(cancelled, 0, NULL), -ECANCELED);

	weir_future_unref(completed);
	weir_future_unref(failed);
	weir_future_unref(cancelled);
}

TEST(a_pending_promise_times_out_and_may_end_later)
{
	struct weir_future *future = promise();
	weir_time deadline = weir_after(2 * WEIR_MS);

	assert_int_equal(weir_wait(future, 0, NULL), -ETIMEDOUT);
	assert_int_equal(weir_wait(future, deadline, NULL), -ETIMEDOUT);
	assert_true(weir_now() >= deadline);
	assert_int_equal(weir_complete(future, 5), 0);
	assert_int_equal(value_of(future), 5);
}

struct exchange {
	struct weir_future *question;
	struct weir_future *answer;
};

TASK(answers)
{
	struct exchange *exchange = arg;
	intptr_t asked = 0;

	assert_int_equal(weir_wait(exchange->question, WEIR_NEVER, &asked), 0);
	return weir_complete(exchange->answer, asked + 1);
}

TASK(asks)
{
	struct exchange exchange = { promise(), promise() };
	struct weir_future *other = spawn(answers, &exchange);

	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_complete(exchange.question, 10), 0);
	assert_int_equal(value_of(exchange.answer), 11);
	assert_int_equal(join(other, NULL), 0);
	weir_future_unref(exchange.question);
	return 0;
}

TEST(promises_pass_values_between_tasks_BEHAVIOURS_38)
{
	run(asks, NULL);
}

struct listener {
	struct weir_future *future;
	struct events *events;
	const char *name;
};

TASK(listens)
{
	struct listener *listener = arg;
	int result = weir_wait(listener->future, WEIR_NEVER, value);

	event(listener->events, listener->name);
	return result;
}

TASK(wakes_three)
{
	struct weir_future *future = promise();
	struct listener listeners[] = {
		{ future, arg, "a" },
		{ future, arg, "b" },
		{ future, arg, "c" },
	};
	struct weir_future *tasks[3];
	intptr_t values[3];

	for (int i = 0; i < 3; i++)
		tasks[i] = spawn(listens, &listeners[i]);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_complete(future, 9), 0);
	event(arg, "completed");
	assert_int_equal(weir_gather(tasks, 3, WEIR_NEVER, values), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(values[i], 9);
	drop(tasks, 3);
	weir_future_unref(future);
	return 0;
}

TEST(all_who_wait_are_woken_in_order_and_the_completer_goes_on)
{
	struct events events = { "" };

	run(wakes_three, &events);
	assert_events(&events, "completed a b c ");
}

TASK(waits_for_the_first_of_three_to_leave)
{
	struct weir_future *future = promise();
	struct weir_future *tasks[3];
	struct events events = { "" };
	struct listener listener = { future, &events, "told" };

	for (int i = 0; i < 3; i++)
		tasks[i] = spawn(listens, &listener);
	assert_int_equal(weir_yield(), 0);
	/* From the middle, the end and the front of those who listen. */
	assert_int_equal(weir_cancel(tasks[(intptr_t)arg]), 0);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_complete(future, 1), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(join(tasks[i], NULL), i == (intptr_t)arg ? -ECANCELED : 0);
	assert_events(&events, "told told told ");
	weir_future_unref(future);
	return 0;
}

TEST(whoever_leaves_does_not_disturb_the_others)
{
	for (intptr_t i = 0; i < 3; i++)
		run(waits_for_the_first_of_three_to_leave, (void *)i);
}

TASK(nine)
{
	*value = 9;
	return 0;
}

TASK(drops_handles)
{
	struct weir_future *task = spawn(nine, NULL);
	struct weir_future *second = weir_future_ref(task);

	assert_ptr_equal(second, task);
	weir_future_unref(task);
	assert_int_equal(value_of(second), 9);

	/* A task whose handle is gone runs all the same. */
	weir_future_unref(spawn(nine, NULL));
	weir_future_unref(NULL);
	return weir_yield();
}

TEST(handles_are_counted_BEHAVIOURS_42)
{
	run(drops_handles, NULL);
}

/* A handle that somebody waits for, though it is not the waiter's. */
struct lent {
	struct weir_future *future;
	struct weir_future *both[2];
	intptr_t value;
};

TASK(waits_for_what_is_lent)
{
	struct lent *lent = arg;

	return weir_wait(lent->future, weir_after(WEIR_SECOND), &lent->value);
}

TASK(gathers_what_is_lent)
{
	struct lent *lent = arg;

	return weir_gather(lent->both, 2, weir_after(WEIR_SECOND), NULL);
}

TASK(races_what_is_lent)
{
	struct lent *lent = arg;

	return weir_race(lent->both, 2, weir_after(WEIR_SECOND), NULL, &lent->value);
}

TASK(drops_what_others_wait_for)
{
	static weir_task_fn *const waits[] = { waits_for_what_is_lent, gathers_what_is_lent,
					       races_what_is_lent };

	for (size_t i = 0; i < 3; i++) {
		struct lent lent = { .future = promise() };
		struct weir_future *waiter = spawn(waits[i], &lent);

		lent.both[0] = lent.both[1] = lent.future;
		assert_int_equal(weir_yield(), 0);
		weir_future_unref(lent.future);
		assert_int_equal(join(waiter, NULL), -ETIMEDOUT);
	}
	return 0;
}

TEST(the_last_handle_may_go_while_others_wait)
{
	run(drops_what_others_wait_for, NULL);
}

TASK(ends_after_a_yield)
{
	assert_int_equal(weir_yield(), 0);
	return nine(arg, value);
}

TASK(drops_a_task_that_another_waits_for)
{
	struct lent lent = { .value = 0 };
	struct weir_future *waiter;

	lent.future = spawn(ends_after_a_yield, NULL);
	waiter = spawn(waits_for_what_is_lent, &lent);
	assert_int_equal(weir_yield(), 0);
	weir_future_unref(lent.future);
	assert_int_equal(join(waiter, NULL), 0);
	assert_int_equal(lent.value, 9);
	return 0;
}

TEST(a_task_whose_last_handle_went_wakes_those_who_wait_for_it)
{
	run(drops_a_task_that_another_waits_for, NULL);
}

TEST(a_thousand_handles_on_one_pending_promise_BEHAVIOURS_42)
{
	struct weir_future *future = promise();

	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(weir_future_ref(future), future);
	for (int i = 0; i < 1000; i++)
		weir_future_unref(future);
	assert_int_equal(weir_complete(future, 1), 0);
	assert_int_equal(value_of(future), 1);
}

TASK(fails_by_itself)
{
	*value = 5;
	return -ENOENT;
}

TASK(waits_for_a_failure)
{
	intptr_t seen = 1;

	assert_int_equal(join(spawn(fails_by_itself, NULL), &seen), -ENOENT);
	assert_int_equal(seen, 1);
	return 0;
}

TEST(a_failed_task_gives_its_own_error_BEHAVIOURS_32)
{
	run(waits_for_a_failure, NULL);
}

/* BEHAVIOURS 43 speaks of interrupts that no waiter may swallow. In C that is an error that is
 * returned on: each level decides. */
TASK(passes_on)
{
	return join(spawn(fails_by_itself, NULL), NULL);
}

TEST(an_error_leaves_the_run_when_it_is_passed_on_BEHAVIOURS_43)
{
	assert_int_equal(weir_run(passes_on, NULL, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_promise_completed_first_is_there_when_it_is_waited_for_BEHAVIOURS_38),
		cmocka_unit_test(a_promise_that_failed_gives_its_error_and_no_value),
		cmocka_unit_test(nothing_is_a_value_too_BEHAVIOURS_38),
		cmocka_unit_test(the_first_end_stays_BEHAVIOURS_39),
		cmocka_unit_test(a_pending_promise_times_out_and_may_end_later),
		cmocka_unit_test(promises_pass_values_between_tasks_BEHAVIOURS_38),
		cmocka_unit_test(all_who_wait_are_woken_in_order_and_the_completer_goes_on),
		cmocka_unit_test(whoever_leaves_does_not_disturb_the_others),
		cmocka_unit_test(handles_are_counted_BEHAVIOURS_42),
		cmocka_unit_test(the_last_handle_may_go_while_others_wait),
		cmocka_unit_test(a_task_whose_last_handle_went_wakes_those_who_wait_for_it),
		cmocka_unit_test(a_thousand_handles_on_one_pending_promise_BEHAVIOURS_42),
		cmocka_unit_test(a_failed_task_gives_its_own_error_BEHAVIOURS_32),
		cmocka_unit_test(an_error_leaves_the_run_when_it_is_passed_on_BEHAVIOURS_43),
	};

	return RUN_TESTS(tests);
}

/* model: waiting for promises and for tasks of other threads. */
#include "model/models-parts.h"

static void make_slot_and_promise(void)
{
	m_make_slots(1);
	m_promise(0, 1);
}

static void then_complete(int slot, int result)
{
	(void)slot;
	m_check(result == 0, "a wait failed");
	release();
	m_check(m_complete(0, 5) == 0, "a promise was completed before");
}

static void wait_async_and_complete(void)
{
	int result = m_async(0, 1, then_complete);

	if (result == 0)
		then_complete(0, 0);
}

TASK(root_that_waits_for_promise)
{
	intptr_t got = 0;

	m_check(m_wait(0, WEIR_NEVER, &got) == 0 && got == 5, "a promise was broken");
	m_drop(0);
	return 0;
}

RUN(run_for_promise, root_that_waits_for_promise)

static void make_promise_for_two(void)
{
	m_promise(0, 2);
}

static void make_promise_for_three(void)
{
	m_promise(0, 3);
}

static void complete_and_drop(void)
{
	m_check(m_complete(0, 5) == 0, "a promise was completed before");
	m_drop(0);
}

/* Of those who end a promise one is right. */
static void end_once(int result)
{
	m_check(result == 0 || result == -EALREADY, "a promise could not be ended");
	if (result == 0)
		m_check(WEIR__ADD(m_word(0), 1, __ATOMIC_RELAXED) == 1, "a promise ended twice");
}

static void complete_once(void)
{
	end_once(m_complete(0, 5));
	m_drop(0);
}

static void fail_once(void)
{
	end_once(m_fail(0, -EIO));
	m_drop(0);
}

TASK(root_that_waits_for_either)
{
	intptr_t got = 0;
	int result = m_wait(0, WEIR_NEVER, &got);

	m_check(result == 0 ? got == 5 : result == -EIO && got == 0, "a promise was broken");
	m_drop(0);
	return 0;
}

RUN(run_for_either, root_that_waits_for_either)

TASK(root_that_waits_a_while)
{
	intptr_t got = 0;
	int result = m_wait(0, 10, &got);

	m_check(result == 0 ? got == 5 : result == -ETIMEDOUT && got == 0, "a promise was broken");
	m_drop(0);
	return 0;
}

RUN(run_for_promise_a_while, root_that_waits_a_while)

TASK(task_wait_for_promise)
{
	return m_wait(0, WEIR_NEVER, value);
}

TASK(root_that_cancels_a_wait)
{
	intptr_t got = 0;
	int result;

	m_spawn(1, task_wait_for_promise);
	(void)m_yield();
	m_cancel_task(1);
	result = m_wait(1, WEIR_NEVER, &got);
	m_check(result == 0 ? got == 5 : result == -ECANCELED, "a wait failed");
	m_drop(1);
	m_drop(0);
	return 0;
}

RUN(run_and_cancel_a_wait, root_that_cancels_a_wait)

static void wait_as_thread(void)
{
	intptr_t got = 0;

	m_check(m_wait(0, WEIR_NEVER, &got) == 0 && got == 5, "a promise was broken");
	m_drop(0);
}

static void drop(void)
{
	m_drop(0);
}

static void make_two_promises(void)
{
	m_promise(0, 2);
	m_promise(1, 2);
}

static void complete_second_and_drop(void)
{
	m_check(m_complete(1, 5) == 0, "a promise was completed before");
	m_drop(1);
}

static void fail_second_and_drop(void)
{
	m_check(m_fail(1, -EIO) == 0, "a promise was completed before");
	m_drop(1);
}

TASK(root_that_races_promises)
{
	size_t winner;

	m_check(m_race(2, WEIR_NEVER, &winner) == 0 && winner < 2, "a race failed");
	m_drop(0);
	m_drop(1);
	return 0;
}

RUN(run_race_of_promises, root_that_races_promises)

static void complete_one_by_one(void)
{
	complete_and_drop();
	complete_second_and_drop();
}

TASK(root_that_races_in_order)
{
	size_t winner;

	m_check(m_race(2, WEIR_NEVER, &winner) == 0 && winner == 0, "a race was won by the second");
	m_drop(0);
	m_drop(1);
	return 0;
}

RUN(run_race_in_order, root_that_races_in_order)

TASK(root_that_gathers_promises)
{
	m_check(m_gather(2, WEIR_NEVER, NULL) == -EIO, "a failure was not gathered");
	m_drop(0);
	m_drop(1);
	return 0;
}

RUN(run_gather_of_promises, root_that_gathers_promises)

TASK(task_five)
{
	*value = 5;
	return 0;
}

TASK(root_of_five)
{
	m_spawn(0, task_five);
	m_hand_over(0);
	(void)m_yield();
	m_drop(0);
	return 0;
}

RUN(run_five, root_of_five)

/* It may end before it began, with its scheduler. */
static void wait_for_five(weir_time delay)
{
	intptr_t got = 0;
	int result;

	if (!m_take_over(0))
		return;
	result = m_wait(0, delay, &got);
	m_check(result == 0 ? got == 5 : result == -ECANCELED || result == -ETIMEDOUT,
		"a wait failed");
	m_drop(0);
}

TASK(task_wait_for_five)
{
	wait_for_five(10);
	return 0;
}

RUN(run_and_wait_for_five, task_wait_for_five)

static void wait_for_five_as_thread(void)
{
	wait_for_five(WEIR_NEVER);
}

TASK(task_sleep)
{
	int result = m_sleep(10);

	m_check(result == 0 || result == -ECANCELED, "a sleep failed");
	return result;
}

TASK(root_of_sleeper)
{
	int result;

	m_spawn(0, task_sleep);
	m_hand_over(0);
	result = m_wait(0, 20, NULL);
	m_check(result == 0 || result == -ECANCELED || result == -ETIMEDOUT, "a wait failed");
	m_drop(0);
	return 0;
}

RUN(run_sleeper, root_of_sleeper)

static const struct model models[] = {
	{
		.name = "callback_completes_promise",
		.promise = "CHECKLIST 13: a wake function that wakes a task",
		.permits = 1,
		.held = 1,
		.prepare = make_slot_and_promise,
		.threads = { release, wait_async_and_complete, run_for_promise },
	},
	{
		.name = "promise_vs_deadline",
		.promise = "P5 P6 P9: completed from another thread while the wait times out",
		.prepare = make_promise_for_two,
		.threads = { complete_and_drop, run_for_promise_a_while },
		.surprises = 1,
	},
	{
		.name = "promise_vs_cancel",
		.promise = "P5 P6: the same while the waiting task is cancelled",
		.prepare = make_promise_for_two,
		.threads = { complete_and_drop, run_and_cancel_a_wait },
	},
	{
		.name = "promise_ends_once",
		.promise = "P5: of two who end it one is right",
		.prepare = make_promise_for_three,
		.threads = { complete_once, fail_once, run_for_either },
	},
	{
		.name = "promise_last_handle",
		.promise = "P6: freed once, by the last of three",
		.prepare = make_promise_for_three,
		.threads = { complete_and_drop, wait_as_thread, drop },
		.surprises = 1,
	},
	{
		.name = "race_of_promises",
		.promise = "P5 P6: two threads end what one task waits for",
		.prepare = make_two_promises,
		.threads = { complete_and_drop, complete_second_and_drop, run_race_of_promises },
	},
	{
		.name = "race_in_order",
		.promise = "P5: a race is won by the one that ended first",
		.prepare = make_two_promises,
		.threads = { complete_one_by_one, run_race_in_order },
		.surprises = 1,
	},
	{
		.name = "gather_fails_fast",
		.promise = "P5 P6: one fails while the other one is completed",
		.prepare = make_two_promises,
		.threads = { complete_and_drop, fail_second_and_drop, run_gather_of_promises },
	},
	{
		.name = "task_of_another_scheduler",
		.promise = "P5 P6 P9: a task waits for a task of another thread",
		.threads = { run_five, run_and_wait_for_five },
		.surprises = 1,
	},
	{
		.name = "thread_waits_for_task",
		.promise = "P5 P6: and so does a thread",
		.threads = { run_five, wait_for_five_as_thread },
		.surprises = 1,
	},
	{
		.name = "sleep_vs_cancel",
		.promise = "P5 P9: a sleeping task is cancelled from another thread",
		.threads = { cancel_it, run_sleeper },
		.surprises = 1,
	},
};

const struct model_list future_models = { models, sizeof(models) / sizeof(*models) };

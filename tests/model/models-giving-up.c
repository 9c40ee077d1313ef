/* model: waits that end otherwise than by a grant. */
#include "model/models-parts.h"

static void close_and_release(void)
{
	m_close();
	release();
}

static void wait_a_while(void)
{
	int result = m_acquire_until(1, 10);

	m_check(result == 0 || result == -ETIMEDOUT, "an acquire failed");
	if (result == 0)
		release();
}

static void wait_a_while_unless_closed(void)
{
	int result = m_acquire_until(1, 10);

	m_check(result == 0 || result == -ETIMEDOUT || result == -ESHUTDOWN, "an acquire failed");
	if (result == 0)
		release();
}

static void wait_longer(void)
{
	if (m_acquire_until(1, 20) == 0)
		release();
}

static void be_too_late(void)
{
	if (m_acquire_until(1, 0) == 0)
		release();
}

static void be_task_and_pass(void)
{
	int result;

	m_be_task();
	result = m_acquire(1);
	m_check(result == 0 || result == -ECANCELED, "an acquire failed");
	if (result == 0)
		release();
}

static void be_task_and_wait_a_while(void)
{
	m_be_task();
	if (m_acquire_until(1, 10) == 0)
		release();
}

static void be_task_and_pass_unless_closed(void)
{
	int result;

	m_be_task();
	result = m_acquire(1);
	m_check(result == 0 || result == -ECANCELED || result == -ESHUTDOWN, "an acquire failed");
	if (result == 0)
		release();
}

static const struct model models[] = {
	{
		.name = "timeout_vs_hand_off",
		.promise =
			"P5 P9, CHECKLIST 5: the deadline passes while the permit is handed over",
		.permits = 1,
		.held = 1,
		.threads = { release, wait_a_while, pass },
		.surprises = 1,
	},
	{
		.name = "two_timeouts",
		.promise = "P5 P9: both of two waiters may give up",
		.permits = 1,
		.held = 1,
		.threads = { release, wait_a_while, wait_longer },
	},
	{
		.name = "deadline_in_the_past",
		.promise = "P9: what can be had at once is had, else it times out",
		.permits = 1,
		.held = 1,
		.threads = { release, be_too_late, be_too_late },
	},
	{
		.name = "timeout_vs_close",
		.promise = "P5: the deadline passes while the semaphore is closed",
		.permits = 1,
		.held = 1,
		.threads = { close_and_release, wait_a_while_unless_closed,
			     wait_a_while_unless_closed },
	},
	{
		.name = "spinning_timeout",
		.promise = "P5 P9: the same while waiters spin before they sleep",
		.permits = 1,
		.held = 1,
		.threads = { release, wait_a_while, pass },
		.spare_cpu = true,
	},
	{
		.name = "cancelled_task_vs_hand_off",
		.promise = "P5, CHECKLIST 1: a permit handed to a cancelled task is passed on",
		.permits = 1,
		.held = 1,
		.threads = { release, be_task_and_pass, pass },
		.cancellations = 1,
	},
	{
		.name = "two_cancelled_tasks",
		.promise = "P5, CHECKLIST 3: cancelled ones leave nothing behind in the queue",
		.permits = 1,
		.held = 1,
		.threads = { release, be_task_and_pass, be_task_and_pass },
		.cancellations = 2,
	},
	{
		.name = "timeout_vs_cancel",
		.promise = "P5: a wait that times out and is cancelled ends once",
		.permits = 1,
		.held = 1,
		.threads = { release, be_task_and_wait_a_while, pass },
		.cancellations = 1,
	},
	{
		.name = "cancelled_task_vs_close",
		.promise = "P5: a wait that is cancelled and closed ends once",
		.permits = 1,
		.held = 1,
		.threads = { close_and_release, be_task_and_pass_unless_closed,
			     be_task_and_pass_unless_closed },
		.cancellations = 1,
	},
};

const struct model_list giving_up_models = { models, sizeof(models) / sizeof(*models) };

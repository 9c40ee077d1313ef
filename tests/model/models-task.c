/* model: tasks, of one scheduler or of two, and threads on one semaphore; their waits are
 * cancelled, come too late, or race each other. */
#include "model/models-parts.h"

TASK(task_pass_2)
{
	m_pass(2);
	return 0;
}

TASK(task_wait_a_while)
{
	pass_if_granted(m_acquire_until(1, 10), 1);
	return 0;
}

/* Told once: the next wait goes on. */
TASK(task_pass_in_the_end)
{
	int result = m_acquire(1);

	if (result == -ECANCELED)
		result = m_acquire(1);
	m_check(result == 0, "an acquire failed");
	release();
	return 0;
}

/* Keeps the permit: whoever waits for the task gets it. */
TASK(task_acquire)
{
	int result = m_acquire(1);

	*value = result == 0;
	return result;
}

TASK(root_of_heavy_and_light)
{
	m_spawn(0, task_pass_2);
	(void)m_yield();
	(void)task_pass(arg, value);
	end_child(0);
	return 0;
}

RUN(run_heavy_and_light, root_of_heavy_and_light)

TASK(root_of_second)
{
	m_spawn(1, task_pass);
	(void)task_pass(arg, value);
	end_child(1);
	return 0;
}

RUN(run_second_two, root_of_second)

RUN(run_late, task_wait_a_while)

TASK(root_that_cancels)
{
	m_spawn(0, task_pass_unless_cancelled);
	(void)m_yield();
	m_cancel_task(0);
	end_child(0);
	return 0;
}

RUN(run_and_cancel, root_that_cancels)

/* The handler has come in the end. */
static void run_and_cancel_and_pass(void)
{
	run_and_cancel();
	pass();
}

/* It is told before it waits, unless the permit comes first. */
TASK(task_cancels_itself)
{
	m_cancel_task(0);
	pass_if_granted(m_acquire(1), 1);
	return 0;
}

TASK(root_of_cancelled)
{
	m_spawn(0, task_cancels_itself);
	end_child(0);
	return 0;
}

RUN(run_cancelled, root_of_cancelled)

static int hand_over(weir_task_fn *task)
{
	int result;

	m_spawn(0, task);
	m_hand_over(0);
	result = m_wait(0, WEIR_NEVER, NULL);
	/* Cancelled before it began, it never does. */
	m_check(result == 0 || result == -ECANCELED, "a wait failed");
	m_drop(0);
	return 0;
}

TASK(root_that_hands_over)
{
	return hand_over(task_pass_in_the_end);
}

RUN(run_and_hand_over, root_that_hands_over)

TASK(root_that_hands_over_at_most)
{
	return hand_over(task_pass_unless_cancelled);
}

RUN(run_at_most_and_hand_over, root_that_hands_over_at_most)

TASK(root_that_hands_over_late)
{
	m_spawn(0, task_wait_a_while);
	m_hand_over(0);
	(void)m_wait(0, WEIR_NEVER, NULL);
	m_drop(0);
	return 0;
}

RUN(run_late_and_hand_over, root_that_hands_over_late)

static void cancel_and_release(void)
{
	cancel_it();
	release();
}

/* One of them only: nothing else ends the wait. */
static void cancel_or_release(void)
{
	if (m_take_over(0)) {
		m_cancel_task(0);
		m_drop(0);
	} else {
		release();
	}
}

/* Takes what a task that may have been granted has left to its owner. */
static uint32_t granted_to(int i)
{
	intptr_t value = 0;
	int result = m_wait(i, WEIR_NEVER, &value);

	m_check(result == 0 || result == -ECANCELED, "a task failed");
	m_drop(i);
	return result == 0 ? (uint32_t)value : 0;
}

TASK(root_that_races)
{
	size_t winner;
	uint32_t granted;

	m_spawn(0, task_acquire);
	m_spawn(1, task_acquire);
	m_check(m_race(2, WEIR_NEVER, &winner) == 0, "a race failed");
	m_cancel_task(1 - (int)winner);
	granted = granted_to(0) + granted_to(1);
	m_check(granted > 0 && m_release(granted) == 0, "a release failed");
	return 0;
}

RUN(run_race, root_that_races)

TASK(root_that_gathers)
{
	intptr_t values[2];
	uint32_t granted;

	m_spawn(0, task_acquire);
	m_spawn(1, task_acquire);
	if (m_gather(2, 10, values) != 0) {
		m_cancel_task(0);
		m_cancel_task(1);
	}
	granted = granted_to(0) + granted_to(1);
	if (granted > 0)
		m_check(m_release(granted) == 0, "a release failed");
	return 0;
}

RUN(run_gather, root_that_gathers)

static void make_slot(void)
{
	m_make_slots(1);
}

static void then_release(int slot, int result)
{
	(void)slot;
	m_check(result == 0, "a wait failed");
	release();
}

static void then_try_and_release(int slot, int result)
{
	(void)slot;
	m_check(result == 0, "a wait failed");
	if (m_try(1) == 0)
		release();
	release();
}

static void wait_async(void)
{
	int result = m_async(0, 1, then_try_and_release);

	if (result == 0)
		then_release(0, 0);
}

TASK(root_that_releases)
{
	m_spawn(0, task_pass);
	(void)m_yield();
	release();
	end_child(0);
	return 0;
}

RUN(run_and_release, root_that_releases)

static const struct model models[] = {
	{
		.name = "task_waits",
		.promise = "P4: a task is woken from a thread that ends: no deadlock is reported",
		.permits = 1,
		.held = 1,
		.threads = { release, run_one },
		.surprises = 2,
	},
	{
		.name = "task_and_thread",
		.promise = "P3 P4: a task and a thread in one queue",
		.permits = 1,
		.held = 1,
		.threads = { release, run_one, pass },
		.surprises = 1,
	},
	{
		.name = "two_tasks_and_a_thread",
		.promise = "P3 P4: permits go back and forth between tasks and a thread",
		.permits = 1,
		.threads = { run_two, pass },
	},
	{
		.name = "heavy_task_light_thread",
		.promise = "P3: a heavy request of a task is overtaken by nobody",
		.permits = 2,
		.held = 1,
		.threads = { release, run_heavy_and_light, pass },
	},
	{
		.name = "two_schedulers",
		.promise = "P3 P4: tasks of two schedulers on one semaphore",
		.permits = 1,
		.threads = { run_two, run_second_two },
	},
	{
		.name = "two_schedulers_and_a_release",
		.promise = "P3 P4: both wait from the start",
		.permits = 1,
		.held = 1,
		.threads = { release, run_one, run_one },
		.surprises = 1,
	},
	{
		.name = "task_cancel_vs_hand_off",
		.promise = "P5, CHECKLIST 1: cancelled by its scheduler, it passes the permit on",
		.permits = 1,
		.held = 1,
		.threads = { release, run_and_cancel, pass },
	},
	{
		.name = "task_cancel_vs_signal",
		.promise = "P5, CHECKLIST 13: the same, and the permit comes from a handler",
		.permits = 1,
		.held = 1,
		.threads = { run_and_cancel_and_pass },
		.handler = release,
	},
	{
		.name = "task_cancel_from_thread",
		.promise =
			"P5, CHECKLIST 1: the same, cancelled from another thread, and told once",
		.permits = 1,
		.held = 1,
		.threads = { release, run_and_hand_over, cancel_it },
	},
	{
		.name = "task_cancel_then_release",
		.promise = "P5: the cancel and the permit come from one thread",
		.permits = 1,
		.held = 1,
		.threads = { cancel_and_release, run_and_hand_over },
	},
	{
		.name = "task_cancelled_while_it_watches",
		.promise = "P5: a cancel alone ends a wait that the scheduler watches",
		.permits = 1,
		.held = 1,
		.threads = { cancel_or_release, run_at_most_and_hand_over },
		.spare_cpu = true,
	},
	{
		.name = "task_cancelled_before_it_waits",
		.promise = "P5, CHECKLIST 10: cancelled, it steps back from a wait, or passes on",
		.permits = 1,
		.held = 1,
		.threads = { release, run_cancelled, pass },
	},
	{
		.name = "task_timeout_vs_hand_off",
		.promise = "P5 P9, CHECKLIST 5: the timer and the permit, woken by one of them",
		.permits = 1,
		.held = 1,
		.threads = { release, run_late, pass },
	},
	{
		.name = "task_timeout_vs_cancel",
		.promise = "P5: the timer, a cancel from another thread and the permit",
		.permits = 1,
		.held = 1,
		.threads = { release, run_late_and_hand_over, cancel_it },
	},
	{
		.name = "task_race",
		.promise = "P5, CHECKLIST 16: the loser of a race loses no permit",
		.permits = 1,
		.held = 1,
		.threads = { release, run_race, pass },
	},
	{
		.name = "task_gather",
		.promise = "P5, CHECKLIST 16: a gather that gives up loses no permit",
		.permits = 2,
		.held = 2,
		.threads = { release, run_gather, release },
	},
	{
		.name = "task_wakes_callback",
		.promise = "CHECKLIST 13: a wake function that re-enters, run from a task",
		.permits = 1,
		.held = 1,
		.prepare = make_slot,
		.threads = { run_and_release, wait_async },
	},
};

const struct model_list task_models = { models, sizeof(models) / sizeof(*models) };

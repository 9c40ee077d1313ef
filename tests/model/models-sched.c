/* model: a scheduler that goes to sleep, that ends, or that a signal interrupts, while others wake
 * its tasks. */
#include "model/models-parts.h"

TASK(task_nothing)
{
	return 0;
}

TASK(root_that_leaves)
{
	m_spawn(0, task_pass_unless_cancelled);
	(void)m_yield();
	m_drop(0);
	return 0;
}

static void run_and_pass(void)
{
	m_run(root_that_leaves);
	pass();
}

/* The second scheduler lies where the first one was. */
static void run_twice(void)
{
	m_run(root_that_leaves);
	run_one();
}

TASK(task_cleans_up)
{
	int result = m_acquire(1);

	if (result == -ECANCELED) {
		m_check(weir_shield(true) == 0, "a shield failed");
		result = m_acquire(1);
		m_check(weir_shield(false) == 0, "a shield failed");
	}
	m_check(result == 0, "an acquire failed");
	release();
	return 0;
}

TASK(root_that_leaves_work)
{
	m_spawn(0, task_cleans_up);
	(void)m_yield();
	m_drop(0);
	return 0;
}

RUN(run_and_clean_up, root_that_leaves_work)

TASK(root_that_leaves_a_handle)
{
	m_spawn(0, task_nothing);
	m_hand_over(0);
	m_drop(0);
	return 0;
}

RUN(run_and_leave, root_that_leaves_a_handle)

/* The first one waits when the second is put into the ready queue. */
TASK(root_of_signals)
{
	m_spawn(0, task_pass);
	(void)m_yield();
	m_spawn(1, task_pass);
	end_child(0);
	end_child(1);
	return 0;
}

RUN(run_for_signals, root_of_signals)

/* Once both wait, by whoever comes first. */
enum { BOTH_WAIT = 1, BOTH_RELEASED, TOO_EARLY };

/* Two that are granted in this order, and run in it. */
TASK(task_first)
{
	m_check(m_acquire(1) == 0, "an acquire failed");
	*m_word(0) = 1;
	release();
	return 0;
}

TASK(task_second)
{
	m_check(m_acquire(1) == 0, "an acquire failed");
	m_check(*m_word(0) == 1 || WEIR__LOAD(m_word(1), __ATOMIC_RELAXED) == TOO_EARLY,
		"who was granted last ran first");
	release();
	return 0;
}

static void release_both(void)
{
	uint32_t found = BOTH_WAIT;

	if (WEIR__CAS(m_word(1), &found, BOTH_RELEASED, __ATOMIC_RELAXED)) {
		release();
		release();
	}
}

TASK(root_of_both)
{
	m_spawn(0, task_first);
	(void)m_yield();
	m_spawn(1, task_second);
	(void)m_yield();
	WEIR__STORE(m_word(1), BOTH_WAIT, __ATOMIC_RELAXED);
	release_both();
	end_child(0);
	end_child(1);
	return 0;
}

RUN(run_in_order, root_of_both)

/* The same by a handler alone, and in one step. If it has come too early, the root does it. */
static void release_both_at_once(void)
{
	uint32_t found = 0;

	if (!WEIR__CAS(m_word(1), &found, TOO_EARLY, __ATOMIC_RELAXED))
		m_check(m_release(2) == 0, "a release failed");
}

TASK(root_of_both_interrupted)
{
	uint32_t found = 0;

	m_spawn(0, task_first);
	m_spawn(1, task_second);
	(void)m_yield();
	if (!WEIR__CAS(m_word(1), &found, BOTH_WAIT, __ATOMIC_RELAXED))
		m_check(m_release(2) == 0, "a release failed");
	end_child(0);
	end_child(1);
	m_check(m_complete(2, 0) == 0, "a promise ended twice");
	m_drop(2);
	return 0;
}

RUN(run_interrupted_in_order, root_of_both_interrupted)

static void make_promise(void)
{
	m_promise(2, 2);
}

/* Somebody is left, for all that the scheduler knows. */
static void stay(void)
{
	end_child(2);
}

static const struct model models[] = {
	{
		.name = "inbox",
		.promise = "P4 P7: two threads wake tasks of a scheduler that goes to sleep",
		.permits = 2,
		.held = 2,
		.threads = { release, release, run_two },
		.surprises = 1,
	},
	{
		.name = "inbox_spinning",
		.promise = "P4 P7: the same when it watches for a while before it sleeps",
		.permits = 1,
		.held = 1,
		.threads = { release, run_one },
		.spare_cpu = true,
	},
	{
		.name = "inbox_watching_two",
		.promise = "P4 P7: the same with two tasks and two threads",
		.permits = 2,
		.held = 2,
		.threads = { release, release, run_two },
		.spare_cpu = true,
	},
	{
		.name = "watched_in_order",
		.promise = "P3: two tasks of a scheduler that watches run in the order of their "
			   "grants",
		.permits = 2,
		.held = 2,
		.threads = { release_both, run_in_order },
		.spare_cpu = true,
	},
	{
		.name = "run_ends_vs_release",
		.promise = "P5 P6: a permit comes for a task whose scheduler is going",
		.permits = 1,
		.held = 1,
		.threads = { release, run_and_pass },
		.surprises = 1,
	},
	{
		.name = "run_twice",
		.promise = "P6: a late wake-up for one scheduler does not meet the next",
		.permits = 1,
		.held = 1,
		.threads = { release, run_twice },
		.surprises = 1,
	},
	{
		.name = "run_ends_shielded",
		.promise = "P5: a task that cleans up waits in peace while its scheduler is going",
		.permits = 1,
		.held = 1,
		.threads = { release, run_and_clean_up, pass },
	},
	{
		.name = "run_ends_vs_cancel",
		.promise = "P6: a cancel comes for a task whose scheduler is going",
		.threads = { cancel_it, run_and_leave },
		.surprises = 1,
	},
	{
		.name = "signal_release_to_task",
		.promise = "P4: a handler releases to a task of the thread that it interrupts",
		.permits = 1,
		.held = 1,
		.threads = { run_one, pass },
		.handler = release,
		.surprises = 1,
	},
	{
		.name = "signal_release_while_watching",
		.promise = "P4: the same when the thread watches before it sleeps",
		.permits = 1,
		.held = 1,
		.threads = { run_one, pass },
		.handler = release,
		.spare_cpu = true,
	},
	{
		.name = "signal_releases_in_order",
		.promise = "P3: the same with two tasks, which run in the order of their grants",
		.permits = 2,
		.held = 2,
		.prepare = make_promise,
		.threads = { run_interrupted_in_order, stay },
		.handler = release_both_at_once,
		.spare_cpu = true,
	},
	{
		.name = "signal_vs_ready_queue",
		.promise = "P4, CHECKLIST 13: the same while another task is made ready",
		.permits = 1,
		.held = 1,
		.threads = { run_for_signals, pass },
		.handler = release,
	},
	{
		.name = "signal_release_to_tasks",
		.promise = "P4: the same with two of them, and a thread that waits",
		.permits = 1,
		.held = 1,
		.threads = { run_two, pass },
		.handler = release,
	},
};

const struct model_list sched_models = { models, sizeof(models) / sizeof(*models) };

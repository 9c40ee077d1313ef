/* model: tasks. Schedulers in one thread or in two, and threads, on one semaphore; cancelling;
 * waits for futures; the ends of schedulers. */
#include "model/models.h"

static void release(void)
{
	m_check(m_release(1) == 0, "a release failed");
}

static void pass(void)
{
	m_pass(1);
}

static void pass_if_granted(int result, uint32_t n)
{
	if (result == 0)
		m_check(m_release(n) == 0, "a release failed");
	else
		m_check(result == -ECANCELED || result == -ETIMEDOUT, "an acquire failed");
}

/* ---- what tasks do ------------------------------------------------------------------------------
 */

static int task_pass(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	m_pass(1);
	return 0;
}

static int task_pass_2(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	m_pass(2);
	return 0;
}

static int task_nothing(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	return 0;
}

static int task_pass_unless_cancelled(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	pass_if_granted(m_acquire(1), 1);
	return 0;
}

static int task_wait_a_while(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	pass_if_granted(m_acquire_until(1, 10), 1);
	return 0;
}

/* Told once: the next wait goes on. */
static int task_pass_in_the_end(void *arg, intptr_t *value)
{
	int result = m_acquire(1);

	(void)arg;
	(void)value;
	if (result == -ECANCELED)
		result = m_acquire(1);
	m_check(result == 0, "an acquire failed");
	release();
	return 0;
}

/* Keeps the permit: whoever waits for the task gets it. */
static int task_acquire(void *arg, intptr_t *value)
{
	int result = m_acquire(1);

	(void)arg;
	*value = result == 0;
	return result;
}

static void end_child(int i)
{
	m_check(m_wait(i, WEIR_NEVER, NULL) == 0, "a task failed");
	m_drop(i);
}

/* ---- on one semaphore ---------------------------------------------------------------------------
 */

static void run_one(void)
{
	m_check(m_run(task_pass) == 0, "a run failed");
}

static int root_of_two(void *arg, intptr_t *value)
{
	m_spawn(0, task_pass);
	(void)task_pass(arg, value);
	end_child(0);
	return 0;
}

static void run_two(void)
{
	m_check(m_run(root_of_two) == 0, "a run failed");
}

static int root_of_heavy_and_light(void *arg, intptr_t *value)
{
	m_spawn(0, task_pass_2);
	(void)m_yield();
	(void)task_pass(arg, value);
	end_child(0);
	return 0;
}

static void run_heavy_and_light(void)
{
	m_check(m_run(root_of_heavy_and_light) == 0, "a run failed");
}

static int root_of_second(void *arg, intptr_t *value)
{
	m_spawn(1, task_pass);
	(void)task_pass(arg, value);
	end_child(1);
	return 0;
}

static void run_second_two(void)
{
	m_check(m_run(root_of_second) == 0, "a run failed");
}

static void run_late(void)
{
	m_check(m_run(task_wait_a_while) == 0, "a run failed");
}

/* ---- cancelling ---------------------------------------------------------------------------------
 */

static int root_that_cancels(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	m_spawn(0, task_pass_unless_cancelled);
	(void)m_yield();
	m_cancel_task(0);
	end_child(0);
	return 0;
}

static void run_and_cancel(void)
{
	m_check(m_run(root_that_cancels) == 0, "a run failed");
}

static int root_that_hands_over(void *arg, intptr_t *value)
{
	int result;

	(void)arg;
	(void)value;
	m_spawn(0, task_pass_in_the_end);
	m_hand_over(0);
	result = m_wait(0, WEIR_NEVER, NULL);
	/* Cancelled before it began, it never does. */
	m_check(result == 0 || result == -ECANCELED, "a wait failed");
	m_drop(0);
	return 0;
}

static void run_and_hand_over(void)
{
	m_check(m_run(root_that_hands_over) == 0, "a run failed");
}

static int root_that_hands_over_late(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	m_spawn(0, task_wait_a_while);
	m_hand_over(0);
	(void)m_wait(0, WEIR_NEVER, NULL);
	m_drop(0);
	return 0;
}

static void run_late_and_hand_over(void)
{
	m_check(m_run(root_that_hands_over_late) == 0, "a run failed");
}

static void cancel_it(void)
{
	if (m_take_over(0)) {
		m_cancel_task(0);
		m_drop(0);
	}
}

static void cancel_and_release(void)
{
	cancel_it();
	release();
}

/* ---- several waits of one task ------------------------------------------------------------------
 */

/* Takes what a task that may have been granted has left to its owner. */
static uint32_t granted_to(int i)
{
	intptr_t value = 0;
	int result = m_wait(i, WEIR_NEVER, &value);

	m_check(result == 0 || result == -ECANCELED, "a task failed");
	m_drop(i);
	return result == 0 ? (uint32_t)value : 0;
}

static int root_that_races(void *arg, intptr_t *value)
{
	size_t winner;
	uint32_t granted;

	(void)arg;
	(void)value;
	m_spawn(0, task_acquire);
	m_spawn(1, task_acquire);
	m_check(m_race(2, WEIR_NEVER, &winner) == 0, "a race failed");
	m_cancel_task(1 - (int)winner);
	granted = granted_to(0) + granted_to(1);
	m_check(granted > 0 && m_release(granted) == 0, "a release failed");
	return 0;
}

static void run_race(void)
{
	m_check(m_run(root_that_races) == 0, "a run failed");
}

static int root_that_gathers(void *arg, intptr_t *value)
{
	intptr_t values[2];
	uint32_t granted;

	(void)arg;
	(void)value;
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

static void run_gather(void)
{
	m_check(m_run(root_that_gathers) == 0, "a run failed");
}

/* ---- wake functions -----------------------------------------------------------------------------
 */

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

static int root_that_releases(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	m_spawn(0, task_pass);
	(void)m_yield();
	release();
	end_child(0);
	return 0;
}

static void run_and_release(void)
{
	m_check(m_run(root_that_releases) == 0, "a run failed");
}

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

static int root_that_waits_for_promise(void *arg, intptr_t *value)
{
	intptr_t got = 0;

	(void)arg;
	(void)value;
	m_check(m_wait(0, WEIR_NEVER, &got) == 0 && got == 5, "a promise was broken");
	m_drop(0);
	return 0;
}

static void run_for_promise(void)
{
	m_check(m_run(root_that_waits_for_promise) == 0, "a run failed");
}

/* ---- promises -----------------------------------------------------------------------------------
 */

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

static int root_that_waits_for_either(void *arg, intptr_t *value)
{
	intptr_t got = 0;
	int result = m_wait(0, WEIR_NEVER, &got);

	(void)arg;
	(void)value;
	m_check(result == 0 ? got == 5 : result == -EIO && got == 0, "a promise was broken");
	m_drop(0);
	return 0;
}

static void run_for_either(void)
{
	m_check(m_run(root_that_waits_for_either) == 0, "a run failed");
}

static int root_that_waits_a_while(void *arg, intptr_t *value)
{
	intptr_t got = 0;
	int result = m_wait(0, 10, &got);

	(void)arg;
	(void)value;
	m_check(result == 0 ? got == 5 : result == -ETIMEDOUT && got == 0, "a promise was broken");
	m_drop(0);
	return 0;
}

static void run_for_promise_a_while(void)
{
	m_check(m_run(root_that_waits_a_while) == 0, "a run failed");
}

static int task_wait_for_promise(void *arg, intptr_t *value)
{
	(void)arg;
	return m_wait(0, WEIR_NEVER, value);
}

static int root_that_cancels_a_wait(void *arg, intptr_t *value)
{
	intptr_t got = 0;
	int result;

	(void)arg;
	(void)value;
	m_spawn(1, task_wait_for_promise);
	(void)m_yield();
	m_cancel_task(1);
	result = m_wait(1, WEIR_NEVER, &got);
	m_check(result == 0 ? got == 5 : result == -ECANCELED, "a wait failed");
	m_drop(1);
	m_drop(0);
	return 0;
}

static void run_and_cancel_a_wait(void)
{
	m_check(m_run(root_that_cancels_a_wait) == 0, "a run failed");
}

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

/* ---- the ends of schedulers ---------------------------------------------------------------------
 */

static int root_that_leaves(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	m_spawn(0, task_pass_unless_cancelled);
	(void)m_yield();
	m_drop(0);
	return 0;
}

static void run_and_pass(void)
{
	m_check(m_run(root_that_leaves) == 0, "a run failed");
	pass();
}

static int root_that_leaves_a_handle(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	m_spawn(0, task_nothing);
	m_hand_over(0);
	m_drop(0);
	return 0;
}

static void run_and_leave(void)
{
	m_check(m_run(root_that_leaves_a_handle) == 0, "a run failed");
}

/* ---- signals ------------------------------------------------------------------------------------
 */

/* The first one waits when the second is put into the ready queue. */
static int root_of_signals(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	m_spawn(0, task_pass);
	(void)m_yield();
	m_spawn(1, task_pass);
	end_child(0);
	end_child(1);
	return 0;
}

static void run_for_signals(void)
{
	m_check(m_run(root_of_signals) == 0, "a run failed");
}

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
		.name = "run_ends_vs_release",
		.promise = "P5 P6: a permit comes for a task whose scheduler is going",
		.permits = 1,
		.held = 1,
		.threads = { release, run_and_pass },
		.surprises = 1,
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

const struct model_list task_models = { models, sizeof(models) / sizeof(*models) };

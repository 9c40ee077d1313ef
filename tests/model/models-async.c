/* model: waiters without a stack. */
#include "model/models-parts.h"

static void close_and_release(void)
{
	m_close();
	release();
}

/* What the owner of a slot does when its wait is over. */
static void then_release(int slot, int result)
{
	(void)slot;
	if (result == 0)
		release();
}

static void wait_then(int slot, void (*then)(int slot, int result))
{
	int result = m_async(slot, 1, then);

	if (result <= 0)
		then(slot, result);
}

static void make_one(void)
{
	m_make_slots(1);
}

static void make_two(void)
{
	m_make_slots(2);
}

static void make_three(void)
{
	m_make_slots(3);
}

static void wait_and_cancel(void)
{
	wait_then(0, then_release);
	(void)m_cancel(0);
}

static void cancel_middle_of_three(void)
{
	wait_then(0, then_release);
	wait_then(1, then_release);
	wait_then(2, then_release);
	(void)m_cancel(1);
}

/* CHECKLIST 16: whichever of two waits is granted first, the other one is given up: by the wake
 * function, or by the owner when the first grant came before both waits had begun. */
enum { STARTING, STARTED, GRANTED };

static void then_cancel_other(int slot, int result)
{
	m_check(result == 0, "a wait failed");
	if (WEIR__XCHG(m_word(0), GRANTED, __ATOMIC_ACQ_REL) == STARTED)
		(void)m_cancel(1 - slot);
	release();
}

static void wait_with_both(void)
{
	wait_then(0, then_cancel_other);
	wait_then(1, then_cancel_other);
	if (WEIR__XCHG(m_word(0), STARTED, __ATOMIC_ACQ_REL) == GRANTED) {
		(void)m_cancel(0);
		(void)m_cancel(1);
	}
}

static void then_wait_again(int slot, int result)
{
	if (result != 0)
		return;
	wait_then(slot, then_release);
	release();
}

static void wait_again(void)
{
	wait_then(0, then_wait_again);
}

static void wait_with_three(void)
{
	wait_then(0, then_release);
	wait_then(1, then_release);
	wait_then(2, then_release);
}

static void then_free_it_all(int slot, int result)
{
	m_check(result == 0, "a wait failed");
	m_free_slot(slot);
	m_destroy();
}

static void wait_and_free_it_all(void)
{
	wait_then(0, then_free_it_all);
}

static void then_free_slot(int slot, int result)
{
	m_check(result == 0, "a wait failed");
	m_free_slot(slot);
	release();
}

static void wait_with_two_and_free(void)
{
	wait_then(0, then_free_slot);
	wait_then(1, then_free_slot);
}

static void wait_with_first(void)
{
	wait_then(0, then_release);
}

/* CHECKLIST: a node that waits is refused, and goes on waiting. */
static void wait_twice_with_one(void)
{
	int result = m_async(0, 1, then_release);

	m_check(result == 1, "the semaphore is taken, and yet a wait did not queue");
	m_check(m_async(0, 1, then_release) == -EINVAL, "a node that waits was taken again");
	release();
}

static void make_two_semaphores(void)
{
	m_make(1, 1);
	m_make_slots(2);
}

static void then_release_the_other(int slot, int result)
{
	m_check(result == 0, "a wait failed");
	(void)m_release_of(slot, 1);
	(void)m_release_of(1 - slot, 1);
}

static void then_release_the_second(int slot, int result)
{
	m_check(slot == 1 && result == 0, "a wait failed");
	(void)m_release_of(1, 1);
}

/* The first semaphore is held from the start, the second one here. */
static void wait_for_both(void)
{
	int result;

	m_check(m_acquire_of(1, 1) == 0, "an acquire failed");
	result = m_async_of(1, 1, 1, then_release_the_second);
	m_check(result == 1, "the semaphore is taken, and yet a wait did not queue");
	result = m_async_of(0, 0, 1, then_release_the_other);
	if (result == 0)
		then_release_the_other(0, 0);
}

static const struct model models[] = {
	{
		.name = "cancel_vs_hand_off",
		.promise = "P5, CHECKLIST 1: woken or cancelled, never both and never neither",
		.permits = 1,
		.held = 1,
		.prepare = make_one,
		.threads = { release, wait_and_cancel, pass },
	},
	{
		.name = "cancel_vs_close",
		.promise = "P5: the same while the semaphore is closed",
		.permits = 1,
		.held = 1,
		.prepare = make_one,
		.threads = { close_and_release, wait_and_cancel },
	},
	{
		.name = "cancel_middle_of_three",
		.promise = "P3: the others keep their order",
		.permits = 1,
		.held = 1,
		.prepare = make_three,
		.threads = { release, cancel_middle_of_three },
	},
	{
		.name = "two_waits_one_owner",
		.promise =
			"P5, CHECKLIST 16: no permit is lost to a wait that nobody wants any more",
		.permits = 1,
		.held = 1,
		.prepare = make_two,
		.threads = { release, wait_with_both },
	},
	{
		.name = "callback_releases",
		.promise = "CHECKLIST 13: a chain of hand-offs from wake functions",
		.permits = 1,
		.held = 1,
		.prepare = make_three,
		.threads = { release, wait_with_three },
	},
	{
		.name = "callback_waits_again",
		.promise = "CHECKLIST 13: a wake function that starts another wait with its node",
		.permits = 1,
		.held = 1,
		.prepare = make_one,
		.threads = { release, wait_again, pass },
	},
	{
		.name = "callback_frees_its_node",
		.promise = "P6: a node is not touched after its wake function was called",
		.permits = 1,
		.held = 1,
		.prepare = make_two,
		.threads = { release, wait_with_two_and_free },
	},
	{
		.name = "callback_frees_it_all",
		.promise = "P6: neither is the semaphore",
		.permits = 1,
		.held = 1,
		.prepare = make_one,
		.threads = { release, wait_and_free_it_all },
	},
	{
		.name = "async_and_threads",
		.promise = "P3 P4: one queue for both",
		.permits = 1,
		.held = 1,
		.prepare = make_one,
		.threads = { release, wait_with_first, pass },
		.surprises = 1,
	},
	{
		.name = "node_in_use",
		.promise = "P8: a node that waits cannot be queued again",
		.permits = 1,
		.held = 1,
		.prepare = make_one,
		.threads = { wait_twice_with_one, pass },
	},
	{
		.name = "two_semaphores",
		.promise = "CHECKLIST 13: wake functions that release to another semaphore",
		.permits = 1,
		.held = 1,
		.prepare = make_two_semaphores,
		.threads = { release, wait_for_both },
	},
};

const struct model_list async_models = { models, sizeof(models) / sizeof(*models) };

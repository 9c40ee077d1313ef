/* model: the end of semaphores, and threads that are interrupted. */
#include "model/models-parts.h"

static void acquire_and_destroy(void)
{
	m_check(m_acquire(1) == 0, "an acquire failed");
	m_destroy();
}

static void acquire_all_and_destroy(void)
{
	m_check(m_acquire(2) == 0, "an acquire failed");
	m_destroy();
}

static void set_users(void)
{
	*m_word(0) = 2;
}

/* The classic end of an object that its own lock protects: who finds itself to be the last user
 * frees it, right after its own release, while the release of the user before it may still be
 * running. */
static void use_and_destroy_if_last(void)
{
	bool last;

	m_check(m_acquire(1) == 0, "an acquire failed");
	last = --*m_word(0) == 0;
	release();
	if (last)
		m_destroy();
}

static void make_on_heap(void)
{
	m_make_on_heap(1, 0);
}

static void make_counted_on_heap(void)
{
	m_make_on_heap(1, WEIR_SEM_COUNTED);
}

static void make_two_handles(void)
{
	m_make_on_heap(1, 0);
	(void)weir_sem_ref(world.ghosts[0].sem);
}

/* Who has begun to wait has a share in the memory. */
static void drop_when_somebody_waits(void)
{
	while (m_waiting() == 0 && WEIR__LOAD(m_word(0), __ATOMIC_RELAXED) == 0)
		WEIR__RELAX();
	m_unref();
}

static void wait_until_dropped(void)
{
	m_check(m_acquire(1) == -ESHUTDOWN, "a wait for a dropped semaphore went on");
}

static void wait_until_dropped_or_late(void)
{
	int result = m_acquire_until(1, 10);

	m_check(result == -ESHUTDOWN || result == -ETIMEDOUT, "a wait went on");
	WEIR__STORE(m_word(0), 1, __ATOMIC_RELAXED);
}

/* Looks first at who has left already, lest it counts somebody twice. */
static void drop_when_both_wait(void)
{
	uint32_t gone = WEIR__LOAD(m_word(0), __ATOMIC_RELAXED);

	while (gone + m_waiting() < 2) {
		WEIR__RELAX();
		gone = WEIR__LOAD(m_word(0), __ATOMIC_RELAXED);
	}
	m_unref();
}

static void pass_and_drop(void)
{
	m_pass(1);
	m_unref();
}

static void check_freed(void)
{
	m_check(!world.ghosts[0].sem, "P6: the semaphore was not freed");
}

static void make_slot(void)
{
	m_make_slots(1);
}

static void make_three_slots(void)
{
	m_make_slots(3);
}

static void then_release(int slot, int result)
{
	(void)slot;
	m_check(result == 0, "a wait failed");
	release();
}

static void wait_async(void)
{
	int result = m_async(0, 1, then_release);

	if (result == 0)
		then_release(0, 0);
}

static void then_keep(int slot, int result)
{
	(void)slot;
	m_check(result == 0, "a wait failed");
}

/* There is room for the third one only if the signal comes in time. */
static void wait_with_three(void)
{
	(void)m_async(0, 1, then_keep);
	(void)m_async(1, 1, then_keep);
	(void)m_async(2, 1, then_keep);
	(void)m_cancel(2);
}

static void release_two(void)
{
	m_check(m_release(2) == 0, "a release failed");
}

static const struct model models[] = {
	{
		.name = "destroy_after_acquire",
		.promise =
			"P6: whoever is granted may free the semaphore, the release still running",
		.permits = 1,
		.held = 1,
		.threads = { release, acquire_and_destroy },
		.surprises = 1,
	},
	{
		.name = "destroy_after_two_releases",
		.promise = "P6: the same when two releases together make room",
		.permits = 2,
		.held = 2,
		.threads = { release, release, acquire_all_and_destroy },
	},
	{
		.name = "destroy_after_release_by_other",
		.promise =
			"P6, CHECKLIST 6: the last user frees it, an earlier release still running",
		.permits = 1,
		.prepare = set_users,
		.threads = { use_and_destroy_if_last, use_and_destroy_if_last },
	},
	{
		.name = "heap_dropped_under_a_waiter",
		.promise = "P5 P6: it is closed, and its memory goes when the waiter has left",
		.prepare = make_on_heap,
		.held = 1,
		.threads = { drop_when_somebody_waits, wait_until_dropped_or_late },
		.surprises = 1,
		.endless_spins = true,
		.finally = check_freed,
	},
	{
		.name = "heap_dropped_under_two_waiters",
		.promise = "P5 P6: the last of them to leave frees it",
		.prepare = make_counted_on_heap,
		.held = 1,
		.threads = { drop_when_both_wait, wait_until_dropped_or_late, wait_until_dropped },
		.endless_spins = true,
		.finally = check_freed,
	},
	{
		.name = "heap_two_handles",
		.promise = "P6: the last handle frees it",
		.prepare = make_two_handles,
		.threads = { pass_and_drop, pass_and_drop },
		.finally = check_freed,
	},
	{
		.name = "signal_release",
		.promise = "P4: a handler that releases, anywhere in a call on the same semaphore",
		.permits = 2,
		.held = 1,
		.threads = { pass, pass },
		.handler = release,
	},
	{
		.name = "signal_release_full",
		.promise = "P4: the same when the interrupted call cannot go on without it",
		.permits = 1,
		.held = 1,
		.threads = { pass, pass },
		.handler = release,
		.surprises = 1,
	},
	{
		.name = "signal_while_telling",
		.promise =
			"P5, CHECKLIST 13: a handler that releases while wake functions are called",
		.permits = 2,
		.held = 2,
		.prepare = make_slot,
		.threads = { release, wait_async, pass },
		.handler = release,
	},
	{
		.name = "signal_between_notes",
		.promise = "P5, CHECKLIST 13: the same when several are to be called",
		.permits = 3,
		.held = 3,
		.prepare = make_three_slots,
		.threads = { release_two, wait_with_three },
		.handler = release,
	},
};

const struct model_list life_models = { models, sizeof(models) / sizeof(*models) };

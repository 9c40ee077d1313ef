/* model: permits and the queue, with requests of one permit. */
#include "model/models-parts.h"

static void pass_twice(void)
{
	m_pass(1);
	m_pass(1);
}

static void pass_by_try(void)
{
	if (m_try(1) == 0)
		release();
}

static void pass_unless_closed(void)
{
	int result = m_acquire(1);

	m_check(result == 0 || result == -ESHUTDOWN, "an acquire failed");
	if (result == 0)
		release();
}

static void close_and_release(void)
{
	m_close();
	release();
}

static void close(void)
{
	m_close();
}

/* P8: none of these changes anything, whatever the others do. */
static void misuse(void)
{
	m_check(m_release(2) == -EOVERFLOW, "a release of too many did not fail");
	m_check(m_release(0) == -EINVAL, "a release of none did not fail");
	m_check(m_acquire(0) == -EINVAL, "an acquire of none did not fail");
	m_check(m_acquire(2) == -E2BIG, "an acquire of too many did not fail");
	m_check(m_try(UINT32_MAX) == -E2BIG, "a try of too many did not fail");
	m_check(m_resize(WEIR_SEM_MAX + 1) == -EINVAL, "a resize beyond the maximum did not fail");
}

static void look(void)
{
	m_stats();
	m_stats();
}

static void make_counted(void)
{
	m_make_counted(2);
}

static const struct model models[] = {
	{
		.name = "basic",
		.promise = "P1 P2 P4: two threads through one permit",
		.permits = 1,
		.threads = { pass, pass },
		.surprises = 1,
	},
	{
		.name = "two_rounds",
		.promise =
			"P6, CHECKLIST 6: a late wake-up meets the next wait at the same address",
		.permits = 1,
		.threads = { pass_twice, pass_twice },
		.surprises = 1,
	},
	{
		.name = "release_acquire_race",
		.promise = "P4: an acquire that comes together with the release",
		.permits = 1,
		.held = 1,
		.threads = { release, pass },
		.surprises = 1,
	},
	{
		.name = "two_waiters_one_release",
		.promise = "P3 P4: one release serves both, one after the other",
		.permits = 1,
		.held = 1,
		.threads = { release, pass, pass },
		.surprises = 1,
	},
	{
		.name = "three_through_two",
		.promise = "P1: never more than two of three",
		.permits = 2,
		.threads = { pass, pass, pass },
		.surprises = 1,
	},
	{
		.name = "try_vs_queue",
		.promise = "P3, CHECKLIST 15: a try never overtakes a waiter",
		.permits = 1,
		.held = 1,
		.threads = { release, pass, pass_by_try },
	},
	{
		.name = "close_wakes_all",
		.promise = "P5: everybody who waits learns of the close, nobody twice",
		.permits = 1,
		.held = 1,
		.threads = { close_and_release, pass_unless_closed, pass_unless_closed },
		.surprises = 1,
	},
	{
		.name = "close_vs_release",
		.promise = "P5: a waiter that is handed a permit while the semaphore is closed",
		.permits = 1,
		.held = 1,
		.threads = { release, close, pass_unless_closed },
	},
	{
		.name = "misuse",
		.promise = "P8, CHECKLIST 17: wrong calls fail and change nothing",
		.permits = 1,
		.threads = { misuse, pass, pass },
	},
	{
		.name = "spurious_storm",
		.promise = "CHECKLIST 10: sleeps that end for no reason, or by a signal, are no "
			   "grants",
		.permits = 1,
		.held = 1,
		.threads = { release, pass, pass },
		.surprises = 4,
	},
	{
		.name = "counted",
		.promise = "P2: the counts of a semaphore that counts",
		.prepare = make_counted,
		.threads = { pass, pass, pass },
	},
	{
		.name = "lock_sleepers",
		.promise = "CHECKLIST 9: nobody sleeps on the lock for ever",
		.prepare = make_counted,
		.held = 1,
		.threads = { release, pass_by_try, pass_by_try },
		.surprises = 2,
	},
	{
		.name = "statistics",
		.promise = "P2: free + held = limit + owed, at every moment",
		.permits = 1,
		.threads = { look, pass, pass },
	},
	{
		.name = "spinning",
		.promise = "P4: waiters that spin before they sleep",
		.permits = 1,
		.held = 1,
		.threads = { release, pass, pass },
		.spare_cpu = true,
	},
};

const struct model_list basic_models = { models, sizeof(models) / sizeof(*models) };

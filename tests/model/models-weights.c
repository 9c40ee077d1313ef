/* model: requests of several permits, and limits that change. */
#include "model/models.h"

static void pass_1(void)
{
	m_pass(1);
}

static void pass_2(void)
{
	m_pass(2);
}

static void pass_1_by_try(void)
{
	if (m_try(1) == 0)
		(void)m_release(1);
}

static void release(uint32_t n)
{
	m_check(m_release(n) == 0, "a release failed");
}

static void release_1(void)
{
	release(1);
}

static void release_3(void)
{
	release(3);
}

static void wait_for_2_a_while(void)
{
	int result = m_acquire_until(2, 10);

	m_check(result == 0 || result == -ETIMEDOUT, "an acquire failed");
	if (result == 0)
		release(2);
}

static void pass_unless_too_heavy(uint32_t n)
{
	int result = m_acquire(n);

	m_check(result == 0 || result == -E2BIG, "an acquire failed");
	if (result == 0)
		release(n);
}

static void pass_2_unless_too_heavy(void)
{
	pass_unless_too_heavy(2);
}

static void pass_3_unless_too_heavy(void)
{
	pass_unless_too_heavy(3);
}

static void shrink_and_grow(void)
{
	m_check(m_resize(1) == 0, "a resize failed");
	m_check(m_resize(2) == 0, "a resize failed");
}

static void shrink_and_release(void)
{
	m_check(m_resize(1) == 0, "a resize failed");
	release(2);
}

static void pay_the_debt(void)
{
	m_check(m_resize(1) == 0, "a resize failed");
	release(1);
	release(1);
	release(1);
}

static void grow(void)
{
	m_check(m_resize(3) == 0, "a resize failed");
}

static void pause_and_raise(void)
{
	m_check(m_resize(0) == 0, "a resize failed");
	m_check(m_resize(1) == 0, "a resize failed");
}

static void pass_most(void)
{
	m_pass(WEIR_SEM_MAX);
}

static void pass_almost_most(void)
{
	m_pass(WEIR_SEM_MAX - 1);
}

static const struct model models[] = {
	{
		.name = "heavy_head_blocks_light",
		.promise = "P3: a light request never overtakes a heavy one",
		.permits = 2,
		.held = 1,
		.threads = { release_1, pass_2, pass_1 },
		.surprises = 1,
	},
	{
		.name = "heavy_head_gives_up",
		.promise = "P4, CHECKLIST 2: it lets the light one behind it through",
		.permits = 2,
		.held = 1,
		.threads = { release_1, wait_for_2_a_while, pass_1 },
	},
	{
		.name = "release_of_several",
		.promise = "P3 P4: one release serves all that fit, in order",
		.permits = 3,
		.held = 3,
		.threads = { release_3, pass_2, pass_1 },
		.surprises = 1,
	},
	{
		.name = "two_heavy",
		.promise = "P4: permits come back one by one until the heavy one fits",
		.permits = 2,
		.threads = { pass_2, pass_2, pass_1 },
	},
	{
		.name = "resize_down_up",
		.promise = "P1 P4: the limit moves while others come and go",
		.permits = 2,
		.threads = { shrink_and_grow, pass_1, pass_2_unless_too_heavy },
	},
	{
		.name = "resize_refuses_heavy",
		.promise = "P5: who no longer can be granted fails at once, others go on",
		.permits = 3,
		.held = 2,
		.threads = { shrink_and_release, pass_3_unless_too_heavy, pass_1 },
	},
	{
		.name = "debt",
		.promise = "P1, CHECKLIST 18: what is owed after a shrink is paid before any grant",
		.permits = 3,
		.held = 3,
		.threads = { pay_the_debt, pass_1, pass_1_by_try },
	},
	{
		.name = "grow",
		.promise = "P4: raising the limit grants whoever fits, in order",
		.permits = 2,
		.held = 1,
		.threads = { grow, pass_2, pass_1 },
	},
	{
		.name = "pause_and_raise",
		.promise = "P1 P5: while the limit is 0 nobody is granted and nobody fails",
		.permits = 1,
		.threads = { pause_and_raise, pass_1, pass_1 },
	},
	{
		.name = "counter_near_its_end",
		.promise = "CHECKLIST 17: the largest limit and weights do not spill over",
		.permits = WEIR_SEM_MAX,
		.threads = { pass_most, pass_almost_most, pass_1 },
	},
};

const struct model_list weight_models = { models, sizeof(models) / sizeof(*models) };

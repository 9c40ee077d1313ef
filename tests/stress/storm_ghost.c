/* stress: the storm's oracle. See storm.h. */
#include "storm.h"

#include <errno.h>

void ghost_enter(struct storm *storm, uint32_t n, uint32_t since)
{
	uint32_t inside = __atomic_add_fetch(&storm->inside, n, __ATOMIC_RELAXED);
	uint32_t largest = __atomic_load_n(&storm->largest, __ATOMIC_SEQ_CST);

	tally(&storm->tally.granted);
	CHECK(inside <= MOST_LIMIT);
	if (ghost_bounds_held_still(storm, since)) {
		tally(&storm->tally.checks);
		CHECK(inside <= largest);
	}
	if (!storm->resized && n == storm->limit)
		storm->exclusive++;
}

void ghost_leave(struct storm *storm, uint32_t n)
{
	if (!storm->resized && n == storm->limit) {
		storm->exclusive++;
		(void)__atomic_add_fetch(&storm->exclusive_expected, 2, __ATOMIC_RELAXED);
	}
	(void)__atomic_sub_fetch(&storm->inside, n, __ATOMIC_RELAXED);
}

void ghost_refused(struct storm *storm, uint32_t n, int result, uint32_t since)
{
	uint32_t smallest = __atomic_load_n(&storm->smallest, __ATOMIC_SEQ_CST);

	switch (result) {
	case -EAGAIN:
		tally(&storm->tally.failed_tries);
		break;
	case -ETIMEDOUT:
		tally(&storm->tally.timed_out);
		break;
	case -E2BIG:
		tally(&storm->tally.too_heavy);
		if (ghost_bounds_held_still(storm, since))
			CHECK(n > smallest);
		break;
	case -ESHUTDOWN:
		tally(&storm->tally.shut_out);
		CHECK(is_set(&storm->closing));
		break;
	default:
		CHECK_EQ(result, 0);
	}
}

void ghost_set_bounds(struct storm *storm, uint32_t largest, uint32_t smallest)
{
	(void)__atomic_add_fetch(&storm->epoch, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&storm->largest, largest, __ATOMIC_SEQ_CST);
	__atomic_store_n(&storm->smallest, smallest, __ATOMIC_SEQ_CST);
	(void)__atomic_add_fetch(&storm->epoch, 1, __ATOMIC_SEQ_CST);
}

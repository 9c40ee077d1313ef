/* stress: the storm's workers. Each of their operations is complete in itself: nobody waits for
 * permits while it holds some, so the storm cannot tie itself in a knot. */
#include "storm.h"

#include <errno.h>
#include <sched.h>

/* ---- requests that wait, or not, on their own stack ---- */

static void dawdle(struct rng *rng)
{
	uint32_t turns = rng_one_in(rng, 4) ? rng_below(rng, 200) : 0;

	if (rng_one_in(rng, 50))
		(void)sched_yield();
	while (turns-- > 0)
		WEIR__RELAX();
}

/* Gives n permits back, perhaps in two parts. */
static void release(struct storm *storm, uint32_t n, struct rng *rng)
{
	uint32_t first = n > 1 && rng_one_in(rng, 2) ? rng_between(rng, 1, n - 1) : n;

	ghost_leave(storm, n);
	CHECK_EQ(weir_sem_release(storm->sem, first), 0);
	if (first < n)
		CHECK_EQ(weir_sem_release(storm->sem, n - first), 0);
}

static int request(struct weir_sem *sem, uint32_t n, struct rng *rng)
{
	switch (rng_below(rng, 4)) {
	case 0:
		return weir_sem_acquire(sem, n);
	case 1:
		return weir_sem_try_acquire(sem, n);
	case 2:
		return weir_sem_acquire_until(sem, n, (weir_time)rng_below(rng, 2));
	default:
		return weir_sem_acquire_until(sem, n, weir_after(rng_below(rng, 200) * WEIR_US));
	}
}

static int take_and_release(struct worker *worker, uint32_t n)
{
	struct storm *storm = worker->storm;
	uint32_t since = ghost_epoch(storm);
	int result = request(storm->sem, n, &worker->rng);

	if (result < 0) {
		ghost_refused(storm, n, result, since);
		return result;
	}
	ghost_enter(storm, n, since);
	dawdle(&worker->rng);
	release(storm, n, &worker->rng);
	return 0;
}

/* ---- async requests ---- */

enum { IDLE, PENDING, HELD, ENDED };

enum { SLOTS = 4 };

struct slot {
	struct weir_waiter waiter; /* first: the wake function is handed its address */
	struct storm *storm;
	uint32_t n;
	uint32_t since;
	uint32_t again; /* how often its wake function asks anew */
	bool kept;      /* the permits are for the owner to release, not for the wake function */
	uint32_t state;
	int result;
};

static uint32_t slot_state(const struct slot *slot)
{
	return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
}

static void slot_set_state(struct slot *slot, uint32_t state)
{
	__atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
}

static void slot_ask(struct slot *slot);

/* Deals with a grant. Whether the slot is still the wake function's. */
static bool slot_granted(struct slot *slot)
{
	ghost_enter(slot->storm, slot->n, slot->since);
	if (slot->kept) {
		slot_set_state(slot, HELD);
		return false;
	}
	ghost_leave(slot->storm, slot->n);
	CHECK_EQ(weir_sem_release(slot->storm->sem, slot->n), 0);
	return true;
}

static void slot_wake(struct weir_waiter *waiter, int result)
{
	struct slot *slot = (struct slot *)(void *)waiter;

	/* P5: exactly one outcome. */
	CHECK_EQ(slot_state(slot), PENDING);
	if (result < 0) {
		CHECK(result == -ESHUTDOWN || result == -E2BIG);
		ghost_refused(slot->storm, slot->n, result, slot->since);
		slot->result = result;
		slot_set_state(slot, ENDED);
	} else if (slot_granted(slot)) {
		if (slot->again > 0) {
			slot->again--;
			slot_ask(slot);
		} else {
			slot_set_state(slot, ENDED);
		}
	}
}

/* Asks, and goes on until it has to wait or has ended. */
static void slot_ask(struct slot *slot)
{
	int result;

	slot->since = ghost_epoch(slot->storm);
	result = weir_sem_acquire_async(slot->storm->sem, slot->n, &slot->waiter, slot_wake);
	if (result == 1)
		return;
	if (result < 0) {
		ghost_refused(slot->storm, slot->n, result, slot->since);
		slot->result = result;
		slot_set_state(slot, ENDED);
	} else if (slot_granted(slot)) {
		slot_set_state(slot, ENDED);
	}
}

static void slot_cancel(struct slot *slot)
{
	int result = weir_sem_cancel(slot->storm->sem, &slot->waiter);

	CHECK(result == 0 || result == 1);
	if (result == 0) {
		CHECK_EQ(slot_state(slot), PENDING);
		tally(&slot->storm->tally.cancelled);
		slot_set_state(slot, ENDED);
	} else {
		/* Too late: the wake function has been called or is about to be. */
		while (slot_state(slot) == PENDING)
			(void)sched_yield();
	}
}

/* Whether the slot is done with. */
static bool slot_poll(struct slot *slot, struct rng *rng)
{
	switch (slot_state(slot)) {
	case HELD:
		release(slot->storm, slot->n, rng);
		return true;
	case ENDED:
		return true;
	default:
		/* Cancel is not for a node that its own wake function may be queueing again. */
		if (slot->kept && rng_one_in(rng, 20))
			slot_cancel(slot);
		return false;
	}
}

static int ask_async(struct worker *worker)
{
	uint32_t count = rng_between(&worker->rng, 1, SLOTS);
	struct slot slots[SLOTS] = { 0 };
	uint32_t open = count;
	int result = 0;

	for (uint32_t i = 0; i < count; i++) {
		slots[i].storm = worker->storm;
		slots[i].n = rng_between(&worker->rng, 1, 3);
		slots[i].kept = rng_one_in(&worker->rng, 2);
		slots[i].again = slots[i].kept ? 0 : rng_below(&worker->rng, 3);
		slot_set_state(&slots[i], PENDING);
		slot_ask(&slots[i]);
	}
	while (open > 0) {
		for (uint32_t i = 0; i < count; i++) {
			if (slot_state(&slots[i]) != IDLE && slot_poll(&slots[i], &worker->rng)) {
				result = slots[i].result ? slots[i].result : result;
				slot_set_state(&slots[i], IDLE);
				open--;
			}
		}
		(void)sched_yield();
	}
	return result;
}

void *worker_run(void *argument)
{
	struct worker *worker = argument;
	struct rng *rng = &worker->rng;
	int result = 0;

	while (!is_set(&worker->storm->stop) && result != -ESHUTDOWN) {
		if (rng_one_in(rng, 8))
			result = ask_async(worker);
		else if (rng_one_in(rng, 4))
			result = take_and_release(worker,
						  rng_between(rng, 1, worker->storm->limit + 1));
		else
			result = take_and_release(worker, 1);
	}
	return NULL;
}

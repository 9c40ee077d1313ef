/* sem: telling waiters how their wait ended, after the lock is gone.
 *
 * Waiters whose wait has been decided under the lock are collected in a batch, and told when
 * nothing of the semaphore is needed any more. A waiter that has been told may vanish at once, and
 * the semaphore with it. */
#ifndef WEIR_SEM_BATCH_H
#define WEIR_SEM_BATCH_H

#include "base/hot.h"
#include "park/park.h"

#include <weir/sem.h>

/* A waiter that parks. Its node's `wake` is NULL. The granter reads the node, and who the waiter
 * is, while the waiter watches its word: on cache lines of their own, neither disturbs the other.
 */
struct weir__parked {
	_Alignas(64) struct weir_waiter waiter;
	struct weir__parking parking;
};
_Static_assert(offsetof(struct weir__parked, parking.word) == 64, "the watched line has the rest");

enum { WAITER_NEW, WAITER_QUEUED, WAITER_DONE };

/* A run of nodes linked by `next`; that of the last one means nothing. */
struct weir__batch {
	struct weir_waiter *first;
	struct weir_waiter *last;
};

/* Fetches what it takes to tell this waiter, while other things are done. */
static inline void batch_expect(const struct weir_waiter *waiter)
{
	expect_lines(waiter, 2);
}

/* Appends a node that has just left the queue. Nodes that left the head one after the other are
 * linked already: then nothing is written, and a spinning waiter keeps its cache line. */
static inline void batch_add(struct weir__batch *batch, struct weir_waiter *waiter)
{
	if (!batch->first)
		batch->first = waiter;
	else if (batch->last->next != waiter)
		batch->last->next = waiter;
	batch->last = waiter;
}

/* Tells them all, in order, but for `own`: that one belongs to the caller. Whether it was there. */
bool weir__batch_tell(struct weir__batch batch, const struct weir_waiter *own);

/* The same of one. 0. */
static inline int tell_one(struct weir_waiter *waiter)
{
	if (WEIR__LIKELY(!waiter->wake))
		return weir__unpark(&((struct weir__parked *)(void *)waiter)->parking);
	(void)weir__batch_tell((struct weir__batch){ waiter, waiter }, NULL);
	return 0;
}

/* The same without an own one. */
static inline void batch_tell(struct weir__batch batch)
{
	if (!batch.first)
		return;
	if (batch.first == batch.last)
		(void)tell_one(batch.first);
	else
		(void)weir__batch_tell(batch, NULL);
}

#endif

/* lease: waiting for an operation's answer, as a thread or as a task.
 *
 * PROGRESS of an operation
 *     ASKED       nobody waits yet
 *     WAITED_FOR  the asker waits for the semaphore `answered`
 *     SLEPT_FOR   the asker is a thread and sleeps at once, for the answer comes from afar; in
 *                 which place (lease/tell.c) the higher bits say
 *     LED_FOR     the asker is a thread and does the agent's work while it waits
 *     ANSWERED    the answer is there; the answerer has touched it for the last time, unless it
 *                 was waited for
 * An engine that answers within submit() thus costs one exchange, and no semaphore.
 */
#ifndef WEIR_LEASE_OP_H
#define WEIR_LEASE_OP_H

#include "lease/engine.h"

enum { WEIR__ASKED, WEIR__WAITED_FOR, WEIR__SLEPT_FOR, WEIR__LED_FOR, WEIR__ANSWERED };
enum { WEIR__PLACE_SHIFT = 8, WEIR__PROGRESS = (1 << WEIR__PLACE_SHIFT) - 1 };

/* What `done` is, of an operation that somebody waits for. */
void weir__op_wake(struct weir__op *op);

/* Whether the answer is there, of one that nobody has waited for yet. */
static inline bool weir__op_is_answered(const struct weir__op *op)
{
	return WEIR__LOAD(&op->progress, __ATOMIC_ACQUIRE) == WEIR__ANSWERED;
}

/* Waits for the answer until a deadline: 0; -ETIMEDOUT, -ECANCELED, -EDEADLK: not yet. */
int weir__op_wait_until(struct weir__op *op, weir_time deadline);

/* Waits for it whatever comes. Also after the other has failed. */
void weir__op_wait(struct weir__op *op);

#endif

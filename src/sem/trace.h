/* sem: who holds the permits of a semaphore that was initialised to know it.
 *
 * A record is a row of slots, each one word: who, and how many permits. A release may come from a
 * signal handler and never waits, so each change is one atomic step and there is no lock. A permit
 * is entered after it was taken and struck out before it is given back, by whoever does that, so
 * for a moment somebody may be missing, and nothing of the semaphore is touched too late (P6). */
#ifndef WEIR_SEM_TRACE_H
#define WEIR_SEM_TRACE_H

#include "park/park.h"
#include "sem/word.h"

/* The slots of a semaphore that is traced, else NULL. `setup` is what it was when the caller looked
 * last: then nothing is read that may have moved to another processor meanwhile. */
static inline uint64_t *slots_of(struct weir_sem *sem, uint32_t setup)
{
	return WEIR__UNLIKELY(setup & SETUP_COUNTED) ?
		       ((struct weir_sem_counted *)(void *)sem)->slots :
		       NULL;
}

/* The caller has taken n permits. */
void weir__trace_take(uint64_t *slots, uint32_t n);

/* The caller is about to give back n of the permits held: its own, or somebody else's. */
void weir__trace_give(uint64_t *slots, uint32_t n, uint64_t held);

/* See park/park.h. */
int weir__trace_holders(const void *sem, struct weir__holding *ret, uint32_t *unknown);

#endif

/* sem: the lock in the state word, and the queue that it guards. */
#ifndef WEIR_SEM_LOCK_H
#define WEIR_SEM_LOCK_H

#include "sem/batch.h"
#include "sem/word.h"

/* A part of several slow paths, which are short: calls would cost a third of the whole. */
#define PART static inline __attribute__((always_inline))

/* The half of the word with LOCK and SLEEP in it. While LOCK is set it holds nothing else. */
static inline const uint32_t *lock_half(const struct weir_sem *sem)
{
	return (const uint32_t *)(const void *)&sem->word +
	       (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1 : 0);
}

/* Takes the lock if it is free, given the word as it was last seen; else *word is what was found.
 */
PART bool take_lock(struct weir_sem *sem, uint64_t *word, uint64_t others)
{
	uint64_t locked = word_slow(*word) | WEIR__SEM_LOCK | others;

	if ((*word & WEIR__SEM_LOCK) || !WEIR__CAS(&sem->word, word, locked, __ATOMIC_ACQUIRE))
		return false;
	*word = locked;
	return true;
}

/* Waits for it, given the word as it was last seen. Both return the word that they left. */
uint64_t weir__sem_wait_for_lock(struct weir_sem *sem, uint64_t word);

PART uint64_t lock(struct weir_sem *sem)
{
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);

	return WEIR__LIKELY(take_lock(sem, &word, 0)) ? word : weir__sem_wait_for_lock(sem, word);
}

/* From here on: with the lock held. */

PART uint32_t limit(const struct weir_sem *sem)
{
	return sem->setup & SETUP_LIMIT;
}

/* Returns its place in the queue, from 1. */
PART uint32_t push(struct weir_sem *sem, struct weir_waiter *waiter, uint32_t n)
{
	struct weir_waiter *last = sem->tail;
	uint32_t place = sem->waiting + 1;

	waiter->next = NULL;
	waiter->prev = last;
	waiter->n = n;
	waiter->result = 0;
	WEIR__POKE(last ? &last->next : &sem->head, waiter);
	sem->tail = waiter;
	WEIR__POKE(&sem->waiting, place);
	return place;
}

/* Takes a waiter out. Its own `prev` becomes NULL but it keeps its `next`. The `prev` of the head
 * means nothing, so that a new head need not be fetched to be told that it is one. */
PART void pull(struct weir_sem *sem, struct weir_waiter *waiter)
{
	struct weir_waiter *prev = waiter == sem->head ? NULL : waiter->prev;
	struct weir_waiter *next = waiter->next;

	if (prev)
		prev->next = next;
	else
		WEIR__POKE(&sem->head, next);
	if (!next)
		sem->tail = prev;
	else if (prev)
		next->prev = prev;
	if (waiter->prev)
		waiter->prev = NULL;
	WEIR__POKE(&sem->waiting, sem->waiting - 1);
}

/* With more waiters than MANY they are not all in a cache, and none of them watches. */
enum { MANY = 256 };

/* Takes the head out, see pull(); returns the next one, whose node is fetched by then: it may be
 * in the cache of another processor. The line that a thread watches is left to it. */
PART struct weir_waiter *pull_head(struct weir_sem *sem, struct weir_waiter *head)
{
	struct weir_waiter *next = head->next;
	uint32_t left = sem->waiting - 1;

	WEIR__POKE(&sem->head, next);
	if (head->prev)
		head->prev = NULL;
	WEIR__POKE(&sem->waiting, left);
	if (!next)
		sem->tail = NULL;
	else if (WEIR__UNLIKELY(left > MANY))
		batch_expect(next);
	else
		expect_change(next);
	return next;
}

PART bool is_queued(const struct weir_sem *sem, const struct weir_waiter *waiter)
{
	return waiter->prev || sem->head == waiter;
}

PART void count_wait(struct weir_sem *sem, uint64_t since, uint64_t now)
{
	WEIR__POKE(&sem->granted_after_wait, sem->granted_after_wait + 1);
	/* Two processors' ticks may differ a little: no wait is shorter than none. */
	if (now <= since)
		return;
	WEIR__POKE(&sem->ticks_waited, sem->ticks_waited + now - since);
	if (WEIR__UNLIKELY(now - since > sem->ticks_longest))
		WEIR__POKE(&sem->ticks_longest, now - since);
}

#endif

/* sem: the grant routine.
 *
 * THE LOCK is a bit of the state word, taken only by those who must look at the queue. Taking it
 * also sets SLOW, so while it is held the inline paths keep out and the number of permits held can
 * only fall: a release that finds the lock taken subtracts its permits in one step and leaves.
 *
 * THE GRANT ROUTINE is settle(). Everyone who took the lock ends there; nothing else grants, and
 * nothing else gives the lock back. It moves waiters that fit from the head of the queue to the
 * batch of those to be told and then replaces the word, in one step, by one that counts their
 * permits and has no lock. If a release came in between, that step fails, and it looks at the head
 * again with the permits that were added. Hence P4: when the lock is free, the queue is empty or
 * its head does not fit. And hence a release never waits for anybody, which is what lets a signal
 * handler call it.
 *
 * P6, who may touch what after that step:
 *     - the semaphore: nobody. Whoever was granted may free it. What is left is a wake-up by
 *       address for those who slept on the lock, and that one touches no memory;
 *     - the nodes in the batch: their waits are decided, but their owners do not know. Each stays
 *       where it is until weir__batch_tell() tells it, and is not touched after that. */
#ifndef WEIR_SEM_SETTLE_H
#define WEIR_SEM_SETTLE_H

#include "base/futex.h"
#include "sem/lock.h"

PART struct weir_sem_counted *counted_of(struct weir_sem *sem)
{
	return (struct weir_sem_counted *)(void *)sem;
}

PART bool must_be_slow(const struct weir_sem *sem, uint64_t now_held)
{
	return sem->head || (sem->setup & (SETUP_CLOSED | SETUP_COUNTED)) || limit(sem) == 0 ||
	       now_held > limit(sem);
}

/* The grant routine: takes `taken` permits for the caller, grants whoever fits, gives the lock
 * back. `word` is what the lock was taken with; `now` is the time, in ticks, or 0: then it is
 * looked up if anybody is granted. Returns the batch with those added who are to be told. */
PART struct weir__batch settle_as(struct weir_sem *sem, uint64_t word, uint32_t taken, uint64_t now,
				  struct weir__batch batch, bool counted)
{
	uint32_t peak = counted ? counted_of(sem)->peak_held : 0;
	uint64_t now_held = word_locked_held(word) + taken;
	uint64_t last;
	uint64_t next;

	for (;;) {
		struct weir_waiter *head;

		while ((head = sem->head) != NULL && now_held + head->n <= limit(sem)) {
			if (now == 0)
				now = weir__park_ticks();
			count_wait(sem, head->since, now);
			now_held += head->n;
			(void)pull_head(sem, head);
			batch_add(&batch, head);
		}
		if (counted)
			WEIR__POKE(&counted_of(sem)->peak_held,
				   now_held > peak ? (uint32_t)now_held : peak);
		if (must_be_slow(sem, now_held))
			next = WEIR__SEM_SLOW | WEIR__SEM_FREE(now_held);
		else
			next = WEIR__SEM_FREE(limit(sem) - now_held) | WEIR__SEM_HELD(now_held);
		last = word;
		if (WEIR__LIKELY(WEIR__CAS(&sem->word, &word, next, __ATOMIC_ACQ_REL)))
			break;
		/* A release came in between, and that many fewer are held. */
		now_held -= word_locked_held(last) - word_locked_held(word);
	}
	if (WEIR__UNLIKELY(word & WEIR__SEM_SLEEP))
		weir__futex_wake(lock_half(sem), 1);
	return batch;
}

static WEIR__COLD struct weir__batch settle_counted(struct weir_sem *sem, uint64_t word,
						    uint32_t taken, uint64_t now,
						    struct weir__batch batch)
{
	return settle_as(sem, word, taken, now, batch, true);
}

PART struct weir__batch settle(struct weir_sem *sem, uint64_t word, uint32_t taken, uint64_t now,
			       struct weir__batch batch)
{
	if (WEIR__UNLIKELY(sem->setup & SETUP_COUNTED))
		return settle_counted(sem, word, taken, now, batch);
	return settle_as(sem, word, taken, now, batch, false);
}

PART void settle_and_tell(struct weir_sem *sem, uint64_t word, struct weir__batch batch)
{
	batch_tell(settle(sem, word, 0, 0, batch));
}

#endif

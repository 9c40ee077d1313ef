/* sem: the semaphore.
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
 * It has two short ways, which leave it to settle() if their one step fails: enter() of a waiter
 * that changes nothing for those before it, and hand_over() of just what came back to the head.
 *
 * P6, who may touch what after that step:
 *     - the semaphore: nobody. Whoever was granted may free it. What is left is a wake-up by
 *       address for those who slept on the lock, and that one touches no memory;
 *     - the nodes in the batch: their waits are decided, but their owners do not know. Each stays
 *       where it is until weir__batch_tell() tells it, and is not touched after that.
 *
 * A WAITER THAT GIVES UP (its deadline passed, its task was cancelled, its owner calls cancel)
 * takes the lock and looks whether it is still in the queue. Then it is taken out and nothing has
 * happened. Otherwise its wait had been decided before, and it will be told: see acquire_parked().
 */
#include "base/cpu.h"
#include "base/futex.h"
#include "base/hot.h"
#include "base/print.h"
#include "sem/batch.h"
#include "sem/heap.h"
#include "sem/trace.h"
#include "sem/word.h"

#include <errno.h>

_Static_assert(sizeof(struct weir_sem) <= 64, "a semaphore must fit a cache line");

/* The inline functions, once as ordinary ones: for callers in other languages. */
extern inline int weir_sem_acquire(struct weir_sem *sem, uint32_t n);
extern inline int weir_sem_try_acquire(struct weir_sem *sem, uint32_t n);
extern inline int weir_sem_release(struct weir_sem *sem, uint32_t n);

/* A part of several slow paths, which are short: calls would cost a third of the whole. */
#define PART static inline __attribute__((always_inline))

enum {
	LOCK_SPINS = 100,
	/* Up to this place in the queue a grant is expected soon. */
	NEAR = 16,
	/* So many are not all in a cache, and none of them watches. */
	MANY = 256,
};

/* The half of the word with LOCK and SLEEP in it. While LOCK is set it holds nothing else. */
static const uint32_t *lock_half(const struct weir_sem *sem)
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

static __attribute__((noinline)) uint64_t wait_for_lock(struct weir_sem *sem, uint64_t word)
{
	uint64_t others = 0;
	int spins = weir__cpu_to_spare() ? LOCK_SPINS : 0;

	while (!take_lock(sem, &word, others)) {
		if (!(word & WEIR__SEM_LOCK))
			continue;
		if (spins > 0) {
			spins--;
			WEIR__RELAX();
			word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
			continue;
		}
		if (!(word & WEIR__SEM_SLEEP) &&
		    !WEIR__CAS(&sem->word, &word, word | WEIR__SEM_SLEEP, __ATOMIC_RELAXED))
			continue;
		(void)weir__futex_wait(lock_half(sem), WEIR__SEM_LOCK | WEIR__SEM_SLEEP,
				       WEIR_NEVER);
		/* One sleeper is woken at a time and SLEEP is cleared before that. Others may be
		 * left, so whoever has slept takes the lock with SLEEP set. */
		others = WEIR__SEM_SLEEP;
		word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
	}
	return word;
}

/* Returns the word that it left. */
PART uint64_t lock(struct weir_sem *sem)
{
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);

	return WEIR__LIKELY(take_lock(sem, &word, 0)) ? word : wait_for_lock(sem, word);
}

/* From here to settle(): with the lock held. */

static uint32_t limit(const struct weir_sem *sem)
{
	return sem->setup & SETUP_LIMIT;
}

static struct weir_sem_counted *counted_of(struct weir_sem *sem)
{
	return (struct weir_sem_counted *)(void *)sem;
}

static void push(struct weir_sem *sem, struct weir_waiter *waiter, uint32_t n)
{
	waiter->next = NULL;
	waiter->prev = sem->tail;
	waiter->n = n;
	waiter->result = 0;
	if (sem->tail)
		sem->tail->next = waiter;
	else
		sem->head = waiter;
	sem->tail = waiter;
	WEIR__POKE(&sem->waiting, sem->waiting + 1);
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
		sem->head = next;
	if (!next)
		sem->tail = prev;
	else if (prev)
		next->prev = prev;
	if (waiter->prev)
		waiter->prev = NULL;
	WEIR__POKE(&sem->waiting, sem->waiting - 1);
}

static bool is_queued(const struct weir_sem *sem, const struct weir_waiter *waiter)
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
	if (now - since > sem->ticks_longest)
		WEIR__POKE(&sem->ticks_longest, now - since);
}

static bool must_be_slow(const struct weir_sem *sem, uint64_t now_held)
{
	return sem->head || (sem->setup & (SETUP_CLOSED | SETUP_COUNTED)) || limit(sem) == 0 ||
	       now_held > limit(sem);
}

/* Takes the head out; see pull(). */
PART void pull_head(struct weir_sem *sem, struct weir_waiter *head)
{
	struct weir_waiter *next = head->next;

	sem->head = next;
	if (!next)
		sem->tail = NULL;
	if (head->prev)
		head->prev = NULL;
	WEIR__POKE(&sem->waiting, sem->waiting - 1);
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
			pull_head(sem, head);
			batch_add(&batch, head);
			if (sem->waiting > MANY)
				batch_expect(sem->head);
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

int weir_sem_init(struct weir_sem *sem, uint32_t permits)
{
	if (permits == 0 || permits > WEIR_SEM_MAX)
		return -EINVAL;
	*sem = (struct weir_sem){ .word = WEIR__SEM_FREE(permits), .setup = permits };
	return 0;
}

int weir_sem_init_counted(struct weir_sem_counted *counted, uint32_t permits)
{
	if (permits == 0 || permits > WEIR_SEM_MAX)
		return -EINVAL;
	*counted = (struct weir_sem_counted){
		.sem = { .word = WEIR__SEM_SLOW, .setup = permits | SETUP_COUNTED },
	};
	return 0;
}

int weir_sem_init_traced(struct weir_sem_traced *traced, uint32_t permits)
{
	int error = weir_sem_init_counted(&traced->counted, permits);

	if (error == 0) {
		*traced = (struct weir_sem_traced){ .counted = traced->counted };
		traced->counted.slots = traced->slots;
	}
	return error;
}

/* Without the lock: 0 when n permits were taken, -EAGAIN or -E2BIG when not, 1 when only the lock
 * can tell. */
PART int take_free(struct weir_sem *sem, uint32_t n)
{
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);

	while (!(word & WEIR__SEM_SLOW)) {
		uint64_t free = word >> 32;

		if (n > free)
			return n > free + word_held(word) ? -E2BIG : -EAGAIN;
		if (WEIR__CAS(&sem->word, &word, word - WEIR__SEM_FREE(n) + WEIR__SEM_HELD(n),
			      __ATOMIC_ACQUIRE))
			return 0;
	}
	return 1;
}

/* The end of enter(). */
static __attribute__((noinline)) int enter_settled(struct weir_sem *sem, uint64_t word,
						   uint32_t taken, struct weir_waiter *waiter,
						   int result)
{
	struct weir__batch batch = settle(sem, word, taken, 0, (struct weir__batch){ NULL, NULL });

	/* A release that came meanwhile may have let our own waiter through already. */
	return WEIR__UNLIKELY(batch.first) && weir__batch_tell(batch, waiter) ? 0 : result;
}

/* Takes n permits at once (0), queues the waiter (its place in the queue, from 1) or refuses (an
 * error); without a waiter, -EAGAIN instead of queueing. */
PART int enter(struct weir_sem *sem, uint32_t n, struct weir_waiter *waiter)
{
	uint64_t word = lock(sem);
	uint32_t taken = 0;
	int result;

	if (WEIR__UNLIKELY(sem->setup & SETUP_CLOSED)) {
		result = -ESHUTDOWN;
	} else if (WEIR__UNLIKELY(n > (limit(sem) > 0 ? limit(sem) : WEIR_SEM_MAX))) {
		result = -E2BIG; /* paused, it waits for a limit that is not known yet */
	} else if (!sem->head && word_locked_held(word) + n <= limit(sem)) {
		taken = n;
		result = 0;
		if (sem->setup & SETUP_COUNTED)
			WEIR__POKE(&counted_of(sem)->granted_at_once,
				   counted_of(sem)->granted_at_once + 1);
	} else if (waiter) {
		push(sem, waiter, n);
		result = (int)sem->waiting;
		/* The short way of settle(): nobody fits who did not before, and the queue is not
		 * empty. */
		if (WEIR__LIKELY(
			    !(word & WEIR__SEM_SLEEP) &&
			    WEIR__CAS(&sem->word, &word, word - WEIR__SEM_LOCK, __ATOMIC_ACQ_REL)))
			return result;
	} else {
		result = -EAGAIN;
	}
	return enter_settled(sem, word, taken, waiter, result);
}

/* Takes the waiter out of the queue if it is still there, and says so. */
PART bool leave(struct weir_sem *sem, struct weir_waiter *waiter, uint32_t *count)
{
	struct weir__batch batch = { NULL, NULL };
	uint64_t word = lock(sem);
	bool queued = is_queued(sem, waiter);

	if (queued) {
		pull(sem, waiter);
		WEIR__POKE(count, *count + 1);
	}
	settle_and_tell(sem, word, batch);
	return queued;
}

/* Grants whoever fits, `first` included that has `taken` permits already, and tells them. */
static __attribute__((noinline)) void grant(struct weir_sem *sem, uint64_t word, uint32_t taken,
					    struct weir_waiter *first)
{
	batch_tell(
		settle(sem, word, taken, weir__park_ticks(), (struct weir__batch){ first, first }));
}

/* After a release of n that took the lock: `before` is the word as it was found, `word` as it is
 * now.
 *
 * The short way of settle(): if all permits were held, and the head wants as many as came back, all
 * are held again, and so nobody else fits. The word is then what it was, unless nobody is left in
 * the queue. One comparison says that no permit was free or owed, and that the semaphore is neither
 * closed nor counted: those bits of the set-up have no place in a word. */
PART void hand_over(struct weir_sem *sem, uint64_t before, uint64_t word, uint32_t n)
{
	struct weir_waiter *head = sem->head;

	if (WEIR__UNLIKELY(before != (WEIR__SEM_SLOW | WEIR__SEM_FREE(sem->setup)) ||
			   head->n != n)) {
		grant(sem, word, 0, NULL);
		return;
	}
	/* The clock is read while the waiter's cache lines are on their way. */
	batch_expect(head);
	count_wait(sem, head->since, weir__park_ticks());
	pull_head(sem, head);
	if (sem->waiting > MANY)
		batch_expect(sem->head);
	if (WEIR__LIKELY(WEIR__CAS(&sem->word, &word,
				   sem->head ? before : WEIR__SEM_HELD(limit(sem)),
				   __ATOMIC_ACQ_REL)))
		batch_tell((struct weir__batch){ head, head });
	else
		grant(sem, word, n, head);
}

PART int give_back(struct weir_sem *sem, uint32_t n)
{
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
	uint64_t next;

	if (n == 0)
		return -EINVAL;
	do {
		if (WEIR__UNLIKELY(word_held(word) < n))
			return -EOVERFLOW;
		if (WEIR__LIKELY(word & WEIR__SEM_SLOW))
			next = (word - WEIR__SEM_FREE(n)) | WEIR__SEM_LOCK;
		else
			next = word + WEIR__SEM_FREE(n) - WEIR__SEM_HELD(n);
	} while (WEIR__UNLIKELY(!WEIR__CAS(&sem->word, &word, next, __ATOMIC_ACQ_REL)));

	/* If somebody else has the lock, our permits are theirs to grant and we are done. Otherwise
	 * the lock came with the same step. */
	if ((word & WEIR__SEM_SLOW) && !(word & WEIR__SEM_LOCK))
		hand_over(sem, word, next, n);
	return 0;
}

static void describe(const void *object, char *text, size_t size)
{
	struct weir_sem_stats stats;

	weir_sem_stats(object, &stats);
	weir__format(text, size, "semaphore %p: %u of %u held, %u waiting", object, stats.held,
		     stats.limit, stats.waiting);
}

static const struct weir__kind kind = { .describe = describe, .holders = weir__trace_holders };

/* After a wait that ended with `result`, an error, on the waiter's side. */
static WEIR__COLD int give_up(struct weir_sem *sem, struct weir__parked *self, int result)
{
	uint32_t n = self->waiter.n;

	if (leave(sem, &self->waiter, result == -ETIMEDOUT ? &sem->timed_out : &sem->cancelled))
		return result;

	/* Too late: the wait was decided before. We are about to be told, and must wait for that,
	 * for our node is still being looked at. A grant is kept, even if it comes after the
	 * deadline; a cancelled task cannot keep it and passes it on. */
	(void)weir__park(&self->parking, WEIR_NEVER, WEIR__MUST);
	if (result == -ECANCELED && self->waiter.result == 0)
		(void)give_back(sem, n);
	else
		result = self->waiter.result;
	return result;
}

/* As enter(), for the calling thread or task. */
PART int enter_parked(struct weir_sem *sem, uint32_t n, struct weir__parked *self)
{
	weir__parking_init(&self->parking);
	self->parking.kind = &kind;
	self->parking.object = sem;
	self->waiter.wake = NULL;
	self->waiter.since = self->parking.since;
	return enter(sem, n, &self->waiter);
}

/* Queues the calling thread or task and parks it. */
WEIR__HOT WEIR__RETURNS_BY_JUMP static int acquire_parked(struct weir_sem *sem, uint32_t n,
							  weir_time deadline)
{
	struct weir__parked self WEIR__UNSET;
	int result = enter_parked(sem, n, &self);

	if (result <= 0)
		return result;

	result = weir__park(&self.parking, deadline, result <= NEAR ? WEIR__WATCH : WEIR__SLEEP);
	return WEIR__LIKELY(result == 0) ? self.waiter.result : give_up(sem, &self, result);
}

/* The same with a semaphore that may be destroyed, or is counted, or both. */
static WEIR__COLD int acquire_with_care(struct weir_sem *sem, uint32_t n, weir_time deadline,
					uint32_t setup)
{
	int result;

	if (setup & SETUP_HEAP)
		heap_pin(heap_of(sem));
	result = acquire_parked(sem, n, deadline);
	if (result == 0 && slots_of(sem, setup))
		weir__trace_take(slots_of(sem, setup), n);
	if (setup & SETUP_HEAP)
		heap_unpin(heap_of(sem));
	return result;
}

WEIR__HOT int weir_sem_acquire_until(struct weir_sem *sem, uint32_t n, weir_time deadline)
{
	uint32_t setup;
	int result;

	if (n == 0)
		return -EINVAL;
	result = take_free(sem, n);
	if (result == 0 || result == -E2BIG)
		return result;
	setup = WEIR__PEEK(&sem->setup);
	if (WEIR__UNLIKELY(setup & (SETUP_HEAP | SETUP_COUNTED)))
		return acquire_with_care(sem, n, deadline, setup);
	return acquire_parked(sem, n, deadline);
}

int weir_sem_try_acquire_slow(struct weir_sem *sem, uint32_t n)
{
	uint32_t setup = WEIR__PEEK(&sem->setup);
	int result;

	if (n == 0)
		return -EINVAL;
	result = take_free(sem, n);
	if (result > 0)
		result = enter(sem, n, NULL);
	if (result == 0 && slots_of(sem, setup))
		weir__trace_take(slots_of(sem, setup), n);
	return result;
}

int weir_sem_acquire_async(struct weir_sem *sem, uint32_t n, struct weir_waiter *waiter,
			   weir_wake_fn *wake)
{
	int result;

	if (n == 0 || !wake || WEIR__LOAD(&waiter->state, __ATOMIC_ACQUIRE) == WAITER_QUEUED)
		return -EINVAL;
	result = take_free(sem, n);
	if (result == 0 || result == -E2BIG)
		return result;

	waiter->sem = sem;
	waiter->wake = wake;
	waiter->since = weir__park_ticks();
	WEIR__POKE(&waiter->state, WAITER_QUEUED);
	result = enter(sem, n, waiter);
	/* Once it is queued the node belongs to whoever grants. */
	if (result > 0)
		return 1;
	WEIR__POKE(&waiter->state, WAITER_NEW);
	return result;
}

int weir_sem_cancel(struct weir_sem *sem, struct weir_waiter *waiter)
{
	if (waiter->sem != sem || WEIR__LOAD(&waiter->state, __ATOMIC_RELAXED) == WAITER_NEW)
		return -EINVAL;
	if (!leave(sem, waiter, &sem->cancelled))
		return 1;
	WEIR__POKE(&waiter->state, WAITER_NEW);
	return 0;
}

/* Before the permits go, for then the semaphore may go, too. */
static WEIR__COLD void strike_out(const struct weir_sem *sem, uint32_t n, uint64_t *slots)
{
	uint64_t held = word_held(WEIR__LOAD(&sem->word, __ATOMIC_RELAXED));

	if (n > 0 && n <= held)
		weir__trace_give(slots, n, held);
}

WEIR__HOT int weir_sem_release_slow(struct weir_sem *sem, uint32_t n)
{
	uint64_t *slots = slots_of(sem, WEIR__PEEK(&sem->setup));

	if (WEIR__UNLIKELY(slots))
		strike_out(sem, n, slots);
	return give_back(sem, n);
}

/* Ends the waits of those heavier than `most`. */
static void refuse(struct weir_sem *sem, uint32_t most, int result, struct weir__batch *batch)
{
	struct weir_waiter *next;

	for (struct weir_waiter *waiter = sem->head; waiter; waiter = next) {
		next = waiter->next;
		if (waiter->n > most) {
			pull(sem, waiter);
			waiter->result = result;
			batch_add(batch, waiter);
		}
	}
}

int weir_sem_resize(struct weir_sem *sem, uint32_t permits)
{
	struct weir__batch batch = { NULL, NULL };
	uint64_t word;
	int result = 0;

	if (permits > WEIR_SEM_MAX)
		return -EINVAL;
	word = lock(sem);
	if (sem->setup & SETUP_CLOSED) {
		result = -ESHUTDOWN;
	} else {
		WEIR__POKE(&sem->setup, (sem->setup & ~SETUP_LIMIT) | permits);
		if (permits > 0)
			refuse(sem, permits, -E2BIG, &batch);
	}
	settle_and_tell(sem, word, batch);
	return result;
}

void weir_sem_close(struct weir_sem *sem)
{
	struct weir__batch batch = { NULL, NULL };
	uint64_t word = lock(sem);

	WEIR__POKE(&sem->setup, sem->setup | SETUP_CLOSED);
	refuse(sem, 0, -ESHUTDOWN, &batch);
	settle_and_tell(sem, word, batch);
}

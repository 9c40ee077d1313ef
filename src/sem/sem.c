/* sem: acquire and release, and all that may happen on the way.
 *
 * Everyone who took the lock ends in settle(), the grant routine of settle.h. It has two short ways
 * here, for a semaphore of which all permits are held, and they leave it to settle() if a step of
 * theirs fails: join() of a waiter, who changes nothing for those before it, and hand_over() of
 * just what came back to the head.
 *
 * A WAITER THAT GIVES UP (its deadline passed, its task was cancelled, its owner calls cancel)
 * takes the lock and looks whether it is still in the queue. Then it is taken out and nothing has
 * happened. Otherwise its wait had been decided before, and it will be told: see give_up(). */
#include "base/hot.h"
#include "base/print.h"
#include "sem/batch.h"
#include "sem/heap.h"
#include "sem/settle.h"
#include "sem/trace.h"
#include "sem/word.h"

#include <errno.h>

_Static_assert(sizeof(struct weir_sem) <= 64, "a semaphore must fit a cache line");

/* The inline functions, once as ordinary ones: for callers in other languages. */
extern inline int weir_sem_acquire(struct weir_sem *sem, uint32_t n);
extern inline int weir_sem_try_acquire(struct weir_sem *sem, uint32_t n);
extern inline int weir_sem_release(struct weir_sem *sem, uint32_t n);

/* settle() for one who enters with `waiter`, if he has one, and would return `result`: tells the
 * others. A release that came meanwhile may have let our own waiter through already: 0. */
static __attribute__((noinline)) int settle_own(struct weir_sem *sem, uint64_t word, uint32_t taken,
						const struct weir_waiter *waiter, int result)
{
	struct weir__batch batch = settle(sem, word, taken, 0, (struct weir__batch){ NULL, NULL });

	return WEIR__UNLIKELY(batch.first) && weir__batch_tell(batch, waiter) ? 0 : result;
}

/* Without the lock, given the word as it was last seen: whether n permits could be taken; else
 * *word is what was found. */
PART bool take_free(struct weir_sem *sem, uint32_t n, uint64_t *word)
{
	while (WEIR__UNLIKELY(word_has_free(*word, n)))
		if (WEIR__CAS(&sem->word, word, *word - WEIR__SEM_FREE(n) + WEIR__SEM_HELD(n),
			      __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* With the lock: takes n permits at once (0), queues the waiter (its place in the queue, from 1) or
 * refuses (an error); without a waiter, -EAGAIN instead of queueing. */
static __attribute__((noinline)) int enter_locked(struct weir_sem *sem, uint64_t word, uint32_t n,
						  struct weir_waiter *waiter)
{
	uint32_t taken = 0;
	int result;

	if (sem->setup & SETUP_CLOSED) {
		result = -ESHUTDOWN;
	} else if (n > (limit(sem) > 0 ? limit(sem) : WEIR_SEM_MAX)) {
		result = -E2BIG; /* paused, it waits for a limit that is not known yet */
	} else if (!sem->head && word_locked_held(word) + n <= limit(sem)) {
		taken = n;
		result = 0;
		if (sem->setup & SETUP_COUNTED)
			WEIR__POKE(&counted_of(sem)->granted_at_once,
				   counted_of(sem)->granted_at_once + 1);
	} else if (waiter) {
		result = (int)push(sem, waiter, n);
	} else {
		result = -EAGAIN;
	}
	return settle_own(sem, word, taken, waiter, result);
}

/* How far the short way in led. */
enum way {
	QUEUED,    /* at *place, from 1 */
	UNSETTLED, /* the same, but the lock is held; *word is what was last seen */
	LOCKED,    /* only the lock was taken; *word is what it was taken with */
	NOTHING,   /* has happened */
};

/* The short way in. If all permits are held, n are not free: the waiter joins the queue, and nobody
 * fits who did not before. `word` and `setup` are what was last seen. */
PART enum way join(struct weir_sem *sem, uint64_t *word, uint32_t setup, uint32_t n,
		   struct weir_waiter *waiter, int *place)
{
	uint64_t full = word_full(setup);

	if (WEIR__UNLIKELY(*word != full && *word != word_full_alone(setup)) ||
	    WEIR__UNLIKELY(n - 1 >= (setup & SETUP_LIMIT)) ||
	    WEIR__UNLIKELY(!WEIR__CAS(&sem->word, word, full | WEIR__SEM_LOCK, __ATOMIC_ACQUIRE)))
		return NOTHING;
	*word = full | WEIR__SEM_LOCK;
	if (WEIR__UNLIKELY(sem->setup != setup))
		return LOCKED;
	*place = (int)push(sem, waiter, n);
	if (WEIR__UNLIKELY(!WEIR__CAS(&sem->word, word, full, __ATOMIC_ACQ_REL)))
		return UNSETTLED;
	return QUEUED;
}

/* The rest of the way: returns as enter_locked(). */
static __attribute__((noinline)) int enter(enum way way, struct weir_sem *sem, uint64_t word,
					   uint32_t n, struct weir_waiter *waiter, int place)
{
	if (way == UNSETTLED)
		return settle_own(sem, word, 0, waiter, place);
	return enter_locked(sem, way == LOCKED ? word : lock(sem), n, waiter);
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

/* Grants whoever fits, `first` included that has `taken` permits already, and tells them. 0, as
 * from all functions that follow: so each can end with the next, and has no frame to leave. */
static __attribute__((noinline)) int grant(struct weir_sem *sem, uint64_t word, uint32_t taken,
					   struct weir_waiter *first)
{
	batch_tell(
		settle(sem, word, taken, weir__park_ticks(), (struct weir__batch){ first, first }));
	return 0;
}

/* `word` is what was last seen. */
static __attribute__((noinline)) int give_back(struct weir_sem *sem, uint32_t n, uint64_t word)
{
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
	if (!(word & WEIR__SEM_SLOW) || (word & WEIR__SEM_LOCK))
		return 0;
	return grant(sem, next, 0, NULL);
}

/* The short way out, of a release of n that took the lock when all permits were held: if `setup` is
 * still what it was then. `word` is what it left.
 *
 * If the head wants as many as came back, all are held again, and so nobody else fits. The word is
 * then what it was, unless nobody is left in the queue. */
PART int hand_over(struct weir_sem *sem, uint32_t setup, uint64_t word, uint32_t n, uint64_t now)
{
	struct weir_waiter *head = sem->head;
	struct weir_waiter *next;

	if (WEIR__UNLIKELY(sem->setup != setup || head->n != n))
		return grant(sem, word, 0, NULL);
	count_wait(sem, head->since, now);
	next = pull_head(sem, head);
	if (WEIR__UNLIKELY(!WEIR__CAS(&sem->word, &word,
				      next ? word_full(setup) : word_full_alone(setup),
				      __ATOMIC_ACQ_REL)))
		return grant(sem, word, n, head);
	return tell_one(head);
}

/* By one who must look up the time: that is done while the head's cache lines are on their way. */
static __attribute__((noinline)) int hand_over_timed(struct weir_sem *sem, uint32_t setup,
						     uint64_t word, uint32_t n)
{
	batch_expect(sem->head);
	return hand_over(sem, setup, word, n, weir__ticks());
}

static void describe(const void *object, char *text, size_t size)
{
	struct weir_sem_stats stats;

	weir_sem_stats(object, &stats);
	weir__format(text, size, "semaphore %p: %u of %u held, %u waiting", object, stats.held,
		     stats.limit, stats.waiting);
}

/* Which one it waits for. */
static struct weir_sem *sem_of(const struct weir__parked *self)
{
	return (struct weir_sem *)(uintptr_t)self->parking.object;
}

/* Who was let through will release before long, to whoever is the first then. What that takes is
 * in the cache of another processor, where somebody has just queued: it is fetched while the caller
 * does what he has the permit for. */
static void expect(const struct weir__parking *parking)
{
	const struct weir_sem *sem = parking->object;
	const struct weir__parked *self =
		(const struct weir__parked *)(const void *)((const char *)parking -
							    offsetof(struct weir__parked, parking));

	if (WEIR__UNLIKELY(self->waiter.result < 0))
		return; /* the semaphore may be gone */
	expect_change(sem);
	expect_line(WEIR__PEEK(&sem->head));
}

static const struct weir__kind kind = {
	.describe = describe,
	.holders = weir__trace_holders,
	.expect = expect,
};

/* After a wait that ended with `result`, an error, on the waiter's side. */
static WEIR__COLD int give_up(struct weir__parked *self, int result)
{
	struct weir_sem *sem = sem_of(self);
	uint32_t n = self->waiter.n;

	if (leave(sem, &self->waiter, result == -ETIMEDOUT ? &sem->timed_out : &sem->cancelled))
		return result;

	/* Too late: the wait was decided before. We are about to be told, and must wait for that,
	 * for our node is still being looked at. A grant is kept, even if it comes after the
	 * deadline; a cancelled task cannot keep it and passes it on. */
	(void)weir__park(&self->parking, WEIR_NEVER, WEIR__MUST);
	if (result == -ECANCELED && self->waiter.result == 0)
		(void)give_back(sem, n, WEIR__LOAD(&sem->word, __ATOMIC_RELAXED));
	else
		result = self->waiter.result;
	return result;
}

/* The end of an acquire that has to wait. */
PART int wait_at(int place, struct weir__parked *self, weir_time deadline)
{
	int result = weir__park(&self->parking, deadline, (enum weir__patience)place);

	return WEIR__LIKELY(result == 0) ? self->waiter.result : give_up(self, result);
}

static WEIR__COLD int enter_and_wait(enum way way, uint64_t word, int place,
				     struct weir__parked *self, uint32_t n, weir_time deadline)
{
	if (n == 0)
		return -EINVAL;
	if (way == NOTHING && take_free(sem_of(self), n, &word))
		return 0;
	place = enter(way, sem_of(self), word, n, &self->waiter, place);
	return place > 0 ? wait_at(place, self, deadline) : place;
}

/* Queues the calling thread or task and parks it. `word` and `setup` are what was last seen. What
 * is hardly ever done is done by others who also do the rest: then no register need be kept for
 * what comes after them, and what this costs is how often it goes to memory. */
WEIR__HOT WEIR__RETURNS_BY_JUMP static int acquire_parked(struct weir_sem *sem, uint32_t n,
							  weir_time deadline, uint64_t word,
							  uint32_t setup, uint64_t now)
{
	struct weir__parked self WEIR__UNSET;
	enum way way;
	int place = 0;

	weir__parking_init_at(&self.parking, now);
	self.parking.kind = &kind;
	self.parking.object = sem;
	self.waiter.wake = NULL;
	self.waiter.since = now;
	way = join(sem, &word, setup, n, &self.waiter, &place);
	if (WEIR__UNLIKELY(way != QUEUED))
		return enter_and_wait(way, word, place, &self, n, deadline);
	return wait_at(place, &self, deadline);
}

/* By one who must look up the time. */
static __attribute__((noinline)) int
acquire_timed(struct weir_sem *sem, uint32_t n, weir_time deadline, uint64_t word, uint32_t setup)
{
	return acquire_parked(sem, n, deadline, word, setup, weir__ticks());
}

/* The same with a semaphore that may be destroyed, or is counted, or both. */
static WEIR__COLD int acquire_with_care(struct weir_sem *sem, uint32_t n, weir_time deadline,
					uint64_t word, uint32_t setup)
{
	int result;

	if (setup & SETUP_HEAP)
		heap_pin(heap_of(sem));
	result = acquire_parked(sem, n, deadline, word, setup, weir__park_ticks());
	if (result == 0 && slots_of(sem, setup))
		weir__trace_take(slots_of(sem, setup), n);
	if (setup & SETUP_HEAP)
		heap_unpin(heap_of(sem));
	return result;
}

/* Given the word as it was last seen, with too few permits free. */
PART int acquire_held(struct weir_sem *sem, uint32_t n, weir_time deadline, uint64_t word)
{
	uint32_t setup = WEIR__PEEK(&sem->setup);

	if (WEIR__UNLIKELY(setup & (SETUP_HEAP | SETUP_COUNTED)))
		return acquire_with_care(sem, n, deadline, word, setup);
	return WEIR__LIKELY(weir__parks_as.ticks) ?
		       acquire_parked(sem, n, deadline, word, setup, *weir__parks_as.ticks) :
		       acquire_timed(sem, n, deadline, word, setup);
}

WEIR__HOT int weir_sem_acquire_slow(struct weir_sem *sem, uint32_t n)
{
	return acquire_held(sem, n, WEIR_NEVER, WEIR__LOAD(&sem->word, __ATOMIC_RELAXED));
}

WEIR__HOT int weir_sem_acquire_until(struct weir_sem *sem, uint32_t n, weir_time deadline)
{
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);

	if (WEIR__UNLIKELY(n == 0))
		return -EINVAL;
	return take_free(sem, n, &word) ? 0 : acquire_held(sem, n, deadline, word);
}

int weir_sem_try_acquire_slow(struct weir_sem *sem, uint32_t n)
{
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
	uint32_t setup = WEIR__PEEK(&sem->setup);
	int result;

	if (n == 0)
		return -EINVAL;
	if (take_free(sem, n, &word))
		return 0;
	if (!(word & WEIR__SEM_SLOW))
		return n > (word >> 32) + word_held(word) ? -E2BIG : -EAGAIN;
	result = enter_locked(sem, lock(sem), n, NULL);
	if (result == 0 && slots_of(sem, setup))
		weir__trace_take(slots_of(sem, setup), n);
	return result;
}

int weir_sem_acquire_async(struct weir_sem *sem, uint32_t n, struct weir_waiter *waiter,
			   weir_wake_fn *wake)
{
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
	enum way way;
	int place = 0;
	int result;

	if (WEIR__LOAD(&waiter->state, __ATOMIC_ACQUIRE) == WAITER_QUEUED)
		return -EINVAL;
	/* Of the wait before, if there was one, nothing is left to cancel. */
	WEIR__POKE(&waiter->state, WAITER_NEW);
	if (n == 0 || !wake)
		return -EINVAL;
	if (take_free(sem, n, &word))
		return 0;

	waiter->sem = sem;
	waiter->wake = wake;
	waiter->since = weir__park_ticks();
	WEIR__POKE(&waiter->state, WAITER_QUEUED);
	way = join(sem, &word, WEIR__PEEK(&sem->setup), n, waiter, &place);
	result = WEIR__LIKELY(way == QUEUED) ? place : enter(way, sem, word, n, waiter, place);
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

/* All that the short way of a release is not for. The permits are struck out before they go, for
 * then the semaphore may go, too. */
static WEIR__COLD int release_any(struct weir_sem *sem, uint32_t n, uint32_t setup, uint64_t word)
{
	uint64_t *slots = slots_of(sem, setup);

	if (slots && n > 0 && n <= word_held(word))
		weir__trace_give(slots, n, word_held(word));
	return give_back(sem, n, word);
}

WEIR__HOT int weir_sem_release_slow(struct weir_sem *sem, uint32_t n)
{
	uint32_t setup = WEIR__PEEK(&sem->setup);
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
	uint64_t locked = word_full(setup) - WEIR__SEM_FREE(n) + WEIR__SEM_LOCK;

	if (WEIR__UNLIKELY(n - 1 >= (setup & SETUP_LIMIT)) ||
	    WEIR__UNLIKELY(word != word_full(setup)) ||
	    WEIR__UNLIKELY(!WEIR__CAS(&sem->word, &word, locked, __ATOMIC_ACQ_REL)))
		return release_any(sem, n, setup, word);
	return WEIR__LIKELY(weir__parks_as.ticks) ?
		       hand_over(sem, setup, locked, n, *weir__parks_as.ticks) :
		       hand_over_timed(sem, setup, locked, n);
}

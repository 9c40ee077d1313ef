/* stress: what the parts of the storm share.
 *
 * THE GHOSTS know only what callers know, and catch the semaphore when it breaks a promise:
 *     inside    the permits whose holders are between their acquire and their release. Added after
 * the one and taken off before the other, so it is never more than what is really held, and must
 * never be more than the largest limit that may be in force (P1). bounds    the largest and the
 * smallest limit that may be in force. While a resize is under way that is two limits, and the
 * larger one lasts until the debt is paid. They change under `epoch`, odd meanwhile: a check that
 * saw the epoch change proves nothing and is not made; how many were made is printed. tallies   how
 * each request ended, as its caller saw it (P5), to be compared with the statistics. They are
 * relaxed wherever that suffices, so as not to order for ThreadSanitizer what only the semaphore
 * should. */
#ifndef TESTS_STRESS_STORM_H
#define TESTS_STRESS_STORM_H

#include "support/stress.h"

#include <pthread.h>
#include <weir/sem.h>

enum { MOST_WORKERS = 8, MOST_LIMIT = 12 };

struct tally {
	uint64_t granted;
	uint64_t timed_out;
	uint64_t cancelled;
	uint64_t too_heavy;
	uint64_t shut_out;
	uint64_t failed_tries;
	uint64_t checks; /* of `inside` against a bound that held still */
};

struct storm {
	struct weir_sem *sem; /* on the heap, or the one below */
	struct weir_sem_counted embedded;
	uint32_t workers;
	uint32_t limit; /* the first and the last; the only one unless it is resized */
	bool resized;
	bool closed_in_the_end;
	bool interrupted; /* by signals */

	bool calm;    /* whoever changes things stops */
	bool closing; /* a request may be shut out from now on */
	bool stop;    /* workers finish */

	uint32_t inside;
	uint32_t epoch;
	uint32_t largest;
	uint32_t smallest;
	struct tally tally;
	/* Plain, and touched only by a holder of all permits of a semaphore that is not resized. */
	uint64_t exclusive;
	uint64_t exclusive_expected;

	pthread_t threads[MOST_WORKERS];
};

struct worker {
	struct storm *storm;
	struct rng rng;
};

static inline void tally(uint64_t *count)
{
	(void)__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static inline bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static inline void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_SEQ_CST);
}

/* To be called before a request, so that its outcome can be judged. */
static inline uint32_t ghost_epoch(const struct storm *storm)
{
	return __atomic_load_n(&storm->epoch, __ATOMIC_SEQ_CST);
}

static inline bool ghost_bounds_held_still(const struct storm *storm, uint32_t since)
{
	return since % 2 == 0 && ghost_epoch(storm) == since;
}

/* Says that n permits were granted to a request made at epoch `since`. */
void ghost_enter(struct storm *storm, uint32_t n, uint32_t since);

/* Says that they are about to be released. */
void ghost_leave(struct storm *storm, uint32_t n);

/* Says that a request for n was not granted, and why. */
void ghost_refused(struct storm *storm, uint32_t n, int result, uint32_t since);

/* Moves the bounds: `largest` and `smallest` may be in force from now on. */
void ghost_set_bounds(struct storm *storm, uint32_t largest, uint32_t smallest);

/* A worker: asks, holds, releases, gives up, until it is told to stop or shut out. */
void *worker_run(void *worker);

/* The one who changes things: resizes, signals, and reads the statistics meanwhile. */
void *meddler_run(void *worker);

#endif

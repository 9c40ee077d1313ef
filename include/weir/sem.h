/* weir/sem.h - the semaphore: `limit` permits and one FIFO queue of those who wait for them.
 *
 * WHAT IT IS
 *     A counting semaphore for threads, for tasks and for callers with an event loop of their
 *     own, all in one queue. A request takes n permits at once, its weight. A mutex is a semaphore
 *     of one permit; a connection pool is one of as many permits as connections.
 *
 *         static struct weir_sem slots = WEIR_SEM_INIT(3);
 *
 *         WEIR_HOLD(&slots, 1) {
 *                 work();
 *         }
 *
 * PROMISES
 *     P1  Never more than `limit` permits are out. A shrink revokes nobody; nothing is granted
 *         until what is held and what is asked for fit the limit.
 *     P2  Permits are conserved: free + held = limit + owed at every moment.
 *     P3  Strict FIFO. A newcomer never overtakes a queued waiter, a try included, even when it
 *         would fit and the head of the queue does not. A heavy head is never starved.
 *     P4  No hand-off is lost: whenever no call is in progress, the queue is empty or its head
 *         does not fit.
 *     P5  Each acquire has exactly one outcome; one that was not granted changed nothing.
 *     P6  Once a release has made a permit visible it touches the semaphore no more. Whoever
 *         holds the last permit may free the semaphore's memory at once, although the release
 *         that granted it has not returned yet.
 *     P7  No allocation, ever (but for weir_sem_new); no lock and no system call while nobody
 *         waits; at most one wake-up for each grant.
 *     P8  Every wrong use has a defined error and changes nothing.
 *     P9  Deadlines are on the monotonic clock and are never early.
 *
 * WHO MAY CALL
 *     Any thread, any task. weir_sem_release may be called from a signal handler, even one that
 *     interrupted a call on the same semaphore; the functions of async waiters it grants then run
 *     in that handler, and perhaps those that the interrupted thread was about to call. Nothing
 *     else here may. No call is a cancellation point of pthread_cancel. A semaphore belongs to one
 *     process: after fork() in a process with several threads the child must not use it. A thread
 *     or a task that ends while it holds permits, however it ends, does not give them back:
 *     WEIR_HOLD does, on the ways out of its block that are named there.
 *
 * MEMORY ORDER
 *     What a thread wrote before a release is visible to whoever acquires a permit after it.
 *
 * ERRORS, each with one meaning
 *     -EINVAL     zero permits, zero weight, a limit above WEIR_SEM_MAX, a waiter in use
 *     -E2BIG      the weight is above the limit: it could never be granted
 *     -EAGAIN     a try failed: no room, or others wait
 *     -ETIMEDOUT  the deadline passed
 *     -ECANCELED  the waiting task was cancelled
 *     -EDEADLK    the task waits and nobody is left who could release: see weir/task.h
 *     -ESHUTDOWN  the semaphore is closed
 *     -EOVERFLOW  more permits were released than are held
 *     -ENOMEM     weir_sem_new found no memory
 */
#ifndef WEIR_SEM_H
#define WEIR_SEM_H

#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest limit, and so the largest weight. */
#define WEIR_SEM_MAX UINT32_C(0x1fffffff)

struct weir_waiter;

/* A semaphore. It is visible so that it can be embedded and initialised statically; its members
 * are private. It owns nothing, so its memory may go as soon as nobody uses it. It is one cache
 * line long; aligning it to one (64 bytes) keeps neighbours from slowing each other down. */
struct weir_sem {
	uint64_t word; /* the state word: see the table below */
	struct weir_waiter
		*head; /* the queue; the word's LOCK bit guards it and all that follows */
	struct weir_waiter *tail;
	uint32_t setup; /* the limit and flags */
	uint32_t waiting;
	uint32_t timed_out;
	uint32_t cancelled;
	uint64_t granted_after_wait;
	uint64_t ticks_waited;
	uint64_t ticks_longest;
};

/* The same, and it counts what only the fast path sees: requests granted at once and the peak of
 * permits held. Its acquires pay for that with a second atomic step; use `&counted.sem` with every
 * function of this header. */
struct weir_sem_counted {
	struct weir_sem sem;
	uint64_t granted_at_once;
	uint32_t peak_held;
	uint64_t *slots; /* of a traced one */
};

/* The same, and it knows who holds its permits: the report of a deadlock and weir_sched_dump (see
 * weir/task.h) then name them. Each acquire and release pays for that with some more atomic steps,
 * and a thread's by asking the kernel for its number; use `&traced.counted.sem` with every function
 * of this header. Up to WEIR_SEM_HOLDERS tasks and threads are recorded at a time; async waiters
 * are not. A permit that somebody else gives back than took it is taken off the record of one of
 * the holders, as soon as there are more of those than permits. */
#define WEIR_SEM_HOLDERS 16
struct weir_sem_traced {
	struct weir_sem_counted counted;
	uint64_t slots[WEIR_SEM_HOLDERS];
};

/* A static initialiser for `permits` permits, a constant from 1 to WEIR_SEM_MAX (checked when it
 * is compiled). */
#define WEIR_SEM_INIT(permits)                                                                     \
	{                                                                                          \
		WEIR__SEM_FREE(WEIR__SEM_CHECKED(permits)), NULL, NULL, (uint32_t)(permits), 0, 0, \
			0, 0, 0, 0                                                                 \
	}

/* Makes *sem a semaphore of `permits` permits, all free.
 * 0; -EINVAL when permits is 0 or above WEIR_SEM_MAX, and *sem is untouched. */
WEIR_API int weir_sem_init(struct weir_sem *sem, uint32_t permits);
WEIR_API int weir_sem_init_counted(struct weir_sem_counted *counted, uint32_t permits);
WEIR_API int weir_sem_init_traced(struct weir_sem_traced *traced, uint32_t permits);

/* A semaphore on the heap, for handles that are passed around: weir_sem_new returns it with one
 * reference, weir_sem_ref adds one and returns its argument, weir_sem_unref drops one (NULL is
 * fine). Dropping the last reference closes the semaphore: whoever still waits gets -ESHUTDOWN, and
 * the memory goes when the last of them has left. Flags: 0, WEIR_SEM_COUNTED or
 * WEIR_SEM_TRACED.
 * 0; -EINVAL for bad permits or flags; -ENOMEM. */
#define WEIR_SEM_COUNTED 1u
#define WEIR_SEM_TRACED 2u
WEIR_API int weir_sem_new(uint32_t permits, uint32_t flags, struct weir_sem **ret);
WEIR_API struct weir_sem *weir_sem_ref(struct weir_sem *sem);
WEIR_API void weir_sem_unref(struct weir_sem *sem);

/* Takes n permits, waiting for them as long as it takes.
 * 0; -EINVAL, -E2BIG, -ESHUTDOWN; in a task -ECANCELED, -EDEADLK. */
WEIR_API inline int weir_sem_acquire(struct weir_sem *sem, uint32_t n);

/* Takes n permits if they are free and nobody waits.
 * 0; -EAGAIN; -EINVAL, -E2BIG, -ESHUTDOWN. */
WEIR_API inline int weir_sem_try_acquire(struct weir_sem *sem, uint32_t n);

/* Takes n permits, waiting until `deadline` at the longest. Permits that can be had at once are
 * granted even when the deadline has passed already; a task then lets others run before it gives
 * up.
 * 0; -ETIMEDOUT; -EINVAL, -E2BIG, -ESHUTDOWN; in a task -ECANCELED, -EDEADLK. */
WEIR_API int weir_sem_acquire_until(struct weir_sem *sem, uint32_t n, weir_time deadline);

/* Gives n permits back and grants whoever is next and fits. Works on a closed semaphore too. The
 * caller need not be the one who acquired. A release of n grants to at most n waiters, and to those
 * that releases at the same moment make room for.
 * 0; -EINVAL when n is 0; -EOVERFLOW when fewer than n permits are held. */
WEIR_API inline int weir_sem_release(struct weir_sem *sem, uint32_t n);

/* Changes the limit. Raising it grants whoever now fits, in order. Lowering it revokes nobody: what
 * is held above the limit is owed, and later releases pay that first; a waiter heavier than the new
 * limit fails at once with -E2BIG. 0 pauses: nobody is granted and nobody fails until it is raised.
 * 0; -EINVAL when permits is above WEIR_SEM_MAX; -ESHUTDOWN. */
WEIR_API int weir_sem_resize(struct weir_sem *sem, uint32_t permits);

/* Closes the semaphore for good: everyone who waits, and every later acquire, gets -ESHUTDOWN.
 * Permits that are held stay held and are released as usual. A second close does nothing. */
WEIR_API void weir_sem_close(struct weir_sem *sem);

/* A snapshot. Reading it stops nobody. limit, free, held and owed fit together; the others may be a
 * moment older or newer. The counts of timeouts and cancellations are kept modulo 2^32. How long
 * tasks waited is measured by a clock that their scheduler reads now and then, and not while a task
 * computes: a wait may seem shorter or longer by as long as one did. */
struct weir_sem_stats {
	uint32_t limit;
	uint32_t free;
	uint32_t held;
	uint32_t owed;    /* held above the limit, after a shrink */
	uint32_t waiting; /* in the queue now */
	uint32_t timed_out;
	uint32_t cancelled; /* or told of a deadlock */
	bool closed;
	uint64_t granted_after_wait; /* requests that were queued and then granted */
	weir_time wait_total;        /* nanoseconds those spent in the queue, together ... */
	weir_time wait_longest;      /* ... and the longest of them */
	bool counted;                /* whether the next two are kept, else they are 0 */
	uint64_t granted_at_once;
	uint32_t peak_held;
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* g++: a function named like a struct, as stat() is */
WEIR_API void weir_sem_stats(const struct weir_sem *sem, struct weir_sem_stats *ret);
#pragma GCC diagnostic pop

/* Waiting without a stack. The caller brings the node, embedded in whatever it belongs to, and a
 * function that is called once when the wait ends: with 0 when the permits are the caller's, with
 * -ESHUTDOWN or -E2BIG when they never will be.
 *
 * The function runs with no lock held, in the thread that released, resized or closed, or in one
 * that was inside another call on the semaphore at that moment, be it an acquire or a try that
 * fails: so a lock that is held around any of these calls must not be taken by the function. It may
 * use the semaphore (but after -ESHUTDOWN not one of weir_sem_new's, which may be gone), free the
 * node and start another wait with it. It must not block, and must return: an exception or longjmp
 * out of it would leave others untold. When it releases permits itself, the next waiter's function
 * runs after it has returned, never inside it, so chains of any length need no stack. */
typedef void weir_wake_fn(struct weir_waiter *waiter, int result);

/* A node; all zero is a fresh one. It must stay where it is while it waits. Members are private. */
struct weir_waiter {
	struct weir_waiter *next;
	struct weir_waiter *prev;
	struct weir_sem *sem;
	weir_wake_fn *wake;
	uint64_t since;
	uint32_t n;
	uint32_t state;
	int32_t result;
};

/* Takes n permits, or queues the node.
 * 0: taken at once, `wake` will not be called. 1: queued, `wake` will be called exactly once unless
 * weir_sem_cancel returns 0 first. -EINVAL (also for a node that still waits), -E2BIG, -ESHUTDOWN:
 * nothing happened. */
WEIR_API int weir_sem_acquire_async(struct weir_sem *sem, uint32_t n, struct weir_waiter *waiter,
				    weir_wake_fn *wake);

/* Takes the node out of the queue, from anywhere in it, in constant time.
 * 0: it no longer waits and `wake` will not be called. 1: too late, `wake` has been called or is
 * about to be, perhaps in another thread. -EINVAL: the node did not wait for this semaphore. The
 * node must stay while this runs: where another thread may cancel, `wake` must not free it. */
WEIR_API int weir_sem_cancel(struct weir_sem *sem, struct weir_waiter *waiter);

/* Holds n permits while the block that follows runs, and gives them back on these ways out of it:
 * its end, break, continue, return, goto, and an exception in C++; but not longjmp, and the end of
 * the thread inside of it (pthread_exit, pthread_cancel) only in C++ or with -fexceptions. When the
 * acquire fails the block is skipped. A third argument, an int *, receives 0 or the error:
 *
 *     int error;
 *     WEIR_HOLD(&sem, 1, &error) {
 *             work();
 *     }
 *     if (error < 0)
 *             fprintf(stderr, "%s\n", weir_strerror(error));
 */
#define WEIR_HOLD(...) WEIR__HOLD_PICK(__VA_ARGS__, WEIR__HOLD3, WEIR__HOLD2, 0)(__VA_ARGS__)

/* The parts of acquire, try_acquire and release that are not inline. Call the functions above
 * instead. */
WEIR_API int weir_sem_acquire_slow(struct weir_sem *sem, uint32_t n);
WEIR_API int weir_sem_try_acquire_slow(struct weir_sem *sem, uint32_t n);
WEIR_API int weir_sem_release_slow(struct weir_sem *sem, uint32_t n);

/* Everything below is private.
 *
 * THE STATE WORD
 *     bit 63      SLOW   the inline paths must keep out
 *     bits 62-32         SLOW clear: permits free      SLOW set: permits held
 *     bits 31-2          SLOW clear: permits held      SLOW set: 0
 *     bit 1       SLEEP  somebody sleeps in the kernel until LOCK is clear
 *     bit 0       LOCK   somebody works on the queue; implies SLOW
 *
 * SLOW stays set while the queue is not empty, the semaphore is closed, paused (limit 0), counted
 * or in debt (held above the limit). While it is clear, free + held is the limit. So each inline
 * path needs a single comparison: an acquire finds "free" negative and a release finds "held" zero
 * when SLOW is set, and both then take the slow path. */
#define WEIR__SEM_LOCK UINT64_C(1)
#define WEIR__SEM_SLEEP UINT64_C(2)
#define WEIR__SEM_SLOW (UINT64_C(1) << 63)
#define WEIR__SEM_FREE(n) ((uint64_t)(n) << 32)
#define WEIR__SEM_HELD(n) ((uint64_t)(n) << 2)
#define WEIR__SEM_CHECKED(n) ((n) * sizeof(char[(n) >= 1 && (n) <= WEIR_SEM_MAX ? 1 : -1]))

/* The inline paths: whether n permits were taken, or given back, in one step.
 *
 * In general the word is read, looked at and replaced. But when n is the whole limit, as with every
 * mutex, only one word will do, and the step need not wait for the reading. That is tried where it
 * is likely to succeed: an acquire of what nobody has ever waited for, a release that nobody waits
 * for. All this is a mere hint: what is right is decided by the word that is found. */
#define WEIR__SEM_STEP(sem, n, only, likely, fits, change, order)                        \
	__extension__({                                                                  \
		uint64_t word = (only);                                                  \
		bool done = false;                                                       \
		if ((n) == 0 || (n) > WEIR_SEM_MAX) {                                    \
			/* The slow path knows what to say. */                           \
		} else if (WEIR__PEEK(&(sem)->setup) == (n) && (likely)) {               \
			done = WEIR__CAS(&(sem)->word, &word, (only) + (change), order); \
		} else {                                                                 \
			word = WEIR__LOAD(&(sem)->word, __ATOMIC_RELAXED);               \
			done = WEIR__LIKELY(fits) &&                                     \
			       WEIR__CAS(&(sem)->word, &word, word + (change), order);   \
		}                                                                        \
		WEIR__LIKELY(done);                                                      \
	})

#define WEIR__SEM_TAKE(sem, n)                                                                 \
	WEIR__SEM_STEP(sem, n, WEIR__SEM_FREE(n), WEIR__PEEK(&(sem)->granted_after_wait) == 0, \
		       (int64_t)word >= (int64_t)WEIR__SEM_FREE(n),                            \
		       WEIR__SEM_HELD(n) - WEIR__SEM_FREE(n), __ATOMIC_ACQUIRE)

#define WEIR__SEM_GIVE(sem, n)                                                                     \
	WEIR__SEM_STEP(sem, n, WEIR__SEM_HELD(n), WEIR__PEEK(&(sem)->waiting) == 0,                \
		       (uint32_t)word >= WEIR__SEM_HELD(n), WEIR__SEM_FREE(n) - WEIR__SEM_HELD(n), \
		       __ATOMIC_RELEASE)

inline int weir_sem_acquire(struct weir_sem *sem, uint32_t n)
{
	if (WEIR__SEM_TAKE(sem, n))
		return 0;
	return weir_sem_acquire_slow(sem, n);
}

inline int weir_sem_try_acquire(struct weir_sem *sem, uint32_t n)
{
	if (WEIR__SEM_TAKE(sem, n))
		return 0;
	return weir_sem_try_acquire_slow(sem, n);
}

inline int weir_sem_release(struct weir_sem *sem, uint32_t n)
{
	if (WEIR__SEM_GIVE(sem, n))
		return 0;
	return weir_sem_release_slow(sem, n);
}

/* One hold of WEIR_HOLD; `open` until its block has run. */
struct weir__hold {
	struct weir_sem *sem;
	uint32_t n;
	bool open;
};

static inline struct weir__hold weir__hold_begin(struct weir_sem *sem, uint32_t n, int *error)
{
	struct weir__hold hold = { sem, n, false };
	int result = weir_sem_acquire(sem, n);

	if (result == 0)
		hold.open = true;
	else
		hold.sem = NULL;
	if (error)
		*error = result;
	return hold;
}

static inline void weir__hold_end(struct weir__hold *hold)
{
	if (hold->sem)
		(void)weir_sem_release(hold->sem, hold->n);
}

#define WEIR__JOIN2(a, b) a##b
#define WEIR__JOIN(a, b) WEIR__JOIN2(a, b)
#define WEIR__HOLD_PICK(a, b, c, pick, ...) pick
#define WEIR__HOLD2(sem, n) WEIR__HOLD3(sem, n, NULL)
#define WEIR__HOLD3(sem, n, error) WEIR__HOLD_AS(WEIR__JOIN(weir__hold_, __LINE__), sem, n, error)
#define WEIR__HOLD_AS(name, sem, n, error)                                                     \
	for (struct weir__hold name                                                            \
	     __attribute__((cleanup(weir__hold_end))) = weir__hold_begin((sem), (n), (error)); \
	     name.open; name.open = false)

#ifdef __cplusplus
}
#endif

#endif

/* park: how a caller waits.
 *
 * A caller waits either as a thread, which sleeps in the kernel, or in some other way that a higher
 * layer brings along and installs for the calling thread: a scheduler's task switches away. Whoever
 * parks never knows which. This layer owns the table of the two functions that differ and the
 * current one.
 *
 * One wait, from the waiter's side and from the other:
 *
 *     struct weir__parking parking;
 *     weir__parking_init(&parking);
 *     ... let the other side find &parking ...      ... finds it ...
 *     weir__park(&parking, deadline, patience);     weir__unpark(&parking);
 *
 * THE WORD OF A PARKING has three values. EMPTY: neither side has come. PARKED: the waiter sleeps,
 * or is about to. NOTIFIED: the other side has come. Only unpark writes NOTIFIED, or whoever does
 * so for it in the waiter's thread, and whoever replaces PARKED by another value decides how the
 * wait ends. A kind of waiter that never looks twice before it sleeps may begin with PARKED and
 * save a step.
 *
 * LIFETIME. A parking lives on the waiter's stack and is gone as soon as park has returned 0. So
 * unpark reads all it needs before the last thing it writes, be that the word or a note to the
 * waiter's thread; afterwards it may only wake by address.
 */
#ifndef WEIR_PARK_PARK_H
#define WEIR_PARK_PARK_H

#include "base/clock.h"

#include <weir/base.h>

struct weir__parking;

/* How a wait may be spent. Any place in a queue will do: up to WEIR__NEAR the other side is
 * expected soon. */
enum weir__patience {
	WEIR__MUST,  /* it is on its way for certain: no deadline, no cancellation */
	WEIR__WATCH, /* it is expected soon: watch for it a while before sleeping */
	WEIR__NEAR = 16,
	WEIR__SLEEP, /* it is not */
};

/* The two functions that differ between kinds of waiters. */
struct weir__parker {
	/* 0: notified. -ETIMEDOUT, -ECANCELED: gave up, and may still be notified at any time. */
	int (*park)(struct weir__parking *parking, weir_time deadline,
		    enum weir__patience patience);
	/* Notifies, from any thread. 0, so that a function which returns that can end with it. */
	int (*unpark)(struct weir__parking *parking);
	/* Who it is, for weir__park_who; NULL: the thread. */
	uint64_t (*who)(const void *self);
	uint32_t begin; /* the word of a new parking: EMPTY, or PARKED */
};

/* WHO is a number for people: a thread's id, or a scheduler's number and below it a task's. They
 * may wrap around and are never 0. */
enum { WEIR__WHO_HOME_SHIFT = 24, WEIR__WHO_IDS = (1 << 24) - 1, WEIR__WHO_HOMES = (1 << 11) - 1 };

static inline uint64_t who_home(uint64_t who)
{
	return who >> WEIR__WHO_HOME_SHIFT;
}

struct weir__holding {
	uint64_t who;
	uint32_t permits;
};

/* What is waited for, in words for people. */
enum { WEIR__HOLDINGS = 16 };
struct weir__kind {
	/* Says in a few words what `object` is. */
	void (*describe)(const void *object, char *text, size_t size);
	/* Who holds it, up to WEIR__HOLDINGS of them, and how many permits others hold; how many it
	 * found, or -1 when that is not recorded. NULL: nobody can hold it. */
	int (*holders)(const void *object, struct weir__holding *ret, uint32_t *unknown);
	/* Another thread has ended this wait, and its caller does not know yet: fetches what he
	 * needs next while he is told. NULL: nothing. */
	void (*expect)(const struct weir__parking *parking);
	/* Whether the wait may end because of what others of its scheduler do when theirs fails.
	 * NULL: it does not. */
	bool (*follows)(const void *object);
};

enum { WEIR__EMPTY, WEIR__PARKED, WEIR__NOTIFIED };

/* To the thread that runs a waiter of another kind, if it is not the one that unparks. */
struct weir__message {
	struct weir__message *next;
	/* Runs in that thread. */
	void (*deliver)(struct weir__message *message);
};

/* The parker comes first and apart: whoever unparks reads it before it writes the word that the
 * waiter may be watching, and best on another cache line. */
struct weir__parking {
	const struct weir__parker *parker;
	uint32_t word;
	void *self;     /* how the parker finds the waiter again; a thread needs nothing */
	uint64_t since; /* when it began, in ticks */
	const struct weir__kind *kind; /* of what is waited for; or NULL */
	const void *object;
	struct weir__message message; /* the parker's own: that the wait has ended */
};

/* Waits for unpark, until `deadline` at the longest. After anything but 0 the other side may still
 * come, or have come just now: the caller makes sure that it has not and will not, or parks again
 * with WEIR__MUST. */
static inline int weir__park(struct weir__parking *parking, weir_time deadline,
			     enum weir__patience patience)
{
	return parking->parker->park(parking, deadline, patience);
}

/* Ends the wait. Called exactly once for each parking that the other side found. 0. */
static inline int weir__unpark(struct weir__parking *parking)
{
	return parking->parker->unpark(parking);
}

/* For a function that mostly parks before it returns to the caller of the library: it returns by a
 * jump. A processor predicts a return to go where the last call came from, and after a switch
 * between tasks that was another task's. What a jump does is predicted by the branches before it.
 * Between two tasks that hand over to each other it was a third of the time. */
#if defined(__x86_64__) && __has_attribute(function_return) && !defined(WEIR_SEAM_HEADER)
#define WEIR__RETURNS_BY_JUMP __attribute__((noinline, function_return("thunk-extern")))
#else
#define WEIR__RETURNS_BY_JUMP
#endif

/* The kind of waiter that the calling thread is, until it is told otherwise: a thread. */
extern const struct weir__parker weir__thread_parker;

/* Who the calling thread waits as. No parker means the thread itself, so that a new thread needs no
 * set-up. */
struct weir__parks_as {
	const struct weir__parker *parker;
	void *self;
	const uint64_t *ticks;
};
WEIR__TLS_EXTERN struct weir__parks_as weir__parks_as;

/* Makes the calling thread wait through `parker`, which finds it by `self`; NULL for the thread's
 * own. A scheduler brackets its run loop with this. */
void weir__parker_set(const struct weir__parker *parker, void *self);

/* Who the caller is. */
uint64_t weir__park_who(void);

/* Where the calling thread's `self` is kept, for a scheduler that changes it at every switch. */
void **weir__parker_self(void);

/* Gives the calling thread a clock that is cheaper to read than weir__ticks; NULL takes it away. */
void weir__park_ticks_set(const uint64_t *ticks);

/* How late it is, as ticks, for statistics. */
static inline uint64_t weir__park_ticks(void)
{
	const uint64_t *ticks = weir__parks_as.ticks;

	return ticks ? *ticks : weir__ticks();
}

/* Starts a wait of whoever calls, and sets all members but the message. The caller may add what it
 * is for. `now` is weir__park_ticks(). */
static inline void weir__parking_init_at(struct weir__parking *parking, uint64_t now)
{
	const struct weir__parker *parker = weir__parks_as.parker;

	if (!parker)
		parker = &weir__thread_parker;
	parking->word = parker->begin;
	parking->parker = parker;
	parking->self = weir__parks_as.self;
	parking->since = now;
	parking->kind = NULL;
	parking->object = NULL;
}

static inline void weir__parking_init(struct weir__parking *parking)
{
	weir__parking_init_at(parking, weir__park_ticks());
}

#endif

/* task: futures, from the inside. */
#ifndef WEIR_TASK_FUTURE_H
#define WEIR_TASK_FUTURE_H

#include "base/lock.h"
#include "task/sched.h"

#include <weir/task.h>

/* Somebody who wants to know when a future ends. */
struct weir__listener {
	struct weir__listener *next;
	struct weir__listener *prev;
	/* Called once, with the future's lock held: it must be short, and it may unpark. */
	void (*ended)(struct weir__listener *listener, struct weir_future *future);
};

/* Within one cache line, for there is one for each task. */
struct weir_future {
	uint32_t refs;
	struct weir__lock lock; /* guards the rest */
	int error;
	uint8_t ended; /* shared: 1 when error, value and order are there */
	bool is_task;
	bool cancel_sent;
	union {
		struct { /* before the end */
			struct weir__listener *first;
			struct weir__listener *last;
		};
		struct { /* after it */
			intptr_t value;
			uint64_t order; /* of all futures that have ended, the how manieth it was */
		};
	};
	struct weir__task *task;     /* NULL: a promise, or ended */
	struct weir__message cancel; /* on its way to the task's scheduler */
};

/* With one handle, or for a task with two, of which one is the task's own. NULL: no memory. */
struct weir_future *weir__future_new(struct weir__task *task);

/* The same of one that nobody has a handle of. */
void weir__future_renew(struct weir_future *future, struct weir__task *task);

static inline bool future_ended(const struct weir_future *future)
{
	return WEIR__LOAD(&future->ended, __ATOMIC_ACQUIRE);
}

/* Ends it and tells all who listen. Whether it had not ended before. The caller owns a handle, but
 * for the end of a promise. */
bool weir__future_end(struct weir_future *future, int error, intptr_t value);
bool weir__promise_end(struct weir_future *promise, int error, intptr_t value);

/* The end of a task: ends its future, and drops the task's own handle. Or does neither and returns
 * the future, if that is the last handle: handles come from handles, so nobody will ever ask. */
struct weir_future *weir__future_end_own(struct weir_future *future, int error, intptr_t value);

/* Adds a listener; false when the future has ended already, and nothing is added. */
bool weir__future_listen(struct weir_future *future, struct weir__listener *listener);

/* For a listener that was added: after this it has been called, or never will be. */
void weir__future_unlisten(struct weir_future *future, struct weir__listener *listener);

#endif

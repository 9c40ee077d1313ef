/* task: the tasks of a scheduler that are ready to run. */
#ifndef WEIR_TASK_READY_H
#define WEIR_TASK_READY_H

#include <stdbool.h>
#include <stddef.h>
#include <weir/base.h>

struct weir__task;

/* In order: a ring with room for all tasks that there are, so that making one ready cannot fail,
 * and those that run soon can be fetched beforehand. */
struct weir__ready {
	struct weir__task **ring;
	size_t mask;  /* the room, a power of two, less one */
	size_t first; /* these two only grow */
	size_t next;
	bool busy; /* it is being changed: a signal handler keeps out */
};

static inline bool ready_empty(const struct weir__ready *ready)
{
	return WEIR__PEEK(&ready->next) == ready->first;
}

/* Between these it is not to be looked at by a signal handler of this thread. */
static inline void ready_enter(struct weir__ready *ready)
{
	WEIR__POKE(&ready->busy, true);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void ready_leave(struct weir__ready *ready)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	WEIR__POKE(&ready->busy, false);
}

/* In the scheduler's thread: appends. */
static inline void ready_add(struct weir__ready *ready, struct weir__task *task)
{
	ready_enter(ready);
	ready->ring[ready->next & ready->mask] = task;
	WEIR__POKE(&ready->next, ready->next + 1);
	ready_leave(ready);
}

#endif

/* task: stacks for tasks, each with a guard page below it.
 *
 * A million stacks must stay far below the kernel's limit on mappings (65,530), so many of them
 * share one mapping, a slab; see weir__page_guard for what that means for the guards.
 *
 * Memory is touched a page at a time from the top. The stacks given back last are kept as they are,
 * up to `warm_most` of them; the pages of the others go back to the kernel and only their places
 * are kept. A pool belongs to one scheduler and is not synchronised. */
#ifndef WEIR_TASK_STACK_H
#define WEIR_TASK_STACK_H

#include <stddef.h>

struct weir__slab;

struct weir__stacks {
	size_t size; /* of one stack with its guard, a power of two */
	size_t warm_most;
	size_t warm_count;
	void *warm; /* the newest first, linked through their topmost words */
	struct weir__slab *slabs;
	struct weir__slab *with_room; /* those that have a stack to give */
};

/* For stacks of at least `size` usable bytes. 0; -EINVAL when that is absurd. */
int weir__stacks_init(struct weir__stacks *stacks, size_t size, size_t warm_most);
void weir__stacks_done(struct weir__stacks *stacks);

/* The end of a stack: stacks->size bytes lie below it, and the lowest page of them faults. NULL
 * when there is no memory. */
void *weir__stack_get(struct weir__stacks *stacks);
void weir__stack_put(struct weir__stacks *stacks, void *end);

/* How many bytes a task may use of each. */
size_t weir__stack_usable(const struct weir__stacks *stacks);

/* How far `address` is below the stack that `inside` lies in, if it is in the page that faults; 0
 * otherwise. A signal handler may ask. */
size_t weir__stack_past(const struct weir__stacks *stacks, const void *inside, const void *address);

/* The lowest byte that may be used of the stack that `inside` lies in. */
void *weir__stack_low(const struct weir__stacks *stacks, void *inside);

#endif

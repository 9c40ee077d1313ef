/* task: stacks for tasks, each with a guard page below it.
 *
 * A million stacks must stay far below the kernel's limit on mappings (65,530), so many of them
 * share one mapping, a slab; see weir__page_guard for what that means for the guards.
 *
 * PROMISES. A task is given its stack when it first runs, and cannot fail then. So a stack is
 * promised to it before, which may map memory but touches none.
 *
 * COLOURS. Every stack ends at a multiple of its size, so the same few of a cache's sets would hold
 * all that is hot. A task therefore begins a few cache lines below the end of its stack, fewer or
 * more by the stack's place; stack_colour says how many bytes. They stay within half a page,
 * so that a task that needs little still touches one page only.
 *
 * Memory is touched a page at a time from the top. The stacks given back last are kept as they are,
 * up to `warm_most` of them; the pages of the others go back to the kernel and only their places
 * are kept. A pool belongs to one scheduler and is not synchronised. */
#ifndef WEIR_TASK_STACK_H
#define WEIR_TASK_STACK_H

#include "base/hot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/base.h>

struct weir__slab;

struct weir__stacks {
	size_t size;          /* of one stack with its guard, a power of two */
	unsigned slab_stacks; /* so many places has a slab, a power of two */
	unsigned colours;     /* a power of two, less one */
	size_t warm_most;
	size_t warm_count;
	size_t warm_room;
	size_t room;     /* stacks that are there, in all slabs */
	size_t promised; /* of these, those that are in use or will be */
	void **warm;     /* the newest last; a list through the stacks would have to fetch each */
	struct weir__slab *slabs;
	struct weir__slab *with_room; /* those that have a stack to give */
};

/* For stacks of at least `size` usable bytes. 0; -EINVAL when that is absurd. */
int weir__stacks_init(struct weir__stacks *stacks, size_t size, size_t warm_most);
void weir__stacks_done(struct weir__stacks *stacks);

/* Sets one stack aside, wherever it is; whether there was memory. Then, once for each, the end of a
 * stack: stacks->size bytes lie below it, and the lowest page of them faults. To put it back ends
 * the promise. */
bool weir__stack_promise(struct weir__stacks *stacks);
void *weir__stack_get(struct weir__stacks *stacks);
void weir__stack_put(struct weir__stacks *stacks, void *end);

enum {
	WEIR__COLOURS = 32,
	WEIR__COLOUR_STEP = 64,
	WEIR__COLOUR_MOST = (WEIR__COLOURS - 1) * WEIR__COLOUR_STEP,
};

/* How far below its end a stack begins. */
static inline size_t stack_colour(const struct weir__stacks *stacks, const void *end)
{
	unsigned place = (unsigned)((uintptr_t)end >> __builtin_ctzl(stacks->size));

	return (place & stacks->colours) * WEIR__COLOUR_STEP;
}

/* While a stack is given out, others are fetched whose turn is a little later. */
void weir__stack_expect(const struct weir__stacks *stacks);

/* The short ways of get and put: one of those that are warm, of which there must be one; whether it
 * could be kept warm. They run on the stack of another task, whose deepest frames they would be:
 * inline they need none. */
static inline void *stack_get(struct weir__stacks *stacks)
{
	weir__stack_expect(stacks);
	return stacks->warm[--stacks->warm_count];
}

static inline bool stack_put(struct weir__stacks *stacks, void *end)
{
	size_t count = stacks->warm_count;

	if (WEIR__UNLIKELY(count >= stacks->warm_most || count == stacks->warm_room))
		return false;
	stacks->promised--;
	stacks->warm[count] = end;
	stacks->warm_count = count + 1;
	return true;
}

/* How many bytes a task may use of each, whatever its colour. */
size_t weir__stack_usable(const struct weir__stacks *stacks);

/* How far `address` is below the stack that ends at `end`, if it is in the page that faults; 0
 * otherwise. A signal handler may ask. */
size_t weir__stack_past(const struct weir__stacks *stacks, const void *end, const void *address);

/* Whether `address` is among the stacks, guards included. A signal handler may ask. */
bool weir__stacks_contain(const struct weir__stacks *stacks, const void *address);

/* The lowest byte of the stack that may be used. */
void *weir__stack_low(const struct weir__stacks *stacks, void *end);

#endif

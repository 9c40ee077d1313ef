/* sem: the semaphore on the heap and its two counts.
 *
 * Handles are what weir_sem_ref counts; when the last one goes, the semaphore is closed. Pins keep
 * the memory: all handles together have one, and so has each caller that waits, so that a waiter
 * whose semaphore was dropped by everybody else can still leave in peace. */
#ifndef WEIR_SEM_HEAP_H
#define WEIR_SEM_HEAP_H

#include "base/alloc.h"
#include "sem/word.h"

struct weir__sem_heap {
	struct weir_sem_counted counted; /* first: handles point here */
	uint32_t handles;
	uint32_t pins;
	uint64_t slots[]; /* of a traced one */
};

static inline struct weir__sem_heap *heap_of(struct weir_sem *sem)
{
	return (struct weir__sem_heap *)(void *)sem;
}

static inline void heap_pin(struct weir__sem_heap *heap)
{
	(void)WEIR__ADD(&heap->pins, 1, __ATOMIC_RELAXED);
}

static inline void heap_unpin(struct weir__sem_heap *heap)
{
	if (WEIR__SUB(&heap->pins, 1, __ATOMIC_ACQ_REL) == 0)
		weir__free(heap);
}

#endif

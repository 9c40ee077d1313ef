/* sem: semaphores on the heap. */
#include "sem/heap.h"

#include <errno.h>

int weir_sem_new(uint32_t permits, uint32_t flags, struct weir_sem **ret)
{
	bool traced = flags & WEIR_SEM_TRACED;
	struct weir__sem_heap *heap;
	int error;

	if (flags & ~(WEIR_SEM_COUNTED | WEIR_SEM_TRACED))
		return -EINVAL;
	heap = weir__alloc(sizeof(*heap) + (traced ? WEIR_SEM_HOLDERS * sizeof(*heap->slots) : 0));
	if (!heap)
		return -ENOMEM;
	error = flags ? weir_sem_init_counted(&heap->counted, permits) :
			weir_sem_init(&heap->counted.sem, permits);
	if (error < 0) {
		weir__free(heap);
		return error;
	}
	heap->counted.sem.setup |= SETUP_HEAP;
	if (traced)
		heap->counted.slots = heap->slots;
	heap->handles = 1;
	heap->pins = 1;
	*ret = &heap->counted.sem;
	return 0;
}

struct weir_sem *weir_sem_ref(struct weir_sem *sem)
{
	(void)WEIR__ADD(&heap_of(sem)->handles, 1, __ATOMIC_RELAXED);
	return sem;
}

void weir_sem_unref(struct weir_sem *sem)
{
	if (!sem || WEIR__SUB(&heap_of(sem)->handles, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	weir_sem_close(sem);
	heap_unpin(heap_of(sem));
}

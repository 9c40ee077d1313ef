/* sem: what a semaphore is set up with, and what changes that: its limit, and its end. */
#include "sem/settle.h"

#include <errno.h>

int weir_sem_init(struct weir_sem *sem, uint32_t permits)
{
	if (permits == 0 || permits > WEIR_SEM_MAX)
		return -EINVAL;
	*sem = (struct weir_sem){ .word = WEIR__SEM_FREE(permits), .setup = permits };
	return 0;
}

int weir_sem_init_counted(struct weir_sem_counted *counted, uint32_t permits)
{
	if (permits == 0 || permits > WEIR_SEM_MAX)
		return -EINVAL;
	*counted = (struct weir_sem_counted){
		.sem = { .word = WEIR__SEM_SLOW, .setup = permits | SETUP_COUNTED },
	};
	return 0;
}

int weir_sem_init_traced(struct weir_sem_traced *traced, uint32_t permits)
{
	int error = weir_sem_init_counted(&traced->counted, permits);

	if (error == 0) {
		*traced = (struct weir_sem_traced){ .counted = traced->counted };
		traced->counted.slots = traced->slots;
	}
	return error;
}

/* Ends the waits of those heavier than `most`. */
static void refuse(struct weir_sem *sem, uint32_t most, int result, struct weir__batch *batch)
{
	struct weir_waiter *next;

	for (struct weir_waiter *waiter = sem->head; waiter; waiter = next) {
		next = waiter->next;
		if (waiter->n > most) {
			pull(sem, waiter);
			waiter->result = result;
			batch_add(batch, waiter);
		}
	}
}

int weir_sem_resize(struct weir_sem *sem, uint32_t permits)
{
	struct weir__batch batch = { NULL, NULL };
	uint64_t word;
	int result = 0;

	if (permits > WEIR_SEM_MAX)
		return -EINVAL;
	word = lock(sem);
	if (sem->setup & SETUP_CLOSED) {
		result = -ESHUTDOWN;
	} else {
		WEIR__POKE(&sem->setup, (sem->setup & ~SETUP_LIMIT) | permits);
		if (permits > 0)
			refuse(sem, permits, -E2BIG, &batch);
	}
	settle_and_tell(sem, word, batch);
	return result;
}

void weir_sem_close(struct weir_sem *sem)
{
	struct weir__batch batch = { NULL, NULL };
	uint64_t word = lock(sem);

	WEIR__POKE(&sem->setup, sem->setup | SETUP_CLOSED);
	refuse(sem, 0, -ESHUTDOWN, &batch);
	settle_and_tell(sem, word, batch);
}

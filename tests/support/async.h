/* support: async waiters that remember how their wait ended. */
#ifndef TESTS_SUPPORT_ASYNC_H
#define TESTS_SUPPORT_ASYNC_H

#include <weir/sem.h>

struct async {
	struct weir_waiter waiter; /* first: the wake function is handed its address */
	uint32_t *turns; /* NULL, or a counter that all who are to be put in order share */
	uint32_t turn;   /* the how-manieth to be told, from 1 */
	uint32_t calls;  /* how often the wake function ran */
	int result;      /* and with what */
};

/* The wake function of a struct async. */
weir_wake_fn async_wake;

/* weir_sem_acquire_async with it. */
int async_acquire(struct async *async, struct weir_sem *sem, uint32_t n);

#endif

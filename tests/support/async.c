/* support: async waiters that remember how their wait ended. */
#include "support/async.h"

void async_wake(struct weir_waiter *waiter, int result)
{
	struct async *async = (struct async *)(void *)waiter;

	async->calls++;
	async->result = result;
	if (async->turns)
		async->turn = __atomic_add_fetch(async->turns, 1, __ATOMIC_SEQ_CST);
}

int async_acquire(struct async *async, struct weir_sem *sem, uint32_t n)
{
	return weir_sem_acquire_async(sem, n, &async->waiter, async_wake);
}

#include "support/scarce.h"

#include "base/alloc.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

void *__real_weir__alloc(size_t size);
void *__wrap_weir__alloc(size_t size);
void *__real_weir__alloc_small(size_t size);
void *__wrap_weir__alloc_small(size_t size);
void __real_weir__free(void *memory);
void __wrap_weir__free(void *memory);

static atomic_int before_failure = INT_MAX; /* or how many have followed it, as a negative number */
static atomic_bool fails_for_good;
static atomic_int alive;
static atomic_int most_alive;

static bool may_allocate(void)
{
	int left = atomic_load(&before_failure) == INT_MAX ? INT_MAX :
							     atomic_fetch_sub(&before_failure, 1);
	int now, most;

	if (left == 0 || (left < 0 && atomic_load(&fails_for_good)))
		return false;
	now = atomic_fetch_add(&alive, 1) + 1;
	most = atomic_load(&most_alive);
	while (now > most && !atomic_compare_exchange_weak(&most_alive, &most, now))
		;
	return true;
}

void *__wrap_weir__alloc(size_t size)
{
	return may_allocate() ? __real_weir__alloc(size) : NULL;
}

void *__wrap_weir__alloc_small(size_t size)
{
	return may_allocate() ? __real_weir__alloc_small(size) : NULL;
}

void __wrap_weir__free(void *memory)
{
	if (memory != NULL)
		(void)atomic_fetch_sub(&alive, 1);
	__real_weir__free(memory);
}

void scarce_after(int allocations, bool for_good)
{
	atomic_store(&fails_for_good, for_good);
	atomic_store(&before_failure, allocations);
}

bool scarce_end(void)
{
	return atomic_exchange(&before_failure, INT_MAX) < 0;
}

int scarce_alive(void)
{
	return atomic_load(&alive);
}

int scarce_most_alive(void)
{
	return atomic_load(&most_alive);
}

void scarce_watch(void)
{
	atomic_store(&most_alive, atomic_load(&alive));
}

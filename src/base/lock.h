/* base: a lock for a few instructions, that sleeps when it must. All zero is free. */
#ifndef WEIR_BASE_LOCK_H
#define WEIR_BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* 0: free. 1: taken. 2: taken, and somebody may sleep until it is free. */
struct weir__lock {
	uint32_t word;
};

void weir__lock(struct weir__lock *lock);
void weir__unlock(struct weir__lock *lock);

/* Whether it was free, and is the caller's now. */
bool weir__try_lock(struct weir__lock *lock);

#endif

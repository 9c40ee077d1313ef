/* support: counts every allocation of the whole process. */
#ifndef TESTS_SUPPORT_ALLOCATIONS_H
#define TESTS_SUPPORT_ALLOCATIONS_H

#include <stdint.h>

/* To be called once, before the first count is read. */
void allocations_start(void);

/* How many there have been so far. */
uint64_t allocations_made(void);
uint64_t allocations_freed(void);

#endif

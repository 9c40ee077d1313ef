/* base: what the system keeps for each thread. */
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <stdint.h>

/* Where the calling thread's errno is: the same place as long as the thread lives. */
int *weir__thread_errno(void);

/* The kernel's number for the calling thread. Not 0, and below 2^22. */
uint32_t weir__thread_id(void);

#endif

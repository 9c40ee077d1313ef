/* sem: reading the state word and the set-up. The table of the word's bits is in weir/sem.h. */
#ifndef WEIR_SEM_WORD_H
#define WEIR_SEM_WORD_H

#include <weir/sem.h>

/* weir_sem.setup: the limit in the low bits, and what a semaphore is. */
#define SETUP_LIMIT WEIR_SEM_MAX
#define SETUP_CLOSED (UINT32_C(1) << 29)
#define SETUP_COUNTED (UINT32_C(1) << 30)
#define SETUP_HEAP (UINT32_C(1) << 31)

static inline uint64_t word_held(uint64_t word)
{
	return WEIR__LIKELY(word & WEIR__SEM_SLOW) ? (word & ~WEIR__SEM_SLOW) >> 32 :
						     (uint32_t)word >> 2;
}

/* The same of a word with LOCK, and so SLOW, set. */
static inline uint64_t word_locked_held(uint64_t word)
{
	return (word & ~WEIR__SEM_SLOW) >> 32;
}

/* The same state with the inline paths locked out. */
static inline uint64_t word_slow(uint64_t word)
{
	return WEIR__SEM_SLOW | WEIR__SEM_FREE(word_held(word)) |
	       (word & (WEIR__SEM_LOCK | WEIR__SEM_SLEEP));
}

#endif

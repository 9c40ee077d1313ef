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

/* The same state with the inline paths locked out. While SLOW is clear, so are LOCK and SLEEP, and
 * what is held has only to move from its one place to the other. */
static inline uint64_t word_slow(uint64_t word)
{
	return word & WEIR__SEM_SLOW ? word : WEIR__SEM_SLOW | (uint64_t)(uint32_t)word << 30;
}

/* FULL is what a semaphore mostly is that somebody has to wait for: all permits are held, and it is
 * neither closed nor counted nor locked: no word is what those bits of the set-up would make of it.
 * With waiters, and without. (That it is on the heap makes no difference: the bit is that of SLOW,
 * or falls out. So does that of a counted one, in the second; but there SLOW is always set.) */
static inline uint64_t word_full(uint32_t setup)
{
	return WEIR__SEM_SLOW | WEIR__SEM_FREE(setup);
}

static inline uint64_t word_full_alone(uint32_t setup)
{
	return (uint32_t)WEIR__SEM_HELD(setup);
}

/* Whether n permits are free and may be taken without the lock. With SLOW set the upper half is
 * negative. */
static inline bool word_has_free(uint64_t word, uint32_t n)
{
	return (int64_t)word >> 32 >= (int64_t)n;
}

#endif

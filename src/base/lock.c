/* base: the lock. */
#include "base/lock.h"

#include "base/cpu.h"
#include "base/futex.h"

enum { FREE, TAKEN, CONTENDED, SPINS = 100 };

void weir__lock(struct weir__lock *lock)
{
	uint32_t found = FREE;

	if (WEIR__CAS(&lock->word, &found, TAKEN, __ATOMIC_ACQUIRE))
		return;
	for (int i = 0; i < SPINS && weir__cpu_to_spare(); i++) {
		WEIR__RELAX();
		found = FREE;
		if (WEIR__CAS(&lock->word, &found, TAKEN, __ATOMIC_ACQUIRE))
			return;
	}
	/* Whoever has slept cannot know whether others still do. */
	while (WEIR__XCHG(&lock->word, CONTENDED, __ATOMIC_ACQUIRE) != FREE)
		(void)weir__futex_wait(&lock->word, CONTENDED, WEIR_NEVER);
}

void weir__unlock(struct weir__lock *lock)
{
	if (WEIR__XCHG(&lock->word, FREE, __ATOMIC_RELEASE) == CONTENDED)
		weir__futex_wake(&lock->word, 1);
}

bool weir__try_lock(struct weir__lock *lock)
{
	uint32_t found = FREE;

	return WEIR__CAS(&lock->word, &found, TAKEN, __ATOMIC_ACQUIRE);
}

/* sem: waiting for the lock. */
#include "sem/lock.h"

#include "base/cpu.h"
#include "base/futex.h"

enum { LOCK_SPINS = 100 };

uint64_t weir__sem_wait_for_lock(struct weir_sem *sem, uint64_t word)
{
	uint64_t others = 0;
	int spins = weir__cpu_to_spare() ? LOCK_SPINS : 0;

	while (!take_lock(sem, &word, others)) {
		if (!(word & WEIR__SEM_LOCK))
			continue;
		if (spins > 0) {
			spins--;
			WEIR__RELAX();
			word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
			continue;
		}
		if (!(word & WEIR__SEM_SLEEP) &&
		    !WEIR__CAS(&sem->word, &word, word | WEIR__SEM_SLEEP, __ATOMIC_RELAXED))
			continue;
		(void)weir__futex_wait(lock_half(sem), WEIR__SEM_LOCK | WEIR__SEM_SLEEP,
				       WEIR_NEVER);
		/* One sleeper is woken at a time and SLEEP is cleared before that. Others may be
		 * left, so whoever has slept takes the lock with SLEEP set. */
		others = WEIR__SEM_SLEEP;
		word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
	}
	return word;
}

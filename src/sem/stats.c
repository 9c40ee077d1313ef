/* sem: statistics. Reads only, and takes no lock. */
#include "base/clock.h"
#include "sem/word.h"

void weir_sem_stats(const struct weir_sem *sem, struct weir_sem_stats *ret)
{
	uint64_t word = WEIR__LOAD(&sem->word, __ATOMIC_RELAXED);
	uint32_t setup = WEIR__PEEK(&sem->setup);
	uint32_t held = (uint32_t)word_held(word);
	/* The word knows the limit of that very moment, unless it is SLOW. */
	uint32_t limit = word & WEIR__SEM_SLOW ? setup & SETUP_LIMIT :
						 (uint32_t)(word >> 32) + held;

	*ret = (struct weir_sem_stats){
		.limit = limit,
		.free = limit > held ? limit - held : 0,
		.held = held,
		.owed = held > limit ? held - limit : 0,
		.waiting = WEIR__PEEK(&sem->waiting),
		.timed_out = WEIR__PEEK(&sem->timed_out),
		.cancelled = WEIR__PEEK(&sem->cancelled),
		.closed = setup & SETUP_CLOSED,
		.granted_after_wait = WEIR__PEEK(&sem->granted_after_wait),
		.wait_total = weir__ticks_to_time(WEIR__PEEK(&sem->ticks_waited)),
		.wait_longest = weir__ticks_to_time(WEIR__PEEK(&sem->ticks_longest)),
		.counted = setup & SETUP_COUNTED,
	};
	if (ret->counted) {
		const struct weir_sem_counted *counted =
			(const struct weir_sem_counted *)(const void *)sem;

		ret->granted_at_once = WEIR__PEEK(&counted->granted_at_once);
		ret->peak_held = WEIR__PEEK(&counted->peak_held);
	}
}

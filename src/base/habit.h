/* base: learning how long to watch for something before sleeping.
 *
 * A way of watching that fails gets half as long the next time, down to almost nothing; one that
 * succeeds, its full length, and so does one that would have. Once in a while it is tried at full
 * length whatever it did before. */
#ifndef WEIR_BASE_HABIT_H
#define WEIR_BASE_HABIT_H

#include "base/clock.h"
#include "base/wake.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEIR__HABIT_PROBE = 32 };

/* All zero is a fresh one. */
struct weir__habit {
	uint32_t uses;
	uint32_t length;
};

static inline uint32_t habit_length(struct weir__habit *habit, uint32_t most)
{
	return habit->uses++ % WEIR__HABIT_PROBE == 0 ? most : habit->length;
}

/* Twice what it takes to wake who sleeps: two who hand over to each other, once asleep, find each
 * other asleep for ever if they watch for less than that. */
static inline uint64_t habit_least(void)
{
	return 2 * weir__wake_ticks();
}

/* After so many turns since `begun`, in ticks: whether there is more to come. */
static inline bool habit_goes_on(uint32_t length, uint32_t most, uint64_t begun)
{
	return length == most && weir__ticks() - begun < habit_least();
}

/* Slept since `slept_at`, in ticks, and was woken: by one who came so soon that it would have been
 * better to watch? */
static inline void habit_slept(struct weir__habit *habit, uint64_t slept_at, uint32_t most)
{
	if (weir__wake_ended(slept_at) < habit_least())
		habit->length = most;
}

static inline void habit_learn(struct weir__habit *habit, bool success, uint32_t most)
{
	habit->length = success ? most : habit->length / 2;
}

#endif

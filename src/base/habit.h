/* base: learning how long to watch for something before sleeping.
 *
 * A way of watching that fails gets half as long the next time, down to almost nothing; one that
 * succeeds, its full length. Once in a while it is tried at full length whatever it did before. */
#ifndef WEIR_BASE_HABIT_H
#define WEIR_BASE_HABIT_H

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

static inline void habit_learn(struct weir__habit *habit, bool success, uint32_t most)
{
	habit->length = success ? most : habit->length / 2;
}

#endif

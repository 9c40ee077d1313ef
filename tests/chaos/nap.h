/* chaos: sleeping, between two looks at something that nobody tells of. */
#ifndef TESTS_CHAOS_NAP_H
#define TESTS_CHAOS_NAP_H

#include <time.h>

static inline void nap(long milliseconds)
{
	const struct timespec time = { .tv_sec = milliseconds / 1000,
				       .tv_nsec = milliseconds % 1000 * 1000000 };

	(void)nanosleep(&time, NULL);
}

#endif

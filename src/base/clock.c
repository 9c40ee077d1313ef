/* base: time. The only file that reads a clock. */
#include "base/clock.h"

#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static WEIR__TLS const weir_time *virtual_time;

void weir__clock_set(const weir_time *virtual_now)
{
	virtual_time = virtual_now;
}

static weir_time real_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (weir_time)now.tv_sec * WEIR_SECOND + now.tv_nsec;
}

weir_time weir_now(void)
{
	return virtual_time ? *virtual_time : real_now();
}

weir_time weir_after(weir_time delay)
{
	weir_time now = weir_now();

	if (delay < 0)
		return now;
	return delay > WEIR_NEVER - now ? WEIR_NEVER : now + delay;
}

uint64_t weir__ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return (uint64_t)real_now();
#endif
}

/* Both clocks, read together when the program started: the rate of one in terms of the other is
 * their progress since then. */
static struct {
	weir_time time;
	uint64_t ticks;
} start;

__attribute__((constructor)) static void read_start(void)
{
	start.time = real_now();
	start.ticks = weir__ticks();
}

weir_time weir__ticks_to_time(uint64_t ticks)
{
	double time = (double)(real_now() - start.time);
	double progress = (double)(weir__ticks() - start.ticks);

	return progress > 0 ? (weir_time)((double)ticks * (time / progress)) : 0;
}

/* base: the affinity mask of the calling thread. */
#include "base/cpu.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weir/base.h>

enum {
	RECOUNT = 256,
	/* Enough for any kernel; the C library's cpu_set_t ends at 1024 processors. */
	MASK_WORDS = 8192 / (CHAR_BIT * sizeof(unsigned long)),
	MASK_BITS = CHAR_BIT * sizeof(unsigned long),
	NONE = -1,
	SEVERAL = -2,
};

static WEIR__TLS uint32_t calls;

/* The processor of all threads that have asked so far, or SEVERAL. Threads that are each bound to a
 * processor of their own can spin, although each of them may use only one. */
static int seen = NONE;

/* The processor the calling thread may run on, or SEVERAL. */
static int own_cpu(void)
{
	unsigned long mask[MASK_WORDS];
	int saved = errno;
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	int cpu = NONE;

	errno = saved;
	for (int i = 0; i < bytes / (long)sizeof(*mask); i++) {
		if (mask[i] == 0)
			continue;
		if (cpu != NONE || (mask[i] & (mask[i] - 1)))
			return SEVERAL;
		cpu = i * (int)MASK_BITS + __builtin_ctzl(mask[i]);
	}
	return cpu;
}

static void look(void)
{
	int cpu = own_cpu();
	int known = NONE;

	if (cpu == SEVERAL)
		WEIR__POKE(&seen, SEVERAL);
	else if (!WEIR__CAS(&seen, &known, cpu, __ATOMIC_RELAXED) && known != cpu)
		WEIR__POKE(&seen, SEVERAL);
}

bool weir__cpu_to_spare(void)
{
	if (calls++ % RECOUNT == 0)
		look();
	return WEIR__PEEK(&seen) == SEVERAL;
}

void weir__cpu_yield(void)
{
	(void)sched_yield();
}

bool weir__is_only_thread(void)
{
	struct stat tasks;
	int saved = errno;
	/* Each thread is a directory there, and so one more link. */
	bool only = stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;

	errno = saved;
	return only;
}

/* base: futexes by the bare system call. Private to the process, on the monotonic clock. */
#include "base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int weir__futex_wait(const uint32_t *word, uint32_t expected, weir_time deadline)
{
	struct timespec until = { .tv_sec = deadline / WEIR_SECOND,
				  .tv_nsec = deadline % WEIR_SECOND };
	int saved = errno;
	long result;

	/* The kernel calls a time before zero a bad argument; it is merely long past. */
	if (deadline < 0)
		return -ETIMEDOUT;

	/* WAIT_BITSET takes an absolute time, so a wait that is interrupted and repeated does not
	 * start its timeout anew, and without FUTEX_CLOCK_REALTIME that time is monotonic. */
	result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
			 deadline == WEIR_NEVER ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
	if (result < 0) {
		result = -errno;
		errno = saved;
	}
	return (int)result;
}

void weir__futex_wake(const uint32_t *word, int count)
{
	int saved = errno;

	/* The result is ignored: the number woken tells nothing, and EFAULT means that the memory
	 * is gone together with whoever waited there. */
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
	errno = saved;
}

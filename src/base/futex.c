/* base: futexes by the bare system call. Private to the process, on the monotonic clock. */
#include "base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int weir__futex_wait_bits(const uint32_t *word, uint32_t expected, weir_time deadline,
			  uint32_t bits)
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
			 deadline == WEIR_NEVER ? NULL : &until, NULL, bits);
	if (result < 0) {
		result = -errno;
		errno = saved;
	}
	return (int)result;
}

int weir__futex_wait(const uint32_t *word, uint32_t expected, weir_time deadline)
{
	return weir__futex_wait_bits(word, expected, deadline, FUTEX_BITSET_MATCH_ANY);
}

static void wake(const uint32_t *word, int operation, int count, uint32_t bits)
{
	int saved = errno;

	/* The result is ignored: the number woken tells nothing, and EFAULT means that the memory
	 * is gone together with whoever waited there. */
	(void)syscall(SYS_futex, word, operation, count, NULL, NULL, bits);
	errno = saved;
}

void weir__futex_wake(const uint32_t *word, int count)
{
	wake(word, FUTEX_WAKE_PRIVATE, count, 0);
}

void weir__futex_wake_bits(const uint32_t *word, uint32_t bits)
{
	wake(word, FUTEX_WAKE_BITSET_PRIVATE, INT32_MAX, bits);
}

/* support: the seam of weir/base.h with threads that hesitate.
 *
 * The steps are the real ones, but before some of them the thread lets others go on, or
 * sleeps for a moment. What a loaded machine does once in a million steps happens all the time
 * then: a test that only passes because nobody is ever stopped at the wrong place does not pass for
 * long. Where it happens is different each time. (`meson setup -Dhesitant=true`.) */
#ifndef TESTS_SUPPORT_HESITANT_H
#define TESTS_SUPPORT_HESITANT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { HESITANT_ONE_IN = 64, HESITANT_NS_MOST = 200000 };

/* May be called from signal handlers, hence the bare calls. */
static inline void hesitant_pause(uint32_t random)
{
	struct timespec moment = { .tv_nsec = (long)(random % HESITANT_NS_MOST) };
	int its_errno = errno;

	if (random & 1)
		(void)syscall(SYS_sched_yield);
	else
		(void)syscall(SYS_nanosleep, &moment, NULL);
	errno = its_errno;
}

/* Weak: inline functions that are not static call it, too. */
__attribute__((weak)) void hesitant_step(void);
void hesitant_step(void)
{
	static _Thread_local uint32_t state;
	uint32_t x = state;

	if (x == 0) {
		struct timespec now;

		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		x = ((uint32_t)now.tv_nsec ^ (uint32_t)(uintptr_t)&state) | 1;
	}
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	state = x;
	if (x % HESITANT_ONE_IN == 0)
		hesitant_pause(x / HESITANT_ONE_IN);
}

#define WEIR__LOAD(p, order) (hesitant_step(), __atomic_load_n((p), (order)))
#define WEIR__STORE(p, value, order) (hesitant_step(), __atomic_store_n((p), (value), (order)))
#define WEIR__XCHG(p, value, order) (hesitant_step(), __atomic_exchange_n((p), (value), (order)))
#define WEIR__ADD(p, value, order) (hesitant_step(), __atomic_add_fetch((p), (value), (order)))
#define WEIR__SUB(p, value, order) (hesitant_step(), __atomic_sub_fetch((p), (value), (order)))
#define WEIR__CAS(p, expected, value, order) \
	(hesitant_step(),                    \
	 __atomic_compare_exchange_n((p), (expected), (value), false, (order), __ATOMIC_RELAXED))
#define WEIR__PEEK(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define WEIR__POKE(p, value) __atomic_store_n((p), (value), __ATOMIC_RELAXED)
#define WEIR__RELAX() hesitant_step()
#define WEIR__TLS _Thread_local __attribute__((tls_model("initial-exec")))
#define WEIR__TLS_EXTERN extern WEIR__TLS
#define WEIR__GLOBAL

#endif

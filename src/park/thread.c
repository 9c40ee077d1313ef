/* park: a thread waits by watching its word for a while, and then in the kernel.
 *
 * WHY IT WATCHES. Waking a thread that sleeps costs a hundred times what telling one that watches
 * does, more when its processor has gone idle meanwhile. So when the caller says that the other
 * side is near, the thread first spins, if another processor could be running the other side, and
 * then yields, which lets the other side run on this very processor. Both last about as long as a
 * sleep and a wake-up would have cost: never much worse than twice the best choice.
 *
 * HOW IT LEARNS: see base/habit.h. The record is the thread's own, so that learning costs the
 * semaphore nothing.
 */
#include "base/cpu.h"
#include "base/futex.h"
#include "base/habit.h"
#include "base/wake.h"
#include "park/park.h"

#include <errno.h>

static WEIR__TLS struct weir__habit spinning;
static WEIR__TLS struct weir__habit yielding;

static const uint32_t spins_most = 100;  /* turns of WEIR__RELAX, some 30 ns each */
static const uint32_t yields_most = 256; /* each some 300 ns when nobody else wants to run */

static bool is_notified(const struct weir__parking *parking)
{
	return WEIR__LOAD(&parking->word, __ATOMIC_ACQUIRE) == WEIR__NOTIFIED;
}

static bool spin(const struct weir__parking *parking)
{
	uint32_t length = habit_length(&spinning, spins_most);
	bool notified = false;

	for (uint32_t i = 0; i < length && !notified; i++) {
		WEIR__RELAX();
		notified = is_notified(parking);
	}
	habit_learn(&spinning, notified, spins_most);
	return notified;
}

static bool yield(const struct weir__parking *parking, weir_time deadline)
{
	uint32_t length = habit_length(&yielding, yields_most);
	uint64_t begun = weir__ticks();
	bool notified = false;

	for (uint32_t i = 0; !notified && (i < length || habit_goes_on(length, yields_most, begun));
	     i++) {
		/* A busy machine may keep us away for long. */
		if (deadline != WEIR_NEVER && weir_now() >= deadline)
			break;
		weir__cpu_yield();
		notified = is_notified(parking);
	}
	habit_learn(&yielding, notified, yields_most);
	return notified;
}

static int thread_park(struct weir__parking *parking, weir_time deadline,
		       enum weir__patience patience)
{
	uint32_t found = WEIR__EMPTY;

	if (patience == WEIR__MUST)
		deadline = WEIR_NEVER;
	if (is_notified(parking))
		return 0;
	if (patience <= WEIR__NEAR) {
		if (weir__cpu_to_spare() && spin(parking))
			return 0;
		if (yield(parking, deadline))
			return 0;
	}
	/* A step that fails synchronises with nobody, so what it found is looked at once more. */
	if (!WEIR__CAS(&parking->word, &found, WEIR__PARKED, __ATOMIC_ACQUIRE) &&
	    is_notified(parking))
		return 0;

	/* Whatever ended a sleep, only the word says whether the other side has come. */
	for (;;) {
		uint64_t slept_at = weir__ticks();
		int result = weir__futex_wait(&parking->word, WEIR__PARKED, deadline);

		if (is_notified(parking)) {
			habit_slept(&yielding, slept_at, yields_most);
			return 0;
		}
		if (result == -ETIMEDOUT)
			return -ETIMEDOUT;
	}
}

static int thread_unpark(struct weir__parking *parking)
{
	/* The exchange lets the waiter go: from here on only its address is used. */
	if (WEIR__XCHG(&parking->word, WEIR__NOTIFIED, __ATOMIC_RELEASE) == WEIR__PARKED) {
		weir__wake_begins();
		weir__futex_wake(&parking->word, 1);
	}
	return 0;
}

const struct weir__parker weir__thread_parker = {
	.park = thread_park,
	.unpark = thread_unpark,
};

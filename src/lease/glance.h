/* lease: whether to look for an answer before sleeping for it.
 *
 * A server on this machine may answer sooner than a thread falls asleep and is woken up by another
 * processor; then it is quicker to look for the answer again and again. But where the server runs
 * on this very processor, or others want it, to sleep is quicker; and where it is far away, looking
 * is of no use. Which of these it is the kernel decides, anew now and then, and does not say. So
 * each round of uses begins with some of either kind, and the rest is of the kind that was quicker.
 * Looking must be clearly quicker, for it costs more: both altogether and in most cases, since
 * on a busy machine a few that were held up say little. Rounds become longer as long as they end
 * alike.
 */
#ifndef WEIR_LEASE_GLANCE_H
#define WEIR_LEASE_GLANCE_H

#include <stdbool.h>
#include <weir/base.h>

enum { WEIR__GLANCE_TRIES = 8, WEIR__GLANCE_SHORTEST = 64, WEIR__GLANCE_LONGEST = 2048 };

/* All zero is a fresh one. */
struct weir__glance {
	bool looks;                            /* what was quicker */
	uint32_t round;                        /* how many uses it has */
	uint32_t uses;                         /* so far */
	weir_time took[2][WEIR__GLANCE_TRIES]; /* of those that slept, and of those that looked */
};

/* Whether to look this time; and how long the answer took then. */
bool weir__glance_begin(struct weir__glance *glance);
void weir__glance_end(struct weir__glance *glance, weir_time took);

#endif

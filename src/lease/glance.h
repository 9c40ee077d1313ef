/* lease: whether to look for an answer before sleeping for it.
 *
 * A server on this machine may answer sooner than a thread falls asleep and is woken up by another
 * processor; then it is quicker to look for the answer again and again. But where the server runs
 * on this very processor, or others want it, to sleep is quicker; and where it is far away, looking
 * is of no use. Which of these it is the kernel decides, anew now and then, and does not say. So
 * both are tried: it counts how long answers took of late either way, looks where that was clearly
 * quicker, and does the other a few times in each round of uses. Rounds become longer as long as
 * that changes nothing.
 */
#ifndef WEIR_LEASE_GLANCE_H
#define WEIR_LEASE_GLANCE_H

#include <stdbool.h>
#include <weir/base.h>

enum { WEIR__GLANCE_TRIES = 4, WEIR__GLANCE_SHORTEST = 64, WEIR__GLANCE_LONGEST = 2048 };

/* All zero is a fresh one: it sleeps, but for the first few times. */
struct weir__glance {
	uint32_t round;    /* how many uses */
	uint32_t left;     /* of these */
	bool looked;       /* at the beginning of the round that was better */
	bool afresh;       /* what the other took in earlier rounds is to be forgotten */
	weir_time took[2]; /* on average, of late: when it slept, when it looked */
};

static inline void glance_begin_round(struct weir__glance *glance, bool look)
{
	if (glance->looked != look || glance->round == 0)
		glance->round = WEIR__GLANCE_SHORTEST;
	else if (glance->round < WEIR__GLANCE_LONGEST)
		glance->round *= 2;
	glance->left = glance->round;
	glance->looked = look;
	glance->afresh = true;
}

/* Whether to look this time. */
static inline bool glance_begin(struct weir__glance *glance)
{
	bool look = glance->took[true] < glance->took[false] - glance->took[false] / 8;

	if (glance->left == 0)
		glance_begin_round(glance, look);
	return glance->round - glance->left-- < WEIR__GLANCE_TRIES ? !glance->looked : look;
}

/* How long the answer took. One that took very long says nothing about looking. */
static inline void glance_learn(struct weir__glance *glance, bool looked, weir_time took)
{
	weir_time *mean = &glance->took[looked];

	took = took < WEIR_MS ? took : WEIR_MS;
	if (*mean == 0 || (glance->afresh && looked != glance->looked)) {
		*mean = took;
		glance->afresh = false;
	} else {
		*mean += (took - *mean) / 4;
	}
}

#endif

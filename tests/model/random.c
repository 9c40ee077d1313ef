/* model: choosing at random. */
#include "model/random.h"

enum {
	MAX_CHANGES = 8,
	EVENTS = 12, /* one choice in so many is something else than a step */
};

static struct {
	uint64_t state;
	int priorities[MAX_THREADS];
	int lowest;
	int changes;
	int change_at[MAX_CHANGES];
} rng;

uint32_t random_below(uint32_t bound)
{
	rng.state ^= rng.state << 13;
	rng.state ^= rng.state >> 7;
	rng.state ^= rng.state << 17;
	return (uint32_t)((rng.state >> 32) * bound >> 32);
}

void random_begin(uint64_t number, int changes, int length)
{
	rng.state = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < 8; i++)
		(void)random_below(2);
	for (int i = 0; i < MAX_THREADS; i++) {
		int other = (int)random_below((uint32_t)i + 1);

		rng.priorities[i] = rng.priorities[other];
		rng.priorities[other] = i + 1;
	}
	rng.lowest = 0;
	rng.changes = changes < MAX_CHANGES ? changes : MAX_CHANGES;
	for (int i = 0; i < rng.changes; i++)
		rng.change_at[i] = (int)random_below((uint32_t)length + 1);
}

int random_move(const struct move *moves, int count, int made)
{
	int best = 0;
	int runs = 0;

	while (runs < count && moves[runs].kind == MOVE_RUN)
		runs++;
	if (runs < count && (runs == 0 || random_below(EVENTS) == 0))
		return runs + (int)random_below((uint32_t)(count - runs));
	/* The thread that ran last comes first, if it can go on. */
	for (int i = 0; i < rng.changes; i++) {
		if (rng.change_at[i] == made)
			rng.priorities[moves[0].thread] = --rng.lowest;
	}
	for (int i = 1; i < runs; i++) {
		if (rng.priorities[moves[i].thread] > rng.priorities[moves[best].thread])
			best = i;
	}
	return best;
}

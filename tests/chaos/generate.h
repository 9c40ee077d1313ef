/* chaos: histories that are right, made with the naive account of leases. */
#ifndef TESTS_CHAOS_GENERATE_H
#define TESTS_CHAOS_GENERATE_H

#include "chaos/history.h"
#include "support/stress.h"

struct generate {
	size_t steps;
	uint32_t clients;
	uint32_t limit;
	int64_t delay; /* how long a call takes at most on its way there, and back */
	int64_t ttl;
	bool kills;
	bool resizes;
	bool cut; /* it ends in the middle, with calls of unknown outcome */
};

/* To be freed: history->ops. */
void generate(struct rng *rng, const struct generate *how, struct history *ret_history);

#endif

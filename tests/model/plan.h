/* model: what the explorer is asked to do, and doing it within the time given. */
#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

#include "model/search.h"

struct request {
	const char *model; /* NULL: all */
	int environment;   /* -1: each */
	double seconds;
	uint64_t seed;
	int part; /* only each parts-th, from the part-th on */
	int parts;
	bool stop; /* at the first failure */
	bool told; /* how to search: */
	const char *search;
	int bound;
};

/* Whether there was no failure. */
bool plan_run(const struct request *request);

/* One schedule of the one model asked for, with a trace; whether it did not fail. */
bool plan_replay(const struct request *request, const char *choices);

#endif

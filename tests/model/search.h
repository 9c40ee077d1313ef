/* model: which executions to run.
 *
 * A choice is the index of a move, and a schedule is the string of its choices. The search runs a
 * program from its start again and again, each time with other choices:
 *     - all of them, depth first, or all with at most so many preemptions;
 *     - leaving out those that lead to a state seen before (`remember`), or that only exchange
 * steps which commute (`sleep_sets`). Both visit every state that the full search visits;
 *     - at random, by priorities that change a few times in a run (PCT);
 *     - one given string.
 */
#ifndef MODEL_SEARCH_H
#define MODEL_SEARCH_H

#include "model/engine.h"

enum { MAX_CHOICES = 4096, ANY_NUMBER = -1 };

enum search_kind { SEARCH_ALL, SEARCH_RANDOM, SEARCH_REPLAY };

struct search_config {
	enum search_kind kind;
	unsigned environment;
	int preemptions; /* at most, or ANY_NUMBER */
	bool remember;
	bool sleep_sets;
	uint64_t seed;
	int changes;         /* of priority in a random run */
	double seconds;      /* 0: no limit */
	uint64_t schedules;  /* 0: no limit */
	const char *replay;  /* the choices */
	void (*ended)(void); /* called after each execution that was not cut short */
};

struct search_result {
	bool failed;
	bool exhausted;
	bool stores; /* there were some that could wait in a buffer */
	uint64_t schedules;
	uint64_t states; /* remembered ones */
	uint64_t steps;
	double seconds;
	char failure[sizeof(engine.failure)];
	char choices[MAX_CHOICES + 1];
};

void search_run(const struct model *model, const struct search_config *config,
		struct search_result *ret);

/* For the engine: which move happens; -1 to end the execution here. */
int search_choose(const struct move *moves, int count, uint32_t costly);

/* A choice among `count` inside a step. */
int search_pick(int count);

/* A thread that was chosen to run has taken its step. */
void search_stepped(int thread, const struct footprint *footprint);

/* States (state.c): the hash of the present one, and whether one was seen for the first time. */
uint64_t state_hash(uint64_t seed);
bool state_is_new(uint64_t hash);

/* The processor time used so far. Budgets are of that, so that they buy as much on a busy machine.
 */
double seconds_now(void);

#endif

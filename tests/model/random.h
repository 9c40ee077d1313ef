/* model: choosing at random, by priorities (PCT): the thread of the highest priority runs, and at a
 * few points the one that runs gets the lowest. A bug that needs d such points in k choices among n
 * threads is found with a probability of at least 1/(n k^(d-1)) a run. */
#ifndef MODEL_RANDOM_H
#define MODEL_RANDOM_H

#include "model/engine.h"

/* Before a run: its number, how many changes of priority, and within how many choices. */
void random_begin(uint64_t number, int changes, int length);

/* One of the moves, of which MOVE_RUN come first, at the `made`-th choice of the run. */
int random_move(const struct move *moves, int count, int made);

uint32_t random_below(uint32_t bound);

#endif

/* park: who the calling thread waits as. */
#include "park/park.h"

/* No parker means the thread itself, so that a new thread needs no set-up. */
static WEIR__TLS struct {
	const struct weir__parker *parker;
	void *self;
} current;

void weir__parker_set(const struct weir__parker *parker, void *self)
{
	current.parker = parker;
	current.self = self;
}

void weir__parking_init(struct weir__parking *parking)
{
	parking->word = WEIR__EMPTY;
	parking->parker = current.parker ? current.parker : &weir__thread_parker;
	parking->self = current.self;
}

/* park: who the calling thread waits as. */
#include "park/park.h"

#include "base/clock.h"
#include "base/hot.h"
#include "base/thread.h"

/* No parker means the thread itself, so that a new thread needs no set-up. */
static WEIR__TLS struct {
	const struct weir__parker *parker;
	void *self;
	const uint64_t *ticks;
} current;

void weir__parker_set(const struct weir__parker *parker, void *self)
{
	current.parker = parker;
	current.self = self;
}

void weir__park_ticks_set(const uint64_t *ticks)
{
	current.ticks = ticks;
}

void **weir__parker_self(void)
{
	return &current.self;
}

uint64_t weir__park_who(void)
{
	return current.parker && current.parker->who ? current.parker->who(current.self) :
						       weir__thread_id();
}

static inline uint64_t ticks(void)
{
	return current.ticks ? *current.ticks : weir__ticks();
}

WEIR__HOT void weir__parking_init(struct weir__parking *parking)
{
	const struct weir__parker *parker = current.parker ? current.parker : &weir__thread_parker;

	parking->word = parker->begin;
	parking->parker = parker;
	parking->self = current.self;
	parking->since = ticks();
	parking->kind = NULL;
	parking->object = NULL;
}

WEIR__HOT uint64_t weir__park_ticks(void)
{
	return ticks();
}

/* The agent of an engine that a test plays itself: there is nothing for it to do. */
#ifndef TESTS_SUPPORT_IDLE_AGENT_H
#define TESTS_SUPPORT_IDLE_AGENT_H

#include "lease/store.h"

static inline void idle_serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	(void)operations;
	(void)withdrawn;
}

static const struct weir__agent_work idle_work = { .serve = idle_serve };

static inline int idle_agent_open(struct weir_store *store)
{
	return weir__agent_new(&idle_work, NULL, &store->agent);
}

static inline void idle_agent_close(struct weir_store *store)
{
	weir__agent_stop(store->agent);
}

#endif

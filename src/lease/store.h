/* lease: what an opened store is, for this layer and for the engines. */
#ifndef WEIR_LEASE_STORE_H
#define WEIR_LEASE_STORE_H

#include "lease/agent.h"
#include "lease/engine.h"

struct weir__ledger;

struct weir_store {
	const struct weir__engine *engine;
	struct weir__bounds bounds;
	/* Set by the engine's open, and the engine's to stop: the agent also keeps the leases. */
	void *state;
	struct weir__agent *agent;
	/* Who asks unless a request says otherwise: host-pid-random. */
	char owner[WEIR_NAME_MAX + 1];
};

#endif

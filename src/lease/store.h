/* lease: what an opened store is, for this layer and for the engines.
 *
 * THE GATE. Every call into a store passes it and is counted while it is inside. Closing shuts it,
 * ends the waits of those inside, and waits until the last one has left; so what an engine is asked
 * is never asked of a store that is gone. Operations that nobody waits for count as calls, too.
 *
 * MEMORY. The store's own goes with its last reference: the user's, until it is closed, and one of
 * each lease handle.
 */
#ifndef WEIR_LEASE_STORE_H
#define WEIR_LEASE_STORE_H

#include "base/lock.h"
#include "base/worker.h"
#include "lease/agent.h"
#include "lease/engine.h"
#include "lease/ledger.h"

struct weir_store {
	const struct weir__engine *engine;
	struct weir__bounds bounds;
	/* Set by the engine's open, and the engine's to stop: the agent also keeps the leases. */
	void *state;
	struct weir__agent *agent;
	/* Who asks unless a request says otherwise: host-pid-random. */
	char owner[WEIR_NAME_MAX + 1];

	/* The rest is the lease layer's. */
	uint32_t refs;
	uint32_t forks; /* in which process it was opened */
	uint32_t gate;  /* GATE_SHUT, and how many calls are inside */
	struct weir_sem empty;
	struct weir__lock lock; /* guards the list of those that wait, and the table */
	struct weir__op *waits;
	struct weir__table namesakes;        /* namesakes.h */
	uint64_t drawn;                      /* tokens and request ids so far */
	uint8_t token_base[WEIR_TOKEN_SIZE]; /* random */
	uint64_t id_base;                    /* random */
	struct weir__ledger ledger;
};

/* 0: inside. -ESHUTDOWN, with a sentence: closed, or of another process. */
int weir__gate_enter(struct weir_store *store);
void weir__gate_leave(struct weir_store *store);

/* Shuts it. From then on weir__gate_is_shut. */
void weir__gate_shut(struct weir_store *store);
bool weir__gate_is_shut(const struct weir_store *store);
/* After shut: returns when the last call has left. */
void weir__gate_wait(struct weir_store *store);

/* Whether this is the process that opened it. */
static inline bool weir__store_is_here(const struct weir_store *store)
{
	return store->forks == weir__forks();
}

/* Asks, waits whatever comes, remembers the sentence of a failure. Returns the result. */
int weir__store_ask(struct weir_store *store, struct weir__op *op);

/* A token that nobody has. 0 or a negative errno, with a sentence. */
int weir__store_draw(struct weir_store *store, uint8_t *ret_token);

#endif

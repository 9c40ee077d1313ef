/* lease: what namesakes are made of, for namesakes.c and namesakes_keep.c. */
#ifndef WEIR_LEASE_NAMESAKES_STATE_H
#define WEIR_LEASE_NAMESAKES_STATE_H

#include "lease/namesakes.h"

/* One who has come, and perhaps left again: the place in the queue may still have its token. */
struct comer {
	struct comer *next;
	uint8_t token[WEIR_TOKEN_SIZE];
};

struct weir__namesakes {
	/* Under the store's lock. */
	struct weir__link link;
	uint32_t count;
	uint32_t waiting; /* of those, who may wait, and have not given up */
	bool place_was_left;
	struct weir_lease *kept; /* handles of leases that have ended meanwhile, pinned */

	struct weir__lock lock; /* guards the rest */
	struct comer *comers;
	struct weir_lease *taken; /* a handle, so that it is not dropped before all have looked */
	bool left_over;           /* granted, and nobody has it */
	struct weir__grant rest;

	const char *request_id;
	char name[]; /* and the id */
};

/* With the store's lock held: those who ask under the name and the id of a lease, or NULL. */
uint64_t weir__namesakes_hash(const struct weir_lease *lease);
struct weir__namesakes *weir__namesakes_find(struct weir_store *store,
					     const struct weir_lease *lease, uint64_t hash);

/* A handle by which a lease was adopted is no holder's. */
bool weir__lease_was_acquired(const struct weir_lease *lease);

#endif

/* chaos: what a client of a store does, written down in a history. */
#ifndef TESTS_CHAOS_ACTS_H
#define TESTS_CHAOS_ACTS_H

#include "chaos/recorder.h"

#include <weir/lease.h>
#include <weir/store.h>

struct acts {
	struct recorder *recorder;
	struct weir_store *store;
	uint32_t client;
	const char *(*name_of)(uint32_t number);
	bool distant;      /* the store may be out of reach, which leaves an outcome open */
	bool forgets;      /* it may have lost what it was told, names included */
	uint64_t requests; /* made so far */
	void (*die)(const char *what); /* of an error that must not be; ends the process */
};

/* The request's name and id are filled in. NULL: not granted, or nobody knows. */
struct weir_lease *acts_acquire(struct acts *acts, uint32_t name, struct weir_request request,
				uint8_t flags);

/* RENEW, with that TTL, or RELEASE. 0 or the error. */
int acts_on_token(struct acts *acts, uint32_t name, enum history_kind kind,
		  struct weir_lease *lease, weir_time ttl);

/* Writes down whether this side believes in the lease, and returns it. */
bool acts_sample(struct acts *acts, uint32_t name, struct weir_lease *lease);

/* Writes down who waits. */
void acts_look(struct acts *acts, uint32_t name);

/* Writes down a name's end: what is held, who waits, the last fence. */
void acts_end(struct acts *acts, uint32_t name);

#endif

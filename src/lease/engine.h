/* lease: what a store must be able to do, and how callers reach it.
 *
 * This layer has the names, the requests, the waiting, the leases and their renewal. An engine
 * keeps the records, and lives in the layer above; the table by which it is reached is owned here,
 * so that nothing points upward.
 *
 * AN OPERATION is one question to the engine, in the memory of whoever asks. submit() takes it, at
 * once or later the engine fills in the answer and calls weir__op_answer(), and from then on the
 * asker's memory is the asker's again. Exactly one answer, always: also when the store is closed
 * (-ESHUTDOWN) and when the engine cannot be reached (-EHOSTUNREACH).
 *
 * A REQUEST THAT WAITS is answered when it is granted, or can never be. The asker that has had
 * enough calls withdraw() and goes on waiting for the answer, which now comes soon: op->give_up if
 * it was not granted, or 0 if it was, in the last moment. Nothing is lost between the two (P5).
 * Several may wait under one id, for one place in the queue: the last of them ends it.
 *
 * TIME. Engines count on their own clock. What they answer is how long a lease lives from the
 * moment of the atomic step; `sent`, taken on CLOCK_BOOTTIME before anything is sent, turns that
 * into this side's deadline (L5).
 */
#ifndef WEIR_LEASE_ENGINE_H
#define WEIR_LEASE_ENGINE_H

#include <weir/lease.h>
#include <weir/sem.h>

#include "lease/rules.h"

enum weir__verb {
	WEIR__ENSURE,    /* name, limit -> 0 or 1 */
	WEIR__SET_LIMIT, /* name, limit */
	WEIR__REQUEST,   /* all of a request; `wait`: whether it may -> 0, grant */
	WEIR__RENEW,     /* name, token, ttl (0: only look) -> 0, grant */
	WEIR__RELEASE,   /* name, token */
	WEIR__EVICT,     /* name, token */
	WEIR__REAP,      /* max_rows -> how many */
	WEIR__LIST,      /* names, n; `remarks`: whether they are wanted -> picture */
};

/* A lease, as the engine tells it. */
struct weir__grant {
	uint8_t token[WEIR_TOKEN_SIZE];
	uint32_t weight;
	uint32_t slot;
	uint64_t fence;
	weir_time left;      /* until it expires, when the engine said so */
	weir_time hard_left; /* until its max_hold; WEIR_NEVER: none */
	weir_time ttl;       /* as it was acquired */
};

struct weir__picture;
struct weir__agent;
struct weir__namesakes;

struct weir__op {
	struct weir__op *next; /* the engine's, while it has the operation */

	/* What is asked. */
	enum weir__verb verb;
	const char *name;
	uint32_t limit; /* REQUEST: 0, or create it so and insist on it */
	uint32_t weight;
	weir_time ttl;
	weir_time max_hold;
	bool wait;
	bool detached; /* REQUEST: no process is the holder once it is granted, only its TTL counts
			*/
	const char *owner;
	const char *request_id; /* REQUEST: never NULL; RELEASE: of the lease, or NULL */
	bool private_id;        /* it was drawn for this request: nobody else will ask under it */
	uint8_t token[WEIR_TOKEN_SIZE]; /* REQUEST: the one to have, if it is a new lease */
	struct weir_lease *lease;       /* REQUEST: allocated, to be filled when granted */
	uint32_t slot_hint;             /* RENEW, RELEASE: the slot plus one, if it is known; then
					   its weight is, too */
	uint32_t max_rows;
	const char *const *names;
	size_t n_names;
	bool remarks;

	/* What came of it. */
	int result;
	struct weir__grant grant;
	weir_time sent;       /* CLOCK_BOOTTIME before the step that the answer is about was sent */
	uint32_t found_limit; /* with -EEXIST, -E2BIG */
	struct weir__picture *picture; /* LIST: lease/picture.h */
	char *error;                   /* a sentence, allocated, or NULL: weir_strerror's */

	/* Withdrawal: written by the asker, under the engine's lock or in a message of its own. */
	int give_up; /* what to answer */
	/* Others of this store wait under the same id: the place in the queue stays, for them. As
	 * of when it gave up; somebody may have come since. */
	bool place_stays;
	bool place_was_left; /* likewise by others, to this one: it must not stay any longer */
	struct weir__op *withdraw_next;
	/* The lease layer's: those that wait in a store, under the store's lock. */
	bool withdrawn;
	struct weir__op *waits_next;
	struct weir__op *waits_prev;
	struct weir__namesakes *namesakes;

	/* The answer is there: called in whatever thread it came in. For most, weir__op_wake. */
	void (*done)(struct weir__op *op);
	uint32_t progress; /* of weir__op_wake; see op.h */
	bool is_waited_for;
	struct weir__agent *agent; /* whose work the asker may do while it waits; or NULL */
	struct weir_sem answered;
	void *keeper; /* the engine's own, while it has the operation */
};

/* Engines: fill in result and the rest first. */
static inline void weir__op_answer(struct weir__op *op, int result)
{
	op->result = result;
	op->done(op);
}

/* Engines: describes a claim that HOLDS, for the answer. */
static inline void weir__op_grant(struct weir__op *op, weir_time now,
				  const struct weir__claim *claim)
{
	op->grant = (struct weir__grant){
		.weight = claim->weight,
		.slot = claim->slot,
		.fence = claim->fence,
		.left = claim->expires - now,
		.hard_left = claim->hard_end == WEIR_NEVER ? WEIR_NEVER : claim->hard_end - now,
		.ttl = claim->ttl,
	};
	for (int i = 0; i < WEIR_TOKEN_SIZE; i++)
		op->grant.token[i] = claim->token[i];
}

/* What the options of a URL say, for every engine. */
struct weir__bounds {
	weir_time min_ttl, max_ttl, default_ttl;
	weir_time heartbeat;
	weir_time guard; /* 0: 1 % of the TTL, at most a second */
	uint32_t max_limit;
	uint32_t max_waiting;
};

/* A URL taken apart; the strings belong to it. */
struct weir__url {
	const char *scheme;
	const char *rest; /* after the colon, up to the question mark */
	struct weir__bounds bounds;
	/* Options that are not every engine's, each of another name. */
	struct {
		const char *name;
		const char *value;
	} extra[24];
	size_t n_extra;
	bool unclear; /* what look like options may be a part of the rest */
};

struct weir__engine {
	const char *scheme;
	/* It lives in this process: everything but a REQUEST that waits is answered before submit
	 * returns, and nobody else sees its tokens. */
	bool immediate;
	/* Names of its own options, up to a NULL; NULL: it has none. */
	const char *const *options;
	/* Opens, and sets store->state and store->agent, which may be several stores'. An error
	 * comes with a sentence, allocated, in *ret_error.
	 */
	int (*open)(struct weir_store *store, const struct weir__url *url, char **ret_error);
	/* Answers all that it still has, -ESHUTDOWN, gives back what is held through this handle
	 * (op by op, the lease layer has asked for that before) and frees its state. */
	void (*close)(struct weir_store *store);
	/* Takes an operation. From any thread, and from the agent's. */
	void (*submit)(struct weir_store *store, struct weir__op *op);
	/* Asks for an early answer to a REQUEST that waits; op->give_up is set. The answer may have
	 * been given meanwhile; the operation's memory is there until the asker has seen it. */
	void (*withdraw)(struct weir_store *store, struct weir__op *op);
	/* A descriptor that keeps the lease, see weir_lease_bind_fd; NULL: not supported. Called in
	 * the asker's thread. Sets the sentence as open does. */
	int (*bind)(struct weir_store *store, struct weir_lease *lease, char **ret_error);
};

/* What an engine may call when it learns that a lease of this process has ended without having been
 * asked to end it: expired, evicted. From any thread, without locks of its own held. A token that
 * is not known here is ignored. */
void weir__store_lost(struct weir_store *store, const uint8_t *token);

/* Keeps the memory of a store from going, for an engine that is about to call weir__store_lost
 * after having given up what keeps the store open. */
void weir__store_ref(struct weir_store *store);
void weir__store_unref(struct weir_store *store);

/* weir_store_open, given the engines to choose from: a list that ends with NULL. The layer above
 * knows them. */
int weir__store_open(const char *url, const struct weir__engine *const *engines,
		     struct weir_store **ret_store);

#endif

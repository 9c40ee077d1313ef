/* lease: what a handle is.
 *
 * STATES, one word, written under the handle's lock and read by anybody:
 *     PENDING   asked for
 *     HELD      ours, as long as now < deadline. At the deadline it is LOST, and whoever notices
 *               writes so: once somebody was told no, nobody is told yes again
 *     RELEASED  given back, or being given back
 *     LOST      expired, evicted, or the store was closed
 * The last two are final.
 *
 * TWO COUNTS. `refs` are the user's handles: when the last one goes, the lease is given back.
 * `pins` keep the memory: all handles together have one, and one the timer of a keeper that is
 * armed.
 *
 * `gone` says that the engine does not have it any more, or is about to be told: only one who sets
 * it may ask the engine to end the lease.
 */
#ifndef WEIR_LEASE_LEASE_H
#define WEIR_LEASE_LEASE_H

#include <weir/task.h>

#include "lease/store.h"

enum { WEIR__PENDING, WEIR__HELD, WEIR__RELEASED, WEIR__LOST };

struct weir__keeper;

struct weir_lease {
	uint32_t refs;
	uint32_t pins;
	uint32_t state;
	struct weir_store *store; /* a reference */
	weir_time deadline;       /* CLOCK_BOOTTIME; read by anybody */
	struct weir__lock lock;
	bool gone;
	bool ended;   /* the engine said so, perhaps before it was HELD here */
	bool adopted; /* or detached: it outlives its handle */
	bool orphan;  /* its last handle went while the store was being closed */
	bool named;   /* its request id was chosen by the asker: others may ask under it, too */
	bool passed;  /* the lease is another handle's: this one asks nothing of the engine */
	bool stacked;
	int bound_fd;

	uint8_t token[WEIR_TOKEN_SIZE];
	uint32_t weight;
	uint32_t slot;
	uint64_t fence;
	weir_time ttl;
	weir_time waited;
	const char *name;
	const char *owner;
	const char *request_id;

	uint64_t holder;          /* on whose stack it is */
	struct weir_future *task; /* a reference, of a task that acquired it */
	struct weir__link by_token;
	struct weir__link on_stack;
	struct weir_lease *kept_next; /* namesakes_keep.c's */
	struct weir__keeper *keeper;  /* if somebody is to be told, or it is kept alive */
	char text[];                  /* name, owner, request id */
};

/* What is needed to renew a lease in the background and to tell of its end. */
struct weir__keeper {
	struct weir__timer timer; /* fires in the agent */
	struct weir_lease *lease;
	struct weir__op renewal;
	bool armed; /* its timer may fire: under the lease's lock */
	bool keepalive;
	bool renewing;
	bool told;
	uint32_t telling; /* a futex: 1 while on_lost runs */
	bool cancel;
	void (*on_lost)(struct weir_lease *lease, void *arg);
	void *on_lost_arg;
};

/* A handle in PENDING, in the ledger; owner and id NULL: the store's, and a private one. NULL when
 * there is no memory. */
struct weir_lease *weir__lease_new(struct weir_store *store, const char *name, const char *owner,
				   const char *request_id, const uint8_t *token);
void weir__lease_unpin(struct weir_lease *lease);

/* It was granted: `sent` and what the engine said. False when it has ended again meanwhile. */
bool weir__lease_begin(struct weir_lease *lease, const struct weir__grant *grant, weir_time sent);

/* It was renewed likewise. False when that came too late, and it is LOST. */
bool weir__lease_extend(struct weir_lease *lease, const struct weir__grant *grant, weir_time sent);

/* Whether it is held now; writes LOST at the deadline. */
bool weir__lease_check(struct weir_lease *lease);

/* For one who was answered by the lease of this handle, which was acquired: WEIR__SHARE it, with
 * one more reference; the lease is being given back or has ended, it is WEIR__OVER; or it is only
 * this handle that does not have it any more, and asks nothing of the engine from now on:
 * WEIR__PASS. */
enum weir__heritage { WEIR__SHARE, WEIR__OVER, WEIR__PASS };
enum weir__heritage weir__lease_bequeath(struct weir_lease *lease);

/* Makes it LOST if it is HELD. `ended`: the engine has said so. */
void weir__lease_lose(struct weir_lease *lease, bool ended);

/* Makes it RELEASED if it is HELD, and says so; takes it off its stack. `dropped`: because its last
 * handle goes, so that one that outlives its handle stays with the engine. *ret_ask: the engine
 * must be told, by the caller. */
bool weir__lease_give_up(struct weir_lease *lease, bool dropped, bool *ret_ask);

/* Has the keeper's timer fire at a time, unless it is not armed (any more). */
void weir__lease_wake_keeper(struct weir_lease *lease, weir_time boottime);
/* Disarms it. Inside the gate, or when the store is being closed. */
void weir__lease_stop_keeper(struct weir_lease *lease);

/* Tells whoever wanted to know that it is lost, once. */
void weir__lease_tell(struct weir_lease *lease);

#endif

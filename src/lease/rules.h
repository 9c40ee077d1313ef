/* lease: the rule book.
 *
 * Every rule about leases, L1-L4 and L7-L10, as functions over the record of ONE semaphore. They do
 * no I/O, read no clock and draw no random numbers: the time and the token come in as arguments.
 * Whoever keeps records (a store that lives in this process, a transaction on a file) runs these
 * functions; engines with a language of their own restate them, and are compared with them by the
 * conformance suite.
 *
 * A RECORD is a small head, struct weir__rec, that each operation needs whole, and any number of
 * claims, that are reached through a table of functions, struct weir__book, so that a record need
 * not be in memory.
 *
 * A CLAIM is a request and what becomes of it:
 *
 *     (new) --request--> WAITING --grant--> HOLDING --release, expiry, eviction--> (gone)
 *              \-----------grant at once-----^
 *     WAITING --withdrawal, silence, too heavy after a resize--> (gone)
 *
 * TIME. A claim that holds is live while now < expires; at that very instant it is not (L3). Every
 * function first drops what is not live (L9), so afterwards "in the record" and "live" mean the
 * same.
 *
 * INVARIANTS, after each function; tests/unit/test_rules.c checks them after each step.
 *     held and slots say what the HOLDING claims say
 *     no two claims share a slot, a token or a request id
 *     the queue is in the order of tickets
 *     the head of the queue does not fit, or the queue is empty (P4)
 *     fences of the HOLDING claims are different and at most rec->fence
 */
#ifndef WEIR_LEASE_RULES_H
#define WEIR_LEASE_RULES_H

#include <weir/store.h>

enum weir__claim_state {
	WEIR__NEW,
	WEIR__WAITING,
	WEIR__HOLDING,
	WEIR__GONE,
};

struct weir__claim {
	enum weir__claim_state state;
	uint32_t weight;
	weir_time ttl;
	weir_time max_hold; /* 0: none */
	weir_time since;    /* when it asked; since it holds: when it was granted */
	const char *owner;
	const char *request_id; /* NULL: nobody will ask again under the same id */
	uint8_t token[WEIR_TOKEN_SIZE];
	/* WAITING */
	uint64_t ticket;
	weir_time silent; /* gone at this time unless heard of before */
	/* HOLDING */
	uint64_t fence;
	uint32_t slot;
	weir_time expires;
	weir_time hard_end; /* WEIR_NEVER: none */
};

/* How long those waited who were granted after a wait: four classes to each doubling, from a
 * microsecond up. */
#define WEIR__WAIT_CLASSES 128

struct weir__waits {
	weir_time longest;
	uint32_t count[WEIR__WAIT_CLASSES];
};

struct weir__counters {
	uint64_t at_once, after_wait, refused, expired, renewals_failed;
};

/* Which slots are taken. Room is made beforehand, so that granting cannot fail. */
struct weir__slots {
	uint32_t size; /* how many bits there are */
	uint64_t few;  /* the bits, while 64 are enough */
	uint64_t *many;
};

struct weir__book;

struct weir__rec {
	const struct weir__book *book;
	uint32_t limit; /* 0: paused */
	uint32_t held;  /* permits of all HOLDING claims */
	uint32_t holders;
	uint32_t waiting; /* claims */
	uint64_t fence;   /* the last one given; the next is higher */
	uint64_t ticket;  /* the last one given */
	struct weir__slots slots;
	struct weir__counters counters;
};

/* What happened to a claim that its owner does not know of. */
enum weir__event {
	WEIR__GRANTED,   /* it waited and now holds */
	WEIR__TOO_HEAVY, /* it waited and never will hold */
	WEIR__EXPIRED,
	WEIR__EVICTED,
	WEIR__SILENCED, /* it waited and was not heard of */
};

/* How the rules reach the claims of a record. No function can fail as far as the rules are
 * concerned: a keeper whose file fails remembers that, answers anything, and throws all of it away
 * at the end. */
struct weir__book {
	/* NULL when there is none. */
	struct weir__claim *(*by_token)(struct weir__rec *rec, const uint8_t *token);
	struct weir__claim *(*by_request)(struct weir__rec *rec, const char *request_id);
	struct weir__claim *(*first_to_expire)(struct weir__rec *rec); /* HOLDING, lowest expires */
	struct weir__claim *(*first_to_fall_silent)(struct weir__rec *rec); /* WAITING */
	struct weir__claim *(*head)(struct weir__rec *rec); /* WAITING, lowest ticket */
	struct weir__claim *(*after)(struct weir__rec *rec, struct weir__claim *waiting);

	/* The claim was `before` and now is claim->state, with its fields set accordingly: puts it
	 * where it belongs. The same state twice means that times in it have changed. */
	void (*changed)(struct weir__rec *rec, struct weir__claim *claim,
			enum weir__claim_state before);
	/* After changed(), and only for what the claim's owner did not do itself. */
	void (*tell)(struct weir__rec *rec, struct weir__claim *claim, enum weir__event event);
	/* A claim was granted after a wait of this long. May be NULL. */
	void (*waited)(struct weir__rec *rec, weir_time wait);
};

/* Makes room for slots below `limit`. 0 or -ENOMEM, and then nothing has changed. */
int weir__slots_reserve(struct weir__slots *slots, uint32_t limit);
void weir__slots_done(struct weir__slots *slots);
bool weir__slots_taken(const struct weir__slots *slots, uint32_t slot);

/* Whether a request that insists on `limit` (0: on none) may be made here. A semaphore that is
 * paused has no limit to differ from: the request waits as all do. */
static inline bool weir__rules_limit_fits(const struct weir__rec *rec, uint32_t limit)
{
	return limit == 0 || rec->limit == 0 || rec->limit == limit;
}

/* A request. The claim is NEW and has its weight, ttl, max_hold, owner, request_id and token;
 * `silence` is how long it may be silent while it waits.
 *     0         it holds; *ret_claim is this claim, or the one that held under the same request id
 *     1         it waits (only with `wait`); likewise this claim or the one before
 *     -EAGAIN   full, or others wait, the one before under the same request id among them
 *     -E2BIG    heavier than the limit
 * With an error, nothing has been added. */
int weir__rules_request(struct weir__rec *rec, weir_time now, struct weir__claim *claim, bool wait,
			weir_time silence, struct weir__claim **ret_claim);

/* A waiter asks: 0 it holds, 1 it still waits and will be silent again for `silence`, -ESTALE it is
 * gone. Sets *ret_claim unless gone. */
int weir__rules_poll(struct weir__rec *rec, weir_time now, const uint8_t *token, weir_time silence,
		     struct weir__claim **ret_claim);

/* A waiter gives up: 1 it was granted before (and *ret_claim holds), 0 it is gone now, or was
 * before. `refused` counts it as one that ran out of time. */
int weir__rules_withdraw(struct weir__rec *rec, weir_time now, const uint8_t *token, bool refused,
			 struct weir__claim **ret_claim);

/* Extends to now + ttl, or by as much as its max_hold allows; never shortens. ttl 0 only looks. 0
 * or -ESTALE. */
int weir__rules_renew(struct weir__rec *rec, weir_time now, const uint8_t *token, weir_time ttl,
		      struct weir__claim **ret_claim);

/* 0 or -ESTALE. */
int weir__rules_release(struct weir__rec *rec, weir_time now, const uint8_t *token);
int weir__rules_evict(struct weir__rec *rec, weir_time now, const uint8_t *token);

/* A new limit, below 2^31. 0 or -ENOMEM. A new record is all zero but for its book and gets its
 * limit so. */
int weir__rules_resize(struct weir__rec *rec, weir_time now, uint32_t limit);

/* Drops up to `max` of the leases that have expired, and all waiters that have fallen silent,
 * grants, and returns how many leases expired. */
uint32_t weir__rules_expire(struct weir__rec *rec, weir_time now, uint32_t max);

/* Ends one claim, whatever its state, because its owner is known to be dead. Others may end in the
 * same step, having expired: look the next one up again. */
void weir__rules_bury(struct weir__rec *rec, weir_time now, struct weir__claim *claim);

/* The class of a wait, and the wait below which `part` (0 to 1) of those counted lie. */
uint32_t weir__wait_class(weir_time wait);
void weir__waits_add(struct weir__waits *waits, weir_time wait);
weir_time weir__waits_percentile(const struct weir__waits *waits, double part);

#endif

/* chaos: what clients did and saw, and whether leases allow it.
 *
 * A history is a list of operations, each with the times just before and just after the call, all
 * on one clock. history_check() looks for proof that a promise was broken. It never accuses without
 * proof: where the times leave it open what happened first, it assumes the best. It does not search
 * for an explanation of the whole, so a million operations take it seconds.
 *
 * WHAT EACH CHECK PROVES (the promise that is broken)
 *     1  LIMIT      together they held more than the limit, or two held one slot (L1, L2)
 *     2  FENCES     a later grant has not got a higher fence, or two have the same (L2)
 *     3  STABLE     two answers about one token differ in fence, slot or weight (L2, L4)
 *     4  ORDER      somebody was granted before one who was in the queue when it came (L7)
 *     5  REFUSAL    a try was refused although it must have fitted, with nobody in the queue
 *     6  IDLE       a waiter went on waiting although it was first and must have fitted (L8, L11)
 *     7  TOKEN      a token was good after its end, ended twice, or was never granted (L3)
 *     8  IDENTITY   one request id had two leases at one time (L4)
 *     9  HONESTY    a client believed in its lease for longer than it may (L5)
 *     10 END        something is left at the end, or the last fence is not the last (L9)
 *
 * FOR EACH LEASE two spans follow from the times: during `must` it was held whatever happened
 * between the calls; outside `may` it was not. */
#ifndef TESTS_CHAOS_HISTORY_H
#define TESTS_CHAOS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HISTORY_NEVER INT64_MAX

enum history_kind {
	HISTORY_ACQUIRE = 'a', /* result 0: token, fence, slot */
	HISTORY_RENEW = 'n',   /* token, ttl */
	HISTORY_RELEASE = 'r', /* token */
	HISTORY_EVICT = 'e',   /* token */
	HISTORY_RESIZE = 'l',  /* limit; a name's first one also creates it */
	HISTORY_SEEN = 'q',  /* request: it was seen in the queue, in a listing that ended at ret */
	HISTORY_HELD = 'h',  /* token: at inv, its holder's side took it for held */
	HISTORY_DEATH = 'd', /* client: killed after inv, certainly dead at ret */
	HISTORY_END = 'z',   /* weight: permits held, slot: waiters, fence: the last one given */
};

enum {
	HISTORY_WAITED = 1,   /* the request may have been in the queue; not a try */
	HISTORY_STOPPED = 2,  /* its client stood still for longer than waiters may be silent */
	HISTORY_DETACHED = 4, /* the lease does not end with its client */
};

struct history_op {
	int64_t inv;
	int64_t ret; /* HISTORY_NEVER: the outcome is not known, and result means nothing */
	int64_t ttl;
	int64_t max_hold; /* 0: none */
	uint64_t token;
	uint64_t request; /* 0: none */
	uint64_t fence;
	uint32_t name;
	uint32_t client;
	uint32_t weight;
	uint32_t slot;
	uint32_t limit;
	int32_t result;
	uint8_t kind;
	uint8_t flags;
};

struct history {
	struct history_op *ops;
	size_t n;
	int64_t guard; /* HONESTY: by how much a client's idea of the end comes early; at least 0 */
	int64_t slack; /* IDLE: how long a call may take to arrive, and a grant; HISTORY_NEVER: not
			  checked */
	bool deaths_free_at_once; /* IDLE, REFUSAL: a dead client's permits come back without its
				     TTL, and nobody is refused because of them */
};

enum { HISTORY_CHECKS = 10 };

struct history_finding {
	int check;        /* 1 to 10 */
	size_t op, other; /* indices into ops; what `other` is depends on the check */
};

struct history_report {
	size_t found[HISTORY_CHECKS + 1];  /* by check; [0]: all */
	struct history_finding first;      /* one of them */
	size_t leases, deaths, unknown;    /* what there was to look at */
	size_t waits_judged, tries_judged; /* IDLE, REFUSAL: where a verdict was possible */
	size_t order_judged;
};

/* 0, or -ENOMEM. The operations are not changed, their order does not matter. */
int history_check(const struct history *history, struct history_report *ret_report);

/* One line for each operation, '#' begins a comment. Reading: 0, -ENOMEM, or -EINVAL with the
 * number of the bad line; what was read is to be freed with free(). */
int history_read(FILE *file, struct history *ret_history, size_t *ret_line);
int history_write(FILE *file, const struct history *history);
void history_write_op(FILE *file, const struct history_op *op);

/* What a check is about, in a few words. */
const char *history_check_name(int check);

#endif

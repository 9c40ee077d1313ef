/* The states of a small semaphore, each as few bytes; and the rule book's record and the naive
 * account that such a state is. For test_rules.c. */
#ifndef TESTS_UNIT_RULES_STATES_H
#define TESTS_UNIT_RULES_STATES_H

#define LITTLE_CLAIMS 5
#define NAIVE_CLAIMS 6
#include "support/little_book.h"
#include "support/naive_leases.h"
#include "support/unit.h"

#include <stdlib.h>

enum { NOW = 1000, SILENCE = 2 };

/* What may be asked for. Two share a request id, as a retry by somebody else does. */
static const struct kind {
	uint32_t weight;
	weir_time ttl, max_hold;
	const char *request_id;
} kinds[] = {
	{ 1, 2, 0, "a" }, { 1, 1, 0, NULL }, { 2, 2, 3, "b" }, { 2, 1, 2, "a" }, { 2, 1, 0, NULL },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- states, packed -----------------------------------------------------------------------------
 */

/* Holders in the order of their fences, then waiters in that of their tickets. Times are from now;
 * of those past, all are alike but for their order, which a few steps back keeps. */
struct packed_claim {
	uint8_t kind;
	int8_t end;  /* silent, expires */
	int8_t hard; /* 0: none, or 100 + time */
	uint8_t slot;
};

struct packed {
	uint8_t limit, holders, waiters, unused;
	struct packed_claim claims[LITTLE_CLAIMS];
};

struct pair {
	struct little_book book;
	struct naive naive;
};

static inline void token_of(uint8_t token[WEIR_TOKEN_SIZE], uint32_t number)
{
	memset(token, 0, WEIR_TOKEN_SIZE);
	memcpy(token, &number, sizeof(number));
}

enum { STALE_TOKEN = 77, NEW_TOKEN = 99 };

static inline void unpack_claim(struct pair *pair, const struct packed_claim *packed, uint32_t i,
				bool holds)
{
	const struct kind *kind = &kinds[packed->kind];
	struct weir__claim *claim = &pair->book.claims[i];
	struct naive_claim *naive = &pair->naive.all[i];

	*claim = (struct weir__claim){
		.state = holds ? WEIR__HOLDING : WEIR__WAITING,
		.weight = kind->weight,
		.ttl = kind->ttl,
		.max_hold = kind->max_hold,
		.request_id = kind->request_id,
		.since = NOW - 5,
	};
	*naive = (struct naive_claim){
		.weight = kind->weight,
		.ttl = kind->ttl,
		.max_hold = kind->max_hold,
		.request_id = kind->request_id,
		.asked = NOW - 5,
		.granted = NOW - 5,
	};
	token_of(claim->token, i + 1);
	token_of(naive->token, i + 1);
	pair->book.known[i] = claim->state;
	if (holds) {
		claim->fence = naive->fence = i + 1;
		claim->slot = naive->slot = packed->slot;
		claim->expires = naive->expires = NOW + packed->end;
		claim->hard_end = naive->hard_end = packed->hard != 0 ? NOW + packed->hard - 100 :
									WEIR_NEVER;
	} else {
		claim->ticket = i + 1;
		claim->silent = naive->silent = NOW + packed->end;
	}
}

static inline void unpack(struct pair *pair, const struct packed *packed)
{
	struct weir__rec *rec = &pair->book.rec;
	uint32_t all = (uint32_t)packed->holders + packed->waiters;

	little_init(&pair->book);
	memset(&pair->naive, 0, sizeof(pair->naive));
	for (uint32_t i = 0; i < all; i++) {
		unpack_claim(pair, &packed->claims[i], i, i < packed->holders);
		if (i < packed->holders) {
			rec->held += pair->book.claims[i].weight;
			rec->slots.few |= UINT64_C(1) << packed->claims[i].slot;
		}
	}
	rec->slots.size = 64;
	rec->holders = packed->holders;
	rec->waiting = packed->waiters;
	rec->fence = pair->naive.fence = packed->holders;
	rec->ticket = all;
	rec->limit = pair->naive.limit = packed->limit;
	pair->naive.n = all;
}

static inline uint8_t kind_of(const struct weir__claim *claim)
{
	for (uint8_t i = 0; i < KINDS; i++)
		if (kinds[i].weight == claim->weight && kinds[i].ttl == claim->ttl &&
		    kinds[i].max_hold == claim->max_hold &&
		    kinds[i].request_id == claim->request_id)
			return i;
	abort();
}

static inline int8_t from_now(weir_time time, weir_time now)
{
	return (int8_t)(time - now < -1 ? -1 : time - now);
}

static inline int in_order(const void *left, const void *right)
{
	const struct weir__claim *a = *(const struct weir__claim *const *)left;
	const struct weir__claim *b = *(const struct weir__claim *const *)right;

	if (a->state != b->state)
		return a->state == WEIR__HOLDING ? -1 : 1;
	if (a->state == WEIR__HOLDING)
		return a->fence < b->fence ? -1 : 1;
	return a->ticket < b->ticket ? -1 : 1;
}

static inline void pack(struct packed *packed, const struct little_book *book, weir_time now)
{
	const struct weir__claim *order[LITTLE_CLAIMS];
	size_t n = 0;

	for (size_t i = 0; i < LITTLE_CLAIMS; i++)
		if (little_live(&book->claims[i]))
			order[n++] = &book->claims[i];
	qsort(order, n, sizeof(order[0]), in_order);
	memset(packed, 0, sizeof(*packed));
	packed->limit = (uint8_t)book->rec.limit;
	packed->holders = (uint8_t)book->rec.holders;
	packed->waiters = (uint8_t)book->rec.waiting;
	for (size_t i = 0; i < n; i++) {
		struct packed_claim *to = &packed->claims[i];

		to->kind = kind_of(order[i]);
		if (order[i]->state == WEIR__WAITING) {
			to->end = from_now(order[i]->silent, now);
			continue;
		}
		to->slot = (uint8_t)order[i]->slot;
		to->end = from_now(order[i]->expires, now);
		if (order[i]->hard_end != WEIR_NEVER)
			to->hard = (int8_t)(100 + from_now(order[i]->hard_end, now));
	}
}

#endif

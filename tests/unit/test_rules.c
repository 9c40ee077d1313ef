/* The rule book in every state that a small semaphore can be in.
 *
 * A search starts with an empty record and applies every operation to every state it finds, until
 * no new state turns up or the number of steps reaches its bound. Time is counted from now, fences
 * and tickets by their order, so what is finite is visited whole: all histories of any length, of a
 * semaphore with so many claims.
 *
 * Each step is taken twice, by the rules and by the naive account of support/naive_leases.h, and
 * they must agree about the answer, about every claim, the counters and the news. The invariants of
 * lease/rules.h are then checked on the rules' record alone. */
#define LITTLE_CLAIMS 5
#define NAIVE_CLAIMS 6
#include "support/little_book.h"
#include "support/naive_leases.h"
#include "support/sanitizers.h"
#include "support/unit.h"

#include <stdio.h>
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

static void token_of(uint8_t token[WEIR_TOKEN_SIZE], uint32_t number)
{
	memset(token, 0, WEIR_TOKEN_SIZE);
	memcpy(token, &number, sizeof(number));
}

enum { STALE_TOKEN = 77, NEW_TOKEN = 99 };

static void unpack_claim(struct pair *pair, const struct packed_claim *packed, uint32_t i,
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

static void unpack(struct pair *pair, const struct packed *packed)
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

static uint8_t kind_of(const struct weir__claim *claim)
{
	for (uint8_t i = 0; i < KINDS; i++)
		if (kinds[i].weight == claim->weight && kinds[i].ttl == claim->ttl &&
		    kinds[i].max_hold == claim->max_hold &&
		    kinds[i].request_id == claim->request_id)
			return i;
	abort();
}

static int8_t from_now(weir_time time, weir_time now)
{
	return (int8_t)(time - now < -1 ? -1 : time - now);
}

static int in_order(const void *left, const void *right)
{
	const struct weir__claim *a = *(const struct weir__claim *const *)left;
	const struct weir__claim *b = *(const struct weir__claim *const *)right;

	if (a->state != b->state)
		return a->state == WEIR__HOLDING ? -1 : 1;
	if (a->state == WEIR__HOLDING)
		return a->fence < b->fence ? -1 : 1;
	return a->ticket < b->ticket ? -1 : 1;
}

static void pack(struct packed *packed, const struct little_book *book, weir_time now)
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

/* ---- the two accounts side by side --------------------------------------------------------------
 */

static const struct weir__claim *twin(const struct pair *pair, const struct naive_claim *naive)
{
	return little_by_token((struct weir__rec *)&pair->book.rec, naive->token);
}

static void same_claim(const struct weir__claim *claim, const struct naive_claim *naive)
{
	assert_non_null(claim);
	assert_int_equal(claim->state, naive->fence != 0 ? WEIR__HOLDING : WEIR__WAITING);
	assert_int_equal(claim->weight, naive->weight);
	assert_true(claim->request_id == naive->request_id);
	if (naive->fence == 0) {
		assert_int_equal(claim->silent, naive->silent);
		assert_int_equal(claim->since, naive->asked);
		return;
	}
	assert_int_equal(claim->fence, naive->fence);     /* L2 */
	assert_int_equal(claim->slot, naive->slot);       /* L2 */
	assert_int_equal(claim->expires, naive->expires); /* L3, L4 */
	assert_int_equal(claim->hard_end, naive->hard_end);
	assert_int_equal(claim->since, naive->granted);
}

static char kind_of_news(enum weir__event event)
{
	static const char kind[] = { [WEIR__GRANTED] = 'g',
				     [WEIR__TOO_HEAVY] = 'h',
				     [WEIR__EXPIRED] = 'e',
				     [WEIR__EVICTED] = 'v',
				     [WEIR__SILENCED] = 's' };

	return kind[event];
}

/* Who is told what: grants in their order, the rest in any (L8). */
static void same_news(const struct little_book *book, const struct naive *naive)
{
	size_t told = 0;

	assert_int_equal(book->n_told, naive->n_news);
	for (size_t i = 0; i < naive->n_news; i++) {
		bool found = false;

		if (naive->news[i].kind == 'g') {
			while (told < book->n_told && book->told[told].event != WEIR__GRANTED)
				told++;
			assert_memory_equal(book->told[told++].token, naive->news[i].token,
					    WEIR_TOKEN_SIZE);
		}
		for (size_t k = 0; k < book->n_told; k++)
			found = found ||
				(kind_of_news(book->told[k].event) == naive->news[i].kind &&
				 memcmp(book->told[k].token, naive->news[i].token,
					WEIR_TOKEN_SIZE) == 0);
		assert_true(found);
	}
	assert_int_equal(book->n_waits, naive->n_waits);
	for (size_t i = 0; i < naive->n_waits; i++)
		assert_int_equal(book->waits[i], naive->waits[i]);
}

static void same_state(struct pair *pair)
{
	const struct weir__rec *rec = &pair->book.rec;
	const struct naive *naive = &pair->naive;
	uint32_t waiting = 0;

	for (size_t i = 0; i < naive->n; i++) {
		const struct weir__claim *claim = twin(pair, &naive->all[i]);

		same_claim(claim, &naive->all[i]);
		if (naive->all[i].fence == 0) {
			waiting++;
			assert_int_equal(little_position(&pair->book.rec, claim), waiting);
		}
	}
	assert_int_equal(rec->limit, naive->limit);
	assert_int_equal(rec->held, naive_held(naive));
	assert_int_equal(rec->waiting, waiting);
	assert_int_equal(rec->holders, naive->n - waiting);
	assert_int_equal(rec->fence, naive->fence);
	assert_int_equal(rec->counters.at_once, naive->at_once);
	assert_int_equal(rec->counters.after_wait, naive->after_wait);
	assert_int_equal(rec->counters.refused, naive->refused);
	assert_int_equal(rec->counters.expired, naive->expired);
	assert_int_equal(rec->counters.renewals_failed, naive->renewals_failed);
	same_news(&pair->book, naive);
}

/* ---- the invariants of lease/rules.h, on the record alone ---------------------------------------
 */

static void check_claims(const struct little_book *book, uint64_t *slots, uint32_t *held)
{
	for (size_t i = 0; i < LITTLE_CLAIMS; i++) {
		const struct weir__claim *a = &book->claims[i];

		if (!little_live(a))
			continue;
		for (size_t k = 0; k < i; k++) {
			const struct weir__claim *b = &book->claims[k];

			if (!little_live(b))
				continue;
			assert_memory_not_equal(a->token, b->token, WEIR_TOKEN_SIZE);
			assert_false(a->request_id && b->request_id &&
				     strcmp(a->request_id, b->request_id) == 0);
			if (a->state == WEIR__HOLDING && b->state == WEIR__HOLDING)
				assert_true(a->fence != b->fence && a->slot != b->slot);
			if (a->state == WEIR__WAITING && b->state == WEIR__WAITING)
				assert_true(a->ticket != b->ticket);
		}
		if (a->state == WEIR__HOLDING) {
			*slots |= UINT64_C(1) << a->slot;
			*held += a->weight;
			assert_true(a->fence <= book->rec.fence);
			assert_true(weir__slots_taken(&book->rec.slots, a->slot));
		}
	}
}

/* `before` is the state before the step; `whole` is false for what need not drop all that has
 * expired. A resize first drops the dead, and grants, under the old limit. */
static void check_invariants(const struct little_book *book, weir_time now,
			     const struct packed *before, bool whole)
{
	const struct weir__rec *rec = &book->rec;
	uint32_t limit = rec->limit > before->limit ? rec->limit : before->limit;
	const struct weir__claim *head = little_head((struct weir__rec *)rec);
	uint64_t slots = 0;
	uint32_t held = 0;

	check_claims(book, &slots, &held);
	assert_int_equal(book->misuses, 0);
	assert_int_equal(rec->held, held);
	assert_int_equal(rec->slots.few, slots);
	assert_false(head != NULL && held + head->weight <= rec->limit); /* P4, L8 */
	for (size_t i = 0; i < LITTLE_CLAIMS; i++) {
		const struct weir__claim *a = &book->claims[i];

		if (a->state == WEIR__HOLDING &&
		    a->fence > before->holders) {      /* granted just now */
			assert_true(held <= limit);    /* L1 */
			assert_true(a->slot < limit);  /* L2 */
			assert_true(a->expires > now); /* L3 */
		}
		assert_false(whole && a->state == WEIR__HOLDING && a->expires <= now); /* L9 */
		assert_false(a->state == WEIR__WAITING && a->silent <= now);           /* L9 */
	}
}

/* ---- steps --------------------------------------------------------------------------------------
 */

enum verb {
	TRY,
	WAIT,
	POLL,
	WITHDRAW,
	GIVE_UP,
	RENEW,
	RELEASE,
	EVICT,
	BURY,
	RESIZE,
	EXPIRE,
	TICK,
};

struct step {
	enum verb verb;
	uint32_t arg; /* kind, token, limit, max */
	weir_time ttl;
};

static void request(struct pair *pair, const struct step *step)
{
	const struct kind *kind = &kinds[step->arg];
	struct weir__claim *claim = little_room(&pair->book);
	struct weir__claim *found = NULL;
	struct naive_claim *naive_found = NULL;
	struct naive_claim asked = { .weight = kind->weight,
				     .ttl = kind->ttl,
				     .max_hold = kind->max_hold,
				     .request_id = kind->request_id };
	bool wait = step->verb == WAIT;

	claim->weight = kind->weight;
	claim->ttl = kind->ttl;
	claim->max_hold = kind->max_hold;
	claim->request_id = kind->request_id;
	token_of(claim->token, NEW_TOKEN);
	token_of(asked.token, NEW_TOKEN);

	int result = weir__rules_request(&pair->book.rec, NOW, claim, wait, SILENCE, &found);

	assert_int_equal(result,
			 naive_request(&pair->naive, NOW, &asked, wait, SILENCE, &naive_found));
	if (result >= 0)
		same_claim(found, naive_found);
	else
		assert_null(found);
}

static int rules_step(struct pair *pair, const struct step *step, const uint8_t *token,
		      struct weir__claim **found)
{
	struct weir__rec *rec = &pair->book.rec;

	switch (step->verb) {
	case POLL:
		return weir__rules_poll(rec, NOW, token, SILENCE, found);
	case WITHDRAW:
	case GIVE_UP:
		return weir__rules_withdraw(rec, NOW, token, step->verb == GIVE_UP, found);
	case RENEW:
		return weir__rules_renew(rec, NOW, token, step->ttl, found);
	case RELEASE:
		return weir__rules_release(rec, NOW, token);
	case EVICT:
		return weir__rules_evict(rec, NOW, token);
	case BURY:
		weir__rules_bury(rec, NOW, little_by_token(rec, token));
		return 0;
	case RESIZE:
		return weir__rules_resize(rec, NOW, step->arg);
	case EXPIRE:
		return (int)weir__rules_expire(rec, NOW, step->arg);
	default:
		abort();
	}
}

static int naive_step(struct pair *pair, const struct step *step, const uint8_t *token,
		      struct naive_claim **found)
{
	struct naive *naive = &pair->naive;

	switch (step->verb) {
	case POLL:
		return naive_poll(naive, NOW, token, SILENCE, found);
	case WITHDRAW:
	case GIVE_UP:
		return naive_withdraw(naive, NOW, token, step->verb == GIVE_UP, found);
	case RENEW:
		return naive_renew(naive, NOW, token, step->ttl, found);
	case RELEASE:
		return naive_end(naive, NOW, token, false);
	case EVICT:
		return naive_end(naive, NOW, token, true);
	case BURY:
		naive_bury(naive, NOW, token);
		return 0;
	case RESIZE:
		naive_resize(naive, NOW, step->arg);
		return 0;
	case EXPIRE:
		return (int)naive_clear(naive, NOW, step->arg);
	default:
		abort();
	}
}

/* The state after one step from `from`. */
static void take(const struct packed *from, const struct step *step, struct packed *to)
{
	static struct pair pair;
	weir_time now = NOW;

	unpack(&pair, from);
	if (step->verb == TICK) {
		pack(to, &pair.book, NOW + 1);
		return;
	}
	if (step->verb <= WAIT) {
		request(&pair, step);
	} else {
		uint8_t token[WEIR_TOKEN_SIZE];
		struct weir__claim *found = NULL;
		struct naive_claim *naive_found = NULL;

		token_of(token, step->arg);

		int result = rules_step(&pair, step, token, &found);

		assert_int_equal(result, naive_step(&pair, step, token, &naive_found));
		if (found != NULL)
			same_claim(found, naive_found);
	}
	same_state(&pair);
	check_invariants(&pair.book, now, from, step->verb != EXPIRE);
	pack(to, &pair.book, now);
}

/* ---- the search ---------------------------------------------------------------------------------
 */

static struct {
	struct packed *found; /* in the order in which they turned up */
	uint32_t n, room;
	uint32_t *table; /* 1 + index into found */
	uint32_t mask;
} seen;

static uint32_t hash(const struct packed *packed)
{
	uint64_t words[sizeof(*packed) / 4];
	uint64_t h = 0;

	memset(words, 0, sizeof(words));
	memcpy(words, packed, sizeof(*packed));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
	return (uint32_t)(h ^ h >> 32);
}

static void note(const struct packed *packed)
{
	uint32_t at = hash(packed) & seen.mask;

	while (seen.table[at] != 0) {
		if (memcmp(&seen.found[seen.table[at] - 1], packed, sizeof(*packed)) == 0)
			return;
		at = (at + 1) & seen.mask;
	}
	if (seen.n == seen.room)
		return;
	seen.found[seen.n++] = *packed;
	seen.table[at] = seen.n;
}

struct search {
	uint32_t kinds, claims, limit; /* how many of each */
	uint32_t depth;                /* steps, 0: without end */
	uint64_t steps;
};

static void try_step(struct search *search, const struct packed *from, enum verb verb, uint32_t arg,
		     weir_time ttl)
{
	struct step step = { verb, arg, ttl };
	struct packed to;

	take(from, &step, &to);
	note(&to);
	search->steps++;
}

static void on_token(struct search *search, const struct packed *from, uint32_t token)
{
	for (enum verb verb = POLL; verb < BURY; verb++)
		if (verb != RENEW)
			try_step(search, from, verb, token, 0);
	for (weir_time ttl = 0; ttl <= 3; ttl++)
		if (ttl != 1)
			try_step(search, from, RENEW, token, ttl);
	if (token != STALE_TOKEN)
		try_step(search, from, BURY, token, 0);
}

static void all_steps(struct search *search, const struct packed *from)
{
	uint32_t claims = (uint32_t)from->holders + from->waiters;

	for (uint32_t kind = 0; kind < search->kinds && claims < search->claims; kind++) {
		try_step(search, from, TRY, kind, 0);
		try_step(search, from, WAIT, kind, 0);
	}
	for (uint32_t i = 0; i < claims; i++)
		on_token(search, from, i + 1);
	on_token(search, from, STALE_TOKEN);
	for (uint32_t limit = 0; limit <= search->limit; limit++)
		try_step(search, from, RESIZE, limit, 0);
	try_step(search, from, EXPIRE, 0, 0);
	try_step(search, from, EXPIRE, 1, 0);
	try_step(search, from, EXPIRE, UINT32_MAX, 0);
	try_step(search, from, TICK, 0, 0);
}

static void explore(struct search search, uint32_t most)
{
	struct packed empty = { .limit = 0 };
	uint32_t depth = 0, level_end = 1;

	seen.room = most;
	seen.mask = 1;
	while (seen.mask < 2 * most)
		seen.mask *= 2;
	seen.found = calloc(most, sizeof(*seen.found));
	seen.table = calloc(seen.mask--, sizeof(*seen.table));
	assert_true(seen.found != NULL && seen.table != NULL);
	seen.n = 0;
	note(&empty);
	for (uint32_t i = 0; i < seen.n; i++) {
		if (i == level_end) {
			level_end = seen.n;
			depth++;
			if (search.depth != 0 && depth == search.depth)
				break;
		}
		all_steps(&search, &seen.found[i]);
	}
	(void)printf("%u claims of %u kinds, limits to %u: %u states, %llu steps, %s %u\n",
		     search.claims, search.kinds, search.limit, seen.n,
		     (unsigned long long)search.steps,
		     search.depth == 0 ? "every history; the farthest state is at step" :
					 "every history to step",
		     depth);
	assert_true(seen.n < most); /* or the search was not a whole one */
	free(seen.found);
	free(seen.table);
}

/* Sanitizers make each step twenty times as long. */
#define SLOW (UNDER_ASAN || UNDER_TSAN)

static bool whole; /* as long as it takes */

TEST(every_history_of_three_claims_L1_L2_L3_L4_L7_L8_L9)
{
	explore((struct search){ .kinds = SLOW ? 2 : 4, .claims = 3, .limit = 3 }, 1 << 20);
}

TEST(every_short_history_of_five_claims_of_all_kinds_L1_L2_L3_L4_L7_L8_L9)
{
	explore((struct search){ .kinds = KINDS, .claims = 5, .limit = 4, .depth = SLOW ? 4 : 6 },
		1 << 20);
}

TEST(every_history_of_four_claims_of_all_kinds_L1_L2_L3_L4_L7_L8_L9)
{
	if (!whole)
		skip();
	explore((struct search){ .kinds = KINDS, .claims = 4, .limit = 3 }, 1 << 24);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_history_of_three_claims_L1_L2_L3_L4_L7_L8_L9),
		cmocka_unit_test(
			every_short_history_of_five_claims_of_all_kinds_L1_L2_L3_L4_L7_L8_L9),
		cmocka_unit_test(every_history_of_four_claims_of_all_kinds_L1_L2_L3_L4_L7_L8_L9),
	};

	whole = argc > 1 && strcmp(argv[1], "--whole") == 0;
	return RUN_TESTS(tests);
}

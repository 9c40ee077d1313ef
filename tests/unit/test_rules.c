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
#include "unit/rules_checks.h"
#include "unit/rules_states.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/sanitizers.h"

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

/* What must be true after each step of the rule book. For test_rules.c. */
#ifndef TESTS_UNIT_RULES_CHECKS_H
#define TESTS_UNIT_RULES_CHECKS_H

#include "unit/rules_states.h"

/* ---- the two accounts side by side --------------------------------------------------------------
 */

static inline const struct weir__claim *twin(const struct pair *pair,
					     const struct naive_claim *naive)
{
	return little_by_token((struct weir__rec *)&pair->book.rec, naive->token);
}

static inline void same_claim(const struct weir__claim *claim, const struct naive_claim *naive)
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

static inline char kind_of_news(enum weir__event event)
{
	static const char kind[] = { [WEIR__GRANTED] = 'g',
				     [WEIR__TOO_HEAVY] = 'h',
				     [WEIR__EXPIRED] = 'e',
				     [WEIR__EVICTED] = 'v',
				     [WEIR__SILENCED] = 's' };

	return kind[event];
}

/* Who is told what: grants in their order, the rest in any (L8). */
static inline void same_news(const struct little_book *book, const struct naive *naive)
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

static inline void same_state(struct pair *pair)
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

static inline void check_claims(const struct little_book *book, uint64_t *slots, uint32_t *held)
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
static inline void check_invariants(const struct little_book *book, weir_time now,
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

#endif

/* lease: the rule book. See rules.h.
 *
 * THE ONE GRANT ROUTINE is settle(). Whatever may change the head of the queue or the permits that
 * are free ends in it, in the same step. So L8 needs no further thought: a release cannot forget
 * the next in line.
 */
#include "lease/rules.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"

/* ---- slots ----------------------------------------------------------------------------------- */

#define WORD 64U

static uint64_t *slot_words(struct weir__slots *slots)
{
	return slots->many != NULL ? slots->many : &slots->few;
}

int weir__slots_reserve(struct weir__slots *slots, uint32_t limit)
{
	uint32_t old_words = slots->size / WORD;
	uint32_t new_words = limit / WORD + (limit % WORD != 0);

	if (new_words <= old_words)
		return 0;
	if (new_words > 1) {
		uint64_t *many = weir__alloc(new_words * sizeof(*many));

		if (many == NULL)
			return -ENOMEM;
		memcpy(many, slot_words(slots), old_words * sizeof(*many));
		weir__free(slots->many);
		slots->many = many;
	}
	slots->size = new_words * WORD;
	return 0;
}

void weir__slots_done(struct weir__slots *slots)
{
	weir__free(slots->many);
	*slots = (struct weir__slots){ 0 };
}

bool weir__slots_taken(const struct weir__slots *slots, uint32_t slot)
{
	const uint64_t *bits = slots->many != NULL ? slots->many : &slots->few;

	return slot < slots->size && (bits[slot / WORD] >> slot % WORD & 1) != 0;
}

/* The lowest free one. There is one below the limit: each holder has one slot and at least one
 * permit, and the permits of all and of the newcomer are within the limit. */
static uint32_t slot_take(struct weir__slots *slots)
{
	uint64_t *bits = slot_words(slots);
	uint32_t word = 0;

	while (bits[word] == UINT64_MAX)
		word++;

	uint32_t bit = (uint32_t)__builtin_ctzll(~bits[word]);

	bits[word] |= UINT64_C(1) << bit;
	return word * WORD + bit;
}

static void slot_free(struct weir__slots *slots, uint32_t slot)
{
	slot_words(slots)[slot / WORD] &= ~(UINT64_C(1) << slot % WORD);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool fits(const struct weir__rec *rec, uint32_t weight)
{
	return rec->held <= rec->limit && weight <= rec->limit - rec->held;
}

/* L2: the fence rises with each grant, the slot is one that nobody has. */
static void grant(struct weir__rec *rec, weir_time now, struct weir__claim *claim)
{
	enum weir__claim_state before = claim->state;

	if (before == WEIR__WAITING) {
		rec->waiting--;
		rec->counters.after_wait++;
		if (rec->book->waited != NULL)
			rec->book->waited(rec, now - claim->since);
	} else {
		rec->counters.at_once++;
	}
	rec->held += claim->weight;
	rec->holders++;
	claim->fence = ++rec->fence;
	claim->slot = slot_take(&rec->slots);
	claim->since = now;
	claim->hard_end = claim->max_hold != 0 ? weir__time_add(now, claim->max_hold) : WEIR_NEVER;
	claim->expires = now + claim->ttl < claim->hard_end ? now + claim->ttl : claim->hard_end;
	claim->state = WEIR__HOLDING;
	rec->book->changed(rec, claim, before);
}

/* P3, P4: from the head on, as long as they fit; a head that does not is waited for. */
static void settle(struct weir__rec *rec, weir_time now)
{
	while (rec->waiting != 0) {
		struct weir__claim *head = rec->book->head(rec);

		if (head == NULL || !fits(rec, head->weight))
			return;
		grant(rec, now, head);
		rec->book->tell(rec, head, WEIR__GRANTED);
	}
}

static void drop(struct weir__rec *rec, struct weir__claim *claim)
{
	enum weir__claim_state before = claim->state;

	if (before == WEIR__HOLDING) {
		rec->held -= claim->weight;
		rec->holders--;
		slot_free(&rec->slots, claim->slot);
	} else {
		rec->waiting--;
	}
	claim->state = WEIR__GONE;
	rec->book->changed(rec, claim, before);
}

/* L9. Returns how many leases have expired. The silent go first, and all of them, for settle() must
 * not grant to one that is gone. */
static uint32_t drop_dead(struct weir__rec *rec, weir_time now, uint32_t max)
{
	struct weir__claim *claim;
	uint32_t silent = 0;
	uint32_t expired = 0;

	while (rec->waiting != 0 && (claim = rec->book->first_to_fall_silent(rec)) != NULL &&
	       claim->silent <= now) {
		drop(rec, claim);
		rec->book->tell(rec, claim, WEIR__SILENCED);
		silent++;
	}
	while (expired < max && rec->holders != 0 &&
	       (claim = rec->book->first_to_expire(rec)) != NULL && claim->expires <= now) {
		drop(rec, claim);
		rec->counters.expired++;
		rec->book->tell(rec, claim, WEIR__EXPIRED);
		expired++;
	}
	if (silent + expired != 0)
		settle(rec, now);
	return expired;
}

/* What every operation begins with. */
static void refresh(struct weir__rec *rec, weir_time now)
{
	drop_dead(rec, now, UINT32_MAX);
}

static struct weir__claim *holding(struct weir__rec *rec, const uint8_t *token)
{
	struct weir__claim *claim = rec->book->by_token(rec, token);

	return claim != NULL && claim->state == WEIR__HOLDING ? claim : NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

int weir__rules_request(struct weir__rec *rec, weir_time now, struct weir__claim *claim, bool wait,
			weir_time silence, struct weir__claim **ret_claim)
{
	refresh(rec, now);

	struct weir__claim *before = claim->request_id != NULL ?
					     rec->book->by_request(rec, claim->request_id) :
					     NULL;

	if (before != NULL) { /* L4 */
		if (before->state == WEIR__WAITING) {
			if (!wait) {
				rec->counters.refused++;
				return -EAGAIN;
			}
			before->silent = now + silence;
			rec->book->changed(rec, before, WEIR__WAITING);
		}
		*ret_claim = before;
		return before->state == WEIR__HOLDING ? 0 : 1;
	}
	if (rec->limit != 0 && claim->weight > rec->limit)
		return -E2BIG;
	if (rec->waiting == 0 && fits(rec, claim->weight)) {
		grant(rec, now, claim);
		*ret_claim = claim;
		return 0;
	}
	if (!wait) {
		rec->counters.refused++;
		return -EAGAIN;
	}
	claim->ticket = ++rec->ticket; /* L7 */
	claim->since = now;
	claim->silent = now + silence;
	claim->state = WEIR__WAITING;
	rec->waiting++;
	rec->book->changed(rec, claim, WEIR__NEW);
	*ret_claim = claim;
	return 1;
}

int weir__rules_poll(struct weir__rec *rec, weir_time now, const uint8_t *token, weir_time silence,
		     struct weir__claim **ret_claim)
{
	struct weir__claim *claim = rec->book->by_token(rec, token);

	/* Asking is a sign of life, so it comes before anything is dropped for silence. */
	if (claim != NULL && claim->state == WEIR__WAITING && claim->silent > now) {
		claim->silent = now + silence;
		rec->book->changed(rec, claim, WEIR__WAITING);
	}
	refresh(rec, now);
	claim = rec->book->by_token(rec, token);
	if (claim == NULL)
		return -ESTALE;
	*ret_claim = claim;
	return claim->state == WEIR__HOLDING ? 0 : 1;
}

int weir__rules_withdraw(struct weir__rec *rec, weir_time now, const uint8_t *token, bool refused,
			 struct weir__claim **ret_claim)
{
	refresh(rec, now);

	struct weir__claim *claim = rec->book->by_token(rec, token);

	if (claim == NULL)
		return 0;
	if (claim->state == WEIR__HOLDING) {
		*ret_claim = claim;
		return 1;
	}
	drop(rec, claim);
	if (refused)
		rec->counters.refused++;
	settle(rec, now);
	return 0;
}

int weir__rules_renew(struct weir__rec *rec, weir_time now, const uint8_t *token, weir_time ttl,
		      struct weir__claim **ret_claim)
{
	refresh(rec, now);

	struct weir__claim *claim = holding(rec, token);

	if (claim == NULL) {
		rec->counters.renewals_failed++;
		return -ESTALE;
	}

	weir_time expires = now + ttl < claim->hard_end ? now + ttl : claim->hard_end;

	if (expires > claim->expires) {
		claim->expires = expires;
		rec->book->changed(rec, claim, WEIR__HOLDING);
	}
	*ret_claim = claim;
	return 0;
}

static int end(struct weir__rec *rec, weir_time now, const uint8_t *token, bool evicted)
{
	refresh(rec, now);

	struct weir__claim *claim = holding(rec, token);

	if (claim == NULL)
		return -ESTALE;
	drop(rec, claim);
	if (evicted)
		rec->book->tell(rec, claim, WEIR__EVICTED);
	settle(rec, now);
	return 0;
}

int weir__rules_release(struct weir__rec *rec, weir_time now, const uint8_t *token)
{
	return end(rec, now, token, false);
}

int weir__rules_evict(struct weir__rec *rec, weir_time now, const uint8_t *token)
{
	return end(rec, now, token, true);
}

int weir__rules_resize(struct weir__rec *rec, weir_time now, uint32_t limit)
{
	int error = weir__slots_reserve(&rec->slots, limit);

	if (error < 0)
		return error;
	refresh(rec, now);
	rec->limit = limit;
	if (limit != 0) {
		struct weir__claim *claim = rec->waiting != 0 ? rec->book->head(rec) : NULL;

		while (claim != NULL) {
			struct weir__claim *next = rec->book->after(rec, claim);

			if (claim->weight > limit) {
				drop(rec, claim);
				rec->book->tell(rec, claim, WEIR__TOO_HEAVY);
			}
			claim = next;
		}
	}
	settle(rec, now);
	return 0;
}

uint32_t weir__rules_expire(struct weir__rec *rec, weir_time now, uint32_t max)
{
	return drop_dead(rec, now, max);
}

void weir__rules_bury(struct weir__rec *rec, weir_time now, struct weir__claim *claim)
{
	if (claim->state == WEIR__HOLDING)
		rec->counters.expired++;
	drop(rec, claim);
	refresh(rec, now);
	settle(rec, now);
}

/* ---- how long they waited -------------------------------------------------------------------- */

/* Four classes to each doubling: the highest bit and the two below it. */
static uint32_t class_of(uint64_t microseconds)
{
	if (microseconds < 4)
		return (uint32_t)microseconds;

	uint32_t high = 63U - (uint32_t)__builtin_clzll(microseconds);
	uint32_t class = (high - 1) * 4 + (uint32_t)(microseconds >> (high - 2) & 3);

	return class < WEIR__WAIT_CLASSES ? class : WEIR__WAIT_CLASSES - 1;
}

/* The first microsecond that is in the next class. */
static uint64_t class_end(uint32_t class)
{
	if (class < 4)
		return class + 1;
	return (uint64_t)(class % 4 + 5) << (class / 4 - 1);
}

uint32_t weir__wait_class(weir_time wait)
{
	return class_of(wait > 0 ? (uint64_t)(wait / WEIR_US) : 0);
}

void weir__waits_add(struct weir__waits *waits, weir_time wait)
{
	waits->count[weir__wait_class(wait)]++;
	if (wait > waits->longest)
		waits->longest = wait;
}

weir_time weir__waits_percentile(const struct weir__waits *waits, double part)
{
	uint64_t all = 0;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < WEIR__WAIT_CLASSES; i++)
		all += waits->count[i];
	if (all == 0)
		return 0;
	for (uint32_t i = 0; i < WEIR__WAIT_CLASSES; i++) {
		seen += waits->count[i];
		if ((double)seen >= part * (double)all) {
			weir_time end_of_class = (weir_time)class_end(i) * WEIR_US;

			/* The last class has no end. */
			return i + 1 < WEIR__WAIT_CLASSES && end_of_class < waits->longest ?
				       end_of_class :
				       waits->longest;
		}
	}
	return waits->longest;
}

/* support: what leases are, said a second time and in another way, to hold the rule book against.
 *
 * One list of claims in the order in which they asked, and nothing beside it: no counters of what
 * is held, no map of slots, no states. A claim with a fence holds, one without waits. Whatever the
 * rule book keeps up to date is here worked out from the list each time.
 *
 * Define NAIVE_CLAIMS, the room for claims, before including it. */
#ifndef TESTS_SUPPORT_NAIVE_LEASES_H
#define TESTS_SUPPORT_NAIVE_LEASES_H

#include <errno.h>
#include <string.h>
#include <weir/store.h>

struct naive_claim {
	uint32_t weight;
	weir_time ttl, max_hold;
	const char *request_id;
	uint8_t token[WEIR_TOKEN_SIZE];
	weir_time asked, silent;
	uint64_t fence; /* 0: it waits */
	uint32_t slot;
	weir_time granted, expires, hard_end;
};

struct naive_news {
	char kind; /* granted, heavy, expired, evicted, silenced: the first letter, e_v_icted */
	uint8_t token[WEIR_TOKEN_SIZE];
};

struct naive {
	uint32_t limit;
	uint64_t fence;
	size_t n;
	struct naive_claim all[NAIVE_CLAIMS];
	uint64_t at_once, after_wait, refused, expired, renewals_failed;
	/* Since the last call of naive_forget(). */
	size_t n_news;
	struct naive_news news[2 * NAIVE_CLAIMS];
	size_t n_waits;
	weir_time waits[NAIVE_CLAIMS];
};

/* ---- what follows from the list -----------------------------------------------------------------
 */

static inline uint32_t naive_held(const struct naive *s)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->all[i].fence != 0 ? s->all[i].weight : 0;
	return sum;
}

static inline struct naive_claim *naive_first_waiter(struct naive *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->all[i].fence == 0)
			return &s->all[i];
	return NULL;
}

static inline uint32_t naive_position(const struct naive *s, const struct naive_claim *claim)
{
	uint32_t before = 0;

	for (size_t i = 0; &s->all[i] != claim; i++)
		before += s->all[i].fence == 0;
	return before + 1;
}

static inline uint32_t naive_lowest_slot(const struct naive *s)
{
	for (uint32_t slot = 0;; slot++) {
		bool taken = false;

		for (size_t i = 0; i < s->n; i++)
			taken = taken || (s->all[i].fence != 0 && s->all[i].slot == slot);
		if (!taken)
			return slot;
	}
}

static inline struct naive_claim *naive_find(struct naive *s, const uint8_t *token)
{
	for (size_t i = 0; i < s->n; i++)
		if (memcmp(s->all[i].token, token, WEIR_TOKEN_SIZE) == 0)
			return &s->all[i];
	return NULL;
}

/* ---- steps --------------------------------------------------------------------------------------
 */

static inline void naive_tell(struct naive *s, const struct naive_claim *claim, char kind)
{
	s->news[s->n_news].kind = kind;
	memcpy(s->news[s->n_news++].token, claim->token, WEIR_TOKEN_SIZE);
}

static inline void naive_strike(struct naive *s, struct naive_claim *claim)
{
	size_t i = (size_t)(claim - s->all);

	memmove(claim, claim + 1, (s->n - i - 1) * sizeof(*claim));
	s->n--;
}

static inline void naive_hand_out(struct naive *s, weir_time now, struct naive_claim *claim)
{
	claim->slot = naive_lowest_slot(s);
	claim->fence = ++s->fence;
	claim->granted = now;
	claim->hard_end = claim->max_hold == 0 ? WEIR_NEVER : now + claim->max_hold;
	claim->expires = now + claim->ttl;
	if (claim->expires > claim->hard_end)
		claim->expires = claim->hard_end;
}

static inline void naive_serve_queue(struct naive *s, weir_time now)
{
	struct naive_claim *next;

	while ((next = naive_first_waiter(s)) != NULL && naive_held(s) + next->weight <= s->limit) {
		s->waits[s->n_waits++] = now - next->asked;
		s->after_wait++;
		naive_hand_out(s, now, next);
		naive_tell(s, next, 'g');
	}
}

/* The dead are struck off: waiters that fell silent, and of the leases that expired the `most` that
 * did so first. Returns how many of those there were. */
static inline uint32_t naive_clear(struct naive *s, weir_time now, uint32_t most)
{
	uint32_t cleared = 0;

	for (size_t i = 0; i < s->n;) {
		if (s->all[i].fence == 0 && !(now < s->all[i].silent)) {
			naive_tell(s, &s->all[i], 's');
			naive_strike(s, &s->all[i]);
		} else {
			i++;
		}
	}
	while (cleared < most) {
		struct naive_claim *first = NULL;

		for (size_t i = 0; i < s->n; i++) {
			struct naive_claim *c = &s->all[i];

			if (c->fence != 0 && !(now < c->expires) &&
			    (first == NULL || c->expires < first->expires ||
			     (c->expires == first->expires && c->fence < first->fence)))
				first = c;
		}
		if (first == NULL)
			break;
		naive_tell(s, first, 'e');
		naive_strike(s, first);
		cleared++;
	}
	s->expired += cleared;
	naive_serve_queue(s, now);
	return cleared;
}

/* ---- operations: the same arguments and answers as the rule book's ------------------------------
 */

static inline int naive_request(struct naive *s, weir_time now, const struct naive_claim *asked,
				bool wait, weir_time silence, struct naive_claim **ret)
{
	naive_clear(s, now, UINT32_MAX);
	for (size_t i = 0; i < s->n && asked->request_id != NULL; i++) {
		struct naive_claim *c = &s->all[i];

		if (c->request_id == NULL || strcmp(c->request_id, asked->request_id) != 0)
			continue;
		if (c->fence == 0 && !wait) {
			s->refused++;
			return -EAGAIN;
		}
		if (c->fence == 0)
			c->silent = now + silence;
		*ret = c;
		return c->fence == 0;
	}
	if (s->limit > 0 && asked->weight > s->limit)
		return -E2BIG;

	bool now_or_never = naive_first_waiter(s) == NULL &&
			    naive_held(s) + asked->weight <= s->limit;

	if (!now_or_never && !wait) {
		s->refused++;
		return -EAGAIN;
	}

	struct naive_claim *c = &s->all[s->n];

	*c = *asked;
	c->asked = now;
	c->silent = now + silence;
	c->fence = 0;
	if (now_or_never) {
		naive_hand_out(s, now, c);
		s->at_once++;
	}
	s->n++;
	*ret = c;
	return now_or_never ? 0 : 1;
}

static inline int naive_poll(struct naive *s, weir_time now, const uint8_t *token,
			     weir_time silence, struct naive_claim **ret)
{
	naive_clear(s, now, UINT32_MAX);
	*ret = naive_find(s, token);
	if (*ret == NULL)
		return -ESTALE;
	if ((*ret)->fence != 0)
		return 0;
	(*ret)->silent = now + silence;
	return 1;
}

static inline int naive_withdraw(struct naive *s, weir_time now, const uint8_t *token, bool refused,
				 struct naive_claim **ret)
{
	naive_clear(s, now, UINT32_MAX);
	*ret = naive_find(s, token);
	if (*ret != NULL && (*ret)->fence != 0)
		return 1;
	if (*ret != NULL) {
		s->refused += refused;
		naive_strike(s, *ret);
		naive_serve_queue(s, now);
	}
	return 0;
}

static inline int naive_renew(struct naive *s, weir_time now, const uint8_t *token, weir_time ttl,
			      struct naive_claim **ret)
{
	naive_clear(s, now, UINT32_MAX);
	*ret = naive_find(s, token);
	if (*ret == NULL || (*ret)->fence == 0) {
		s->renewals_failed++;
		return -ESTALE;
	}

	weir_time wished = now + ttl;

	if (wished > (*ret)->hard_end)
		wished = (*ret)->hard_end;
	if (wished > (*ret)->expires)
		(*ret)->expires = wished;
	return 0;
}

static inline int naive_end(struct naive *s, weir_time now, const uint8_t *token, bool evicted)
{
	naive_clear(s, now, UINT32_MAX);

	struct naive_claim *c = naive_find(s, token);

	if (c == NULL || c->fence == 0)
		return -ESTALE;
	if (evicted)
		naive_tell(s, c, 'v');
	naive_strike(s, c);
	naive_serve_queue(s, now);
	return 0;
}

static inline void naive_resize(struct naive *s, weir_time now, uint32_t limit)
{
	naive_clear(s, now, UINT32_MAX);
	s->limit = limit;
	for (size_t i = 0; i < s->n;) {
		if (limit > 0 && s->all[i].fence == 0 && s->all[i].weight > limit) {
			naive_tell(s, &s->all[i], 'h');
			naive_strike(s, &s->all[i]);
		} else {
			i++;
		}
	}
	naive_serve_queue(s, now);
}

static inline void naive_bury(struct naive *s, weir_time now, const uint8_t *token)
{
	struct naive_claim *c = naive_find(s, token);

	s->expired += c->fence != 0;
	naive_strike(s, c);
	naive_clear(s, now, UINT32_MAX);
}

#endif

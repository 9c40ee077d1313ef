/* chaos: the checks of single leases and of the end: TOKEN, HONESTY, END. */
#include "chaos/leases.h"

#include <errno.h>
#include <stdlib.h>

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static int by_token_only(const struct lease *a, const struct lease *b)
{
	COMPARE(a->token, b->token);
	return 0;
}

static int by_slot_and_fence(const struct lease *a, const struct lease *b)
{
	COMPARE(a->name, b->name);
	COMPARE(a->slot, b->slot);
	COMPARE(a->known, b->known);
	COMPARE(a->fence, b->fence);
	return 0;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static bool ok(const struct history_op *op)
{
	return op->ret != HISTORY_NEVER && op->result >= 0;
}

static bool lengthens(const struct history_op *op)
{
	return (op->kind == HISTORY_ACQUIRE || op->kind == HISTORY_RENEW) &&
	       (op->ret == HISTORY_NEVER || op->result >= 0);
}

struct life {
	const struct lease *lease; /* NULL: never granted */
	int64_t replaced;          /* when a later lease certainly had its slot */
	int64_t end;               /* by when it has certainly expired */
	int64_t ended;             /* by when it has certainly been released or evicted */
	int64_t believed;          /* until when its client may believe in it */
	size_t ending;
};

/* One operation after the other, in the order of their invocation. */
static void live_on(struct account *account, struct life *life, size_t i)
{
	const struct history_op *op = &account->history->ops[i];
	const struct lease *lease = life->lease;
	int64_t max_hold = lease != NULL ? account->history->ops[lease->op].max_hold : 0;

	if (op->kind == HISTORY_HELD) {
		if (lease == NULL || op->inv >= life->believed || op->inv > life->ended)
			account_find(account, 9, i, lease != NULL ? lease->op : i);
		return;
	}
	if (ok(op) && (lease == NULL || op->inv > life->end || op->inv > life->ended ||
		       op->inv > life->replaced))
		account_find(account, 7, i, lease != NULL ? lease->op : i);
	if (lease == NULL)
		return;
	if (lengthens(op)) {
		life->end = most(life->end, later(account_over(account, op), op->ttl));
		if (max_hold != 0)
			life->end = least(life->end, later(lease->granted, max_hold));
	}
	if (ok(op) && lengthens(op)) {
		/* Who waited may have asked long before the step that the answer is about. */
		int64_t sent = op->flags & HISTORY_WAITED ? op->ret : op->inv;

		life->believed = most(life->believed,
				      later(sent, op->ttl) - account->history->guard);
		if (max_hold != 0)
			life->believed = least(life->believed, later(lease->asked, max_hold));
	}
	if (ok(op) && (op->kind == HISTORY_RELEASE || op->kind == HISTORY_EVICT)) {
		if (life->ending != SIZE_MAX)
			account_find(account, 7, i, life->ending);
		life->ending = i;
		/* Whether an eviction has reached its client is another question. */
		life->ended = least(life->ended, op->ret);
	}
}

/* For each lease, when the first of those that had its slot later certainly had it. */
static void find_replaced(const struct account *account, const size_t *sorted, int64_t *replaced)
{
	int64_t earliest = HISTORY_NEVER;

	for (size_t i = account->n_leases; i-- > 0;) {
		const struct lease *lease = &account->leases[sorted[i]];
		const struct lease *above = i + 1 < account->n_leases ?
						    &account->leases[sorted[i + 1]] :
						    NULL;

		if (above == NULL || above->name != lease->name || above->slot != lease->slot)
			earliest = HISTORY_NEVER;
		replaced[sorted[i]] = lease->known ? earliest : HISTORY_NEVER;
		if (lease->known)
			earliest = least(earliest, lease->granted);
	}
}

static void walk(struct account *account, const size_t *leases, const int64_t *replaced)
{
	const struct history_op *ops = account->history->ops;
	size_t k = 0;
	struct life life = { 0 };

	for (size_t i = 0; i < account->n_by_token; i++) {
		const struct history_op *op = &ops[account->by_token[i]];

		if (i == 0 || ops[account->by_token[i - 1]].token != op->token) {
			life = (struct life){ NULL,          HISTORY_NEVER, INT64_MIN,
					      HISTORY_NEVER, INT64_MIN,     SIZE_MAX };
			while (k < account->n_leases &&
			       (!account->leases[leases[k]].known ||
				account->leases[leases[k]].token < op->token))
				k++;
			if (k < account->n_leases &&
			    account->leases[leases[k]].token == op->token) {
				life.lease = &account->leases[leases[k]];
				life.replaced = replaced[leases[k]];
				life.end = account_over(account, &ops[life.lease->op]);
			}
		}
		live_on(account, &life, account->by_token[i]);
	}
}

int check_tokens(struct account *account)
{
	size_t *tokens = account_sorted(account, by_token_only);
	size_t *slots = account_sorted(account, by_slot_and_fence);
	int64_t *replaced = calloc(account->n_leases + 1, sizeof(*replaced));
	bool enough = tokens != NULL && slots != NULL && replaced != NULL;

	if (enough) {
		find_replaced(account, slots, replaced);
		walk(account, tokens, replaced);
	}
	free(tokens);
	free(slots);
	free(replaced);
	return enough ? 0 : -ENOMEM;
}

int check_end(struct account *account)
{
	const struct history *history = account->history;

	for (size_t i = 0; i < history->n; i++) {
		const struct history_op *op = &history->ops[i];
		size_t first, end;

		if (op->kind != HISTORY_END)
			continue;
		account_leases(account, op->name, &first, &end);
		if (op->weight != 0 || op->slot != 0 ||
		    (end > first && account->leases[end - 1].known &&
		     account->leases[end - 1].fence > op->fence))
			account_find(account, 10, i, i);
	}
	return 0;
}

/* chaos: builds the leases and the limits from the operations. */
#include "chaos/leases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int64_t later(int64_t time, int64_t by)
{
	int64_t sum;

	return __builtin_add_overflow(time, by, &sum) ? HISTORY_NEVER : sum;
}

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static int by_token(const void *left, const void *right, void *all)
{
	const struct history_op *ops = all;
	const struct history_op *a = &ops[*(const size_t *)left], *b = &ops[*(const size_t *)right];

	COMPARE(a->token, b->token);
	COMPARE(a->inv, b->inv);
	COMPARE(a->ret, b->ret);
	return 0;
}

static int by_fence(const void *left, const void *right)
{
	const struct lease *a = left, *b = right;

	COMPARE(a->name, b->name);
	COMPARE(a->known, b->known);
	COMPARE(a->fence, b->fence);
	COMPARE(a->token, b->token);
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct limit_span *a = left, *b = right;

	COMPARE(a->name, b->name);
	COMPARE(a->from, b->from);
	COMPARE(a->to, b->to);
	return 0;
}

void account_find(struct account *account, int check, size_t op, size_t other)
{
	struct history_report *report = account->report;

	if (report->found[0]++ == 0)
		report->first = (struct history_finding){ check, op, other };
	report->found[check]++;
}

int64_t account_over(const struct account *account, const struct history_op *op)
{
	return op->ret < account->death_ret[op->client] ? op->ret : account->death_ret[op->client];
}

static bool ended_ok(const struct history_op *op)
{
	return op->ret != HISTORY_NEVER && op->result >= 0;
}

/* ---- limits -------------------------------------------------------------------------------------
 */

static int collect_limits(struct account *account)
{
	const struct history *history = account->history;
	size_t n = 0;

	for (size_t i = 0; i < history->n; i++)
		n += history->ops[i].kind == HISTORY_RESIZE;
	account->limits = calloc(n + 1, sizeof(*account->limits));
	if (account->limits == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < history->n; i++) {
		const struct history_op *op = &history->ops[i];

		if (op->kind == HISTORY_RESIZE && (op->ret == HISTORY_NEVER || op->result >= 0))
			account->limits[account->n_limits++] =
				(struct limit_span){ op->inv, op->ret, 0, op->limit, op->name };
	}
	qsort(account->limits, account->n_limits, sizeof(*account->limits), by_start);
	/* `to` is so far when it was surely in force. It may be until somebody who came after that
	 * has surely replaced it. */
	for (size_t i = 0; i < account->n_limits; i++) {
		int64_t end = HISTORY_NEVER;

		for (size_t k = i + 1; k < account->n_limits; k++) {
			const struct limit_span *next = &account->limits[k];

			if (next->name != account->limits[i].name || next->from >= end)
				break;
			if (next->from >= account->limits[i].to && next->to < end)
				end = next->to;
		}
		account->limits[i].to = account->limits[i].reach = end;
	}
	for (size_t i = 1; i < account->n_limits; i++) {
		struct limit_span *span = &account->limits[i];

		if (span[-1].name == span->name && span[-1].reach > span->reach)
			span->reach = span[-1].reach;
	}
	return 0;
}

static uint32_t limit_extreme(const struct account *account, uint32_t name, int64_t from,
			      int64_t to, bool highest)
{
	size_t low = 0, high = account->n_limits;
	uint32_t found = 0;
	bool any = false;

	while (low < high) { /* the first span that begins after `to` */
		size_t middle = (low + high) / 2;
		const struct limit_span *span = &account->limits[middle];

		if (span->name < name || (span->name == name && span->from <= to))
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0;) {
		const struct limit_span *span = &account->limits[i];

		if (span->name != name || span->reach < from)
			break;
		if (span->to < from)
			continue;
		if (!any || (highest ? span->limit > found : span->limit < found))
			found = span->limit;
		any = true;
	}
	return any ? found : (highest ? UINT32_MAX : 0);
}

uint32_t account_limit_max(const struct account *account, uint32_t name, int64_t from, int64_t to)
{
	return limit_extreme(account, name, from, to, true);
}

uint32_t account_limit_min(const struct account *account, uint32_t name, int64_t from, int64_t to)
{
	return limit_extreme(account, name, from, to, false);
}

/* ---- leases -------------------------------------------------------------------------------------
 */

static void begin_lease(struct account *account, struct lease *lease, size_t i)
{
	const struct history_op *op = &account->history->ops[i];
	int64_t over = account_over(account, op);
	bool known = ended_ok(op);

	*lease = (struct lease){
		.name = op->name,
		.weight = op->weight,
		.client = op->client,
		.request = op->request,
		.asked = op->inv,
		.granted = known ? op->ret : HISTORY_NEVER,
		.must_end = known ? later(op->inv, op->ttl) : INT64_MIN,
		.may_end = later(over, op->ttl),
		.op = i,
		.waited = op->flags & HISTORY_WAITED,
		.stopped = op->flags & HISTORY_STOPPED,
		.known = known,
	};
	if (known) {
		lease->token = op->token;
		lease->fence = op->fence;
		lease->slot = op->slot;
	}
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What one operation on a token says about its lease, whose acquire came first in the order. */
static void add_to_lease(struct account *account, struct lease *lease, size_t i, int64_t *ends_must,
			 int64_t *ends_may)
{
	const struct history_op *op = &account->history->ops[i];
	bool ok = ended_ok(op);

	switch (op->kind) {
	case HISTORY_ACQUIRE: /* a retry that found it */
		lease->granted = least(lease->granted, op->ret);
		lease->asked = least(lease->asked, op->inv);
		lease->stopped |= (op->flags & HISTORY_STOPPED) != 0;
		lease->waited |= (op->flags & HISTORY_WAITED) != 0;
		break;
	case HISTORY_RENEW:
		if (ok)
			lease->must_end = most(lease->must_end, later(op->inv, op->ttl));
		if (ok || op->ret == HISTORY_NEVER)
			lease->may_end = most(lease->may_end,
					      later(account_over(account, op), op->ttl));
		break;
	case HISTORY_RELEASE:
	case HISTORY_EVICT:
		*ends_must = least(*ends_must, op->inv);
		if (ok)
			*ends_may = least(*ends_may, op->ret);
		break;
	default:
		break;
	}
}

static void end_lease(struct account *account, struct lease *lease, int64_t ends_must,
		      int64_t ends_may)
{
	const struct history_op *op = &account->history->ops[lease->op];

	if (op->max_hold != 0) {
		lease->must_end = least(lease->must_end, later(lease->asked, op->max_hold));
		lease->may_end = least(lease->may_end, later(lease->granted, op->max_hold));
	}
	lease->must_end = least(lease->must_end, ends_must);
	lease->may_end = least(lease->may_end, ends_may);
	lease->may_end_if_freed_at_once = lease->may_end;
	if (op->flags & HISTORY_DETACHED)
		return;
	lease->must_end = least(lease->must_end, account->death_inv[op->client]);
	lease->may_end_if_freed_at_once = least(lease->may_end,
						most(lease->asked, account->death_ret[op->client]));
}

/* The acquires of a token in by_token[from..to): the earliest is its lease. */
static void collect_token(struct account *account, size_t from, size_t to)
{
	const struct history_op *all = account->history->ops;
	struct lease *lease = NULL;
	int64_t ends_must = HISTORY_NEVER, ends_may = HISTORY_NEVER;

	for (size_t i = from; i < to && lease == NULL; i++)
		if (all[account->by_token[i]].kind == HISTORY_ACQUIRE) {
			lease = &account->leases[account->n_leases++];
			begin_lease(account, lease, account->by_token[i]);
		}
	if (lease == NULL)
		return;
	for (size_t i = from; i < to; i++)
		if (account->by_token[i] != lease->op)
			add_to_lease(account, lease, account->by_token[i], &ends_must, &ends_may);
	end_lease(account, lease, ends_must, ends_may);
}

static bool has_token(const struct history_op *op)
{
	if (op->kind == HISTORY_ACQUIRE)
		return ended_ok(op);
	return op->kind == HISTORY_RENEW || op->kind == HISTORY_RELEASE ||
	       op->kind == HISTORY_EVICT || op->kind == HISTORY_HELD;
}

static int collect_leases(struct account *account)
{
	const struct history *history = account->history;

	account->leases = calloc(history->n + 1, sizeof(*account->leases));
	account->by_token = calloc(history->n + 1, sizeof(*account->by_token));
	if (account->leases == NULL || account->by_token == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < history->n; i++) {
		const struct history_op *op = &history->ops[i];

		if (has_token(op))
			account->by_token[account->n_by_token++] = i;
		if (op->kind == HISTORY_ACQUIRE && op->ret == HISTORY_NEVER) {
			struct lease *lease = &account->leases[account->n_leases++];

			begin_lease(account, lease, i);
			end_lease(account, lease, HISTORY_NEVER, HISTORY_NEVER);
			account->report->unknown++;
		}
	}
	qsort_r(account->by_token, account->n_by_token, sizeof(size_t), by_token, history->ops);
	for (size_t i = 0, end; i < account->n_by_token; i = end) {
		for (end = i + 1; end < account->n_by_token; end++)
			if (history->ops[account->by_token[end]].token !=
			    history->ops[account->by_token[i]].token)
				break;
		collect_token(account, i, end);
	}
	qsort(account->leases, account->n_leases, sizeof(*account->leases), by_fence);
	account->report->leases = account->n_leases - account->report->unknown;
	return 0;
}

void account_leases(const struct account *account, uint32_t name, size_t *ret_first,
		    size_t *ret_end)
{
	size_t bounds[2];

	for (int k = 0; k < 2; k++) {
		size_t low = 0, high = account->n_leases;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (account->leases[middle].name < name ||
			    (k == 1 && account->leases[middle].name == name))
				low = middle + 1;
			else
				high = middle;
		}
		bounds[k] = low;
	}
	*ret_first = bounds[0];
	*ret_end = bounds[1];
}

static int in_lease_order(const void *left, const void *right, void *arg)
{
	void *const *pair = arg;
	const struct lease *leases = pair[0];
	lease_order *const *compare = pair[1];

	return (*compare)(&leases[*(const size_t *)left], &leases[*(const size_t *)right]);
}

size_t *account_sorted(const struct account *account, lease_order *compare)
{
	size_t *sorted = calloc(account->n_leases + 1, sizeof(*sorted));
	void *pair[2] = { account->leases, &compare };

	for (size_t i = 0; sorted != NULL && i < account->n_leases; i++)
		sorted[i] = i;
	if (sorted != NULL)
		qsort_r(sorted, account->n_leases, sizeof(*sorted), in_lease_order, pair);
	return sorted;
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static int collect_deaths(struct account *account)
{
	const struct history *history = account->history;

	for (size_t i = 0; i < history->n; i++)
		if (history->ops[i].client >= account->n_clients)
			account->n_clients = history->ops[i].client + 1;
	account->death_inv = calloc(account->n_clients + 1U, sizeof(int64_t));
	account->death_ret = calloc(account->n_clients + 1U, sizeof(int64_t));
	if (account->death_inv == NULL || account->death_ret == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < account->n_clients; i++)
		account->death_inv[i] = account->death_ret[i] = HISTORY_NEVER;
	for (size_t i = 0; i < history->n; i++) {
		const struct history_op *op = &history->ops[i];

		if (op->kind == HISTORY_DEATH) {
			account->death_inv[op->client] = op->inv;
			account->death_ret[op->client] = op->ret;
			account->report->deaths++;
		}
	}
	return 0;
}

int account_open(struct account *account, const struct history *history,
		 struct history_report *report)
{
	int error;

	*account = (struct account){ .history = history, .report = report };
	*report = (struct history_report){ 0 };
	error = collect_deaths(account);
	if (error == 0)
		error = collect_limits(account);
	if (error == 0)
		error = collect_leases(account);
	return error;
}

void account_close(struct account *account)
{
	free(account->leases);
	free(account->by_token);
	free(account->limits);
	free(account->death_inv);
	free(account->death_ret);
}

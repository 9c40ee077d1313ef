/* chaos: the checks of who held what and in which order: LIMIT, FENCES, STABLE, ORDER, IDENTITY. */
#include "chaos/leases.h"

#include <errno.h>
#include <stdlib.h>

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static bool must(const struct lease *lease)
{
	return lease->known && lease->granted < lease->must_end;
}

/* ---- LIMIT --------------------------------------------------------------------------------------
 */

static int by_granted(const struct lease *a, const struct lease *b)
{
	COMPARE(a->name, b->name);
	COMPARE(a->granted, b->granted);
	return 0;
}

static int by_must_end(const struct lease *a, const struct lease *b)
{
	COMPARE(a->name, b->name);
	COMPARE(a->must_end, b->must_end);
	return 0;
}

/* Indices of leases, the highest fence on top: leases are sorted by it. */
struct heap {
	size_t *items;
	size_t n;
};

static void heap_push(struct heap *heap, size_t item)
{
	size_t at = heap->n++;

	for (; at > 0 && heap->items[(at - 1) / 2] < item; at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = item;
}

static void heap_pop(struct heap *heap)
{
	size_t item = heap->items[--heap->n];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= heap->n)
			break;
		if (child + 1 < heap->n && heap->items[child + 1] > heap->items[child])
			child++;
		if (heap->items[child] <= item)
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = item;
}

/* Of all who hold at a moment, the one with the highest fence was granted last, and then all of
 * them were within a limit that was in force while it asked. A limit that was lowered later revokes
 * nobody. */
static void sweep(struct account *account, const size_t *starts, const size_t *ends,
		  struct heap *heap)
{
	struct lease *leases = account->leases;
	uint64_t sum = 0;
	size_t ended = 0;

	for (size_t i = 0; i < account->n_leases; i++) {
		struct lease *lease = &leases[starts[i]];

		if (i > 0 && leases[starts[i - 1]].name != lease->name) {
			sum = 0;
			heap->n = 0;
			while (leases[ends[ended]].name != lease->name)
				ended++;
		}
		for (; ended < account->n_leases && leases[ends[ended]].name == lease->name &&
		       leases[ends[ended]].must_end <= lease->granted;
		     ended++)
			if (must(&leases[ends[ended]]))
				sum -= leases[ends[ended]].weight;
		if (!must(lease))
			continue;
		sum += lease->weight;
		while (heap->n > 0 && leases[heap->items[0]].must_end <= lease->granted)
			heap_pop(heap);
		heap_push(heap, starts[i]);

		struct lease *last = &leases[heap->items[0]];

		if (sum > account_limit_max(account, lease->name, last->asked, last->granted))
			account_find(account, 1, lease->op, last->op);
	}
}

static int by_slot(const struct lease *a, const struct lease *b)
{
	COMPARE(a->name, b->name);
	COMPARE(a->slot, b->slot);
	COMPARE(a->granted, b->granted);
	return 0;
}

static void one_to_a_slot(struct account *account, const size_t *sorted)
{
	const struct lease *before = NULL; /* on this slot, the one that must hold for longest */

	for (size_t i = 0; i < account->n_leases; i++) {
		const struct lease *lease = &account->leases[sorted[i]];

		if (!must(lease))
			continue;
		if (before != NULL && (before->name != lease->name || before->slot != lease->slot))
			before = NULL;
		if (before != NULL && lease->granted < before->must_end)
			account_find(account, 1, lease->op, before->op);
		if (before == NULL || lease->must_end > before->must_end)
			before = lease;
		if (lease->slot >=
		    account_limit_max(account, lease->name, lease->asked, lease->granted))
			account_find(account, 1, lease->op, lease->op);
	}
}

int check_limit(struct account *account)
{
	size_t *starts = account_sorted(account, by_granted);
	size_t *ends = account_sorted(account, by_must_end);
	size_t *slots = account_sorted(account, by_slot);
	struct heap heap = { calloc(account->n_leases + 1, sizeof(size_t)), 0 };
	bool ok = starts != NULL && ends != NULL && slots != NULL && heap.items != NULL;

	if (ok) {
		sweep(account, starts, ends, &heap);
		one_to_a_slot(account, slots);
	}
	free(starts);
	free(ends);
	free(slots);
	free(heap.items);
	return ok ? 0 : -ENOMEM;
}

/* ---- FENCES, STABLE -----------------------------------------------------------------------------
 */

static int by_asked(const struct lease *a, const struct lease *b)
{
	COMPARE(a->name, b->name);
	COMPARE(a->asked, b->asked);
	return 0;
}

static void rising(struct account *account, const size_t *asked, const size_t *granted)
{
	const struct lease *leases = account->leases;
	const struct lease *highest = NULL; /* of those granted before this one was asked for */
	size_t k = 0;

	for (size_t i = 0; i < account->n_leases; i++) {
		const struct lease *lease = &leases[asked[i]];

		if (!lease->known)
			continue;
		if (highest != NULL && highest->name != lease->name)
			highest = NULL;
		for (; k < account->n_leases && (leases[granted[k]].name < lease->name ||
						 (leases[granted[k]].name == lease->name &&
						  leases[granted[k]].granted < lease->asked));
		     k++)
			if (leases[granted[k]].name == lease->name && leases[granted[k]].known &&
			    (highest == NULL || leases[granted[k]].fence > highest->fence))
				highest = &leases[granted[k]];
		if (highest != NULL && lease->fence < highest->fence)
			account_find(account, 2, lease->op, highest->op);
	}
}

static void stable(struct account *account)
{
	const struct history_op *ops = account->history->ops;
	size_t first = 0;

	for (size_t i = 0; i < account->n_by_token; i++) {
		const struct history_op *a = &ops[account->by_token[first]];
		const struct history_op *b = &ops[account->by_token[i]];

		if (b->kind != HISTORY_ACQUIRE)
			continue;
		if (a->token != b->token || a->kind != HISTORY_ACQUIRE) {
			first = i;
			continue;
		}
		if (a->name != b->name || a->fence != b->fence || a->slot != b->slot)
			account_find(account, 3, account->by_token[i], account->by_token[first]);
	}
}

int check_fences(struct account *account)
{
	size_t *asked = account_sorted(account, by_asked);
	size_t *granted = account_sorted(account, by_granted);
	bool ok = asked != NULL && granted != NULL;

	if (ok)
		rising(account, asked, granted);
	free(asked);
	free(granted);
	for (size_t i = 1; i < account->n_leases; i++) {
		const struct lease *a = &account->leases[i - 1], *b = &account->leases[i];

		if (a->known && b->known && a->name == b->name && a->fence == b->fence)
			account_find(account, 2, b->op, a->op);
	}
	stable(account);
	return ok ? 0 : -ENOMEM;
}

/* ---- ORDER --------------------------------------------------------------------------------------
 */

struct place {
	uint32_t name;
	uint64_t request;
	int64_t seen; /* it was in the queue before this */
	int64_t from; /* and in it after this */
	const struct lease *lease;
};

static int by_request(const struct lease *a, const struct lease *b)
{
	COMPARE(a->name, b->name);
	COMPARE(a->request, b->request);
	COMPARE(a->known, b->known);
	COMPARE(a->fence, b->fence);
	return 0;
}

static int place_by_request(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	COMPARE(a->name, b->name);
	COMPARE(a->request, b->request);
	COMPARE(a->seen, b->seen);
	return 0;
}

static int place_by_time(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	COMPARE(a->name, b->name);
	COMPARE(a->seen, b->seen);
	return 0;
}

/* It may have been granted earlier, with a fence that nobody was told of, and have expired while
 * the server could not be asked: then it had to queue up once more. */
static bool may_have_queued_twice(const struct account *account, const struct lease *lease)
{
	if (lease->granted - lease->asked < account->history->ops[lease->op].ttl)
		return false;
	for (const struct lease *at = lease; at->granted > lease->asked; at--) {
		if (at == account->leases || at[-1].name != at->name || !at[-1].known)
			return at->fence > 1;
		if (at[-1].fence + 1 < at->fence)
			return true;
	}
	return false;
}

/* Finds the lease that each place in the queue became; a request id that was used for more than one
 * does not say which. Returns how many are left. */
static size_t name_places(struct account *account, struct place *places, size_t n,
			  const size_t *sorted)
{
	size_t k = 0, kept = 0;

	qsort(places, n, sizeof(*places), place_by_request);
	for (size_t i = 0; i < n; i++) {
		const struct lease *lease;

		if (i > 0 && places[i - 1].name == places[i].name &&
		    places[i - 1].request == places[i].request)
			continue; /* the earliest sight is the one that counts */
		while (k < account->n_leases &&
		       (account->leases[sorted[k]].name < places[i].name ||
			(account->leases[sorted[k]].name == places[i].name &&
			 account->leases[sorted[k]].request < places[i].request)))
			k++;
		if (k == account->n_leases)
			break;
		lease = &account->leases[sorted[k]];
		if (lease->name != places[i].name || lease->request != places[i].request ||
		    !lease->known || lease->stopped || places[i].from < lease->asked ||
		    may_have_queued_twice(account, lease))
			continue;
		if (k + 1 < account->n_leases &&
		    account->leases[sorted[k + 1]].name == lease->name &&
		    account->leases[sorted[k + 1]].request == lease->request)
			continue;
		places[kept] = places[i];
		places[kept++].lease = lease;
	}
	return kept;
}

static void in_order(struct account *account, const struct place *places, size_t n,
		     const size_t *asked)
{
	const struct lease *last = NULL; /* the highest fence of those who were there before */
	size_t k = 0;

	for (size_t i = 0; i < account->n_leases; i++) {
		const struct lease *lease = &account->leases[asked[i]];

		if (!lease->known)
			continue;
		if (last != NULL && last->name != lease->name)
			last = NULL;
		for (; k < n && (places[k].name < lease->name ||
				 (places[k].name == lease->name && places[k].seen < lease->asked));
		     k++)
			if (places[k].name == lease->name &&
			    (last == NULL || places[k].lease->fence > last->fence))
				last = places[k].lease;
		if (last == NULL)
			continue;
		account->report->order_judged++;
		if (lease->fence < last->fence)
			account_find(account, 4, lease->op, last->op);
	}
}

int check_order(struct account *account)
{
	const struct history *history = account->history;
	struct place *places = calloc(history->n + 1, sizeof(*places));
	size_t *requests = account_sorted(account, by_request);
	size_t *asked = account_sorted(account, by_asked);
	bool ok = places != NULL && requests != NULL && asked != NULL;
	size_t n = 0;

	for (size_t i = 0; ok && i < history->n; i++) {
		const struct history_op *op = &history->ops[i];

		if (op->kind == HISTORY_SEEN && op->ret != HISTORY_NEVER)
			places[n++] = (struct place){ op->name, op->request, op->ret, op->inv,
						      NULL };
	}
	if (ok) {
		n = name_places(account, places, n, requests);
		qsort(places, n, sizeof(*places), place_by_time);
		in_order(account, places, n, asked);
	}
	free(places);
	free(requests);
	free(asked);
	return ok ? 0 : -ENOMEM;
}

/* ---- IDENTITY -----------------------------------------------------------------------------------
 */

int check_identity(struct account *account)
{
	size_t *sorted = account_sorted(account, by_request);
	const struct lease *before = NULL;

	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < account->n_leases; i++) {
		const struct lease *lease = &account->leases[sorted[i]];

		if (!lease->known || lease->request == 0)
			continue;
		if (before != NULL &&
		    (before->name != lease->name || before->request != lease->request))
			before = NULL;
		if (before != NULL && lease->granted < before->must_end)
			account_find(account, 8, lease->op, before->op);
		if (before == NULL || lease->must_end > before->must_end)
			before = lease;
	}
	free(sorted);
	return 0;
}

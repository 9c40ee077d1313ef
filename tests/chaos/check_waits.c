/* chaos: the checks of what did not happen: REFUSAL (a try was refused for no reason) and IDLE (a
 * waiter was left waiting for no reason). */
#include "chaos/leases.h"

#include <errno.h>
#include <stdlib.h>

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

#define QUEUED (INT64_C(1) << 40) /* heavier than any sum of permits */

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Until when a request may have been in the queue. A dead client's is until somebody notices; where
 * that is at once, the time it takes is part of what IDLE allows for, and whoever tries looks for
 * the dead before it is refused. */
static int64_t in_queue_until(const struct account *account, const struct history_op *op)
{
	if (op->ret != HISTORY_NEVER)
		return op->ret;
	if (account->history->deaths_free_at_once)
		return account->death_ret[op->client];
	return later(account->death_ret[op->client], account->history->slack == HISTORY_NEVER ?
							     HISTORY_NEVER / 2 :
							     account->history->slack);
}

/* Likewise until when a lease may have been held. */
static int64_t end_of(const struct account *account, const struct lease *lease)
{
	return account->history->deaths_free_at_once ? lease->may_end_if_freed_at_once :
						       lease->may_end;
}

/* ---- REFUSAL ------------------------------------------------------------------------------------
 */

/* From `time` on there may be `change` more permits out; or a question about the time up to then.
 */
struct event {
	uint32_t name;
	int64_t time;
	int64_t change;
	size_t op; /* SIZE_MAX: a change */
};

static int in_time(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	COMPARE(a->name, b->name);
	COMPARE(a->time, b->time);
	COMPARE(b->op, a->op); /* changes before questions */
	return 0;
}

/* The profile so far: of those spans whose level nothing later has reached. */
struct span {
	int64_t from, to, level;
};

static int64_t highest_since(const struct span *stack, size_t n, int64_t from)
{
	size_t low = 0, high = n;

	while (low < high) { /* the first that is not over at `from` */
		size_t middle = (low + high) / 2;

		if (stack[middle].to <= from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n ? stack[low].level : 0;
}

static void answer(struct account *account, const struct event *event, const struct span *stack,
		   size_t n)
{
	const struct history_op *op = &account->history->ops[event->op];
	int64_t taken = highest_since(stack, n, op->inv);
	int64_t limit = account_limit_min(account, op->name, op->inv, op->ret);

	account->report->tries_judged += taken < QUEUED;
	if (taken + op->weight <= limit)
		account_find(account, 5, event->op, event->op);
}

static void profile(struct account *account, const struct event *events, size_t n,
		    struct span *stack)
{
	int64_t level = 0;
	size_t depth = 0;

	for (size_t i = 0; i < n; i++) {
		const struct event *event = &events[i];

		if (i == 0 || events[i - 1].name != event->name) {
			level = 0;
			depth = 0;
			stack[depth++] = (struct span){ INT64_MIN, HISTORY_NEVER, 0 };
		}
		if (event->op != SIZE_MAX) {
			answer(account, event, stack, depth);
			continue;
		}
		level += event->change;
		stack[depth - 1].to = event->time;
		while (depth > 0 && stack[depth - 1].level <= level)
			depth--;
		stack[depth++] = (struct span){ event->time, HISTORY_NEVER, level };
	}
}

static size_t collect_events(const struct account *account, struct event *events)
{
	const struct history *history = account->history;
	size_t n = 0;

	for (size_t i = 0; i < account->n_leases; i++) {
		const struct lease *lease = &account->leases[i];

		events[n++] = (struct event){ lease->name, lease->asked, lease->weight, SIZE_MAX };
		events[n++] = (struct event){ lease->name, later(end_of(account, lease), 1),
					      -(int64_t)lease->weight, SIZE_MAX };
	}
	for (size_t i = 0; i < history->n; i++) {
		const struct history_op *op = &history->ops[i];

		if (op->kind != HISTORY_ACQUIRE)
			continue;
		if (op->flags & HISTORY_WAITED) {
			int64_t end = later(in_queue_until(account, op), 1);

			events[n++] = (struct event){ op->name, op->inv, QUEUED, SIZE_MAX };
			events[n++] = (struct event){ op->name, end, -QUEUED, SIZE_MAX };
		} else if (op->ret != HISTORY_NEVER && op->result == -EAGAIN) {
			events[n++] = (struct event){ op->name, op->ret, 0, i };
		}
	}
	return n;
}

int check_refusals(struct account *account)
{
	size_t most_events = 2 * account->n_leases + 2 * account->history->n + 1;
	struct event *events = calloc(most_events, sizeof(*events));
	struct span *stack = calloc(most_events + 1, sizeof(*stack));
	bool ok = events != NULL && stack != NULL;

	if (ok) {
		size_t n = collect_events(account, events);

		qsort(events, n, sizeof(*events), in_time);
		profile(account, events, n, stack);
	}
	free(events);
	free(stack);
	return ok ? 0 : -ENOMEM;
}

/* ---- IDLE ---------------------------------------------------------------------------------------
 */

/* For one name, with its leases in the order of their fences. */
struct idle {
	struct account *account;
	size_t first, end; /* its leases */
	int64_t *ends;     /* when they may have ended, sorted, each once */
	int64_t *held;     /* how much ends there: a tree of partial sums */
	size_t n_ends;
	int64_t total;
	int64_t (*gaps)[2]; /* when somebody who was not granted may have been in the queue */
	size_t n_gaps;
	size_t *unknown; /* leases whose outcome is not known, by when they were asked for */
	size_t n_unknown;
};

static int number(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

static void hold(struct idle *idle, const struct lease *lease)
{
	const int64_t when = end_of(idle->account, lease);
	const int64_t *at = bsearch(&when, idle->ends, idle->n_ends, sizeof(*at), number);

	for (size_t i = (size_t)(at - idle->ends) + 1; i <= idle->n_ends; i += i & -i)
		idle->held[i] += lease->weight;
	idle->total += lease->weight;
}

/* From when on no more than `room` of what was granted before may still have been held. */
static int64_t freed(const struct idle *idle, int64_t room)
{
	int64_t must_end = idle->total - room;
	size_t at = 0, step = 1;

	if (must_end <= 0)
		return INT64_MIN;
	while (2 * step <= idle->n_ends)
		step *= 2;
	for (; step > 0; step /= 2)
		if (at + step <= idle->n_ends && idle->held[at + step] < must_end) {
			at += step;
			must_end -= idle->held[at];
		}
	return at < idle->n_ends ? idle->ends[at] : HISTORY_NEVER;
}

/* The first time from `time` on when nobody who was not granted can have been in the queue. */
static int64_t alone(const struct idle *idle, int64_t time)
{
	size_t low = 0, high = idle->n_gaps;

	while (low < high) { /* the first span that begins after it */
		size_t middle = (low + high) / 2;

		if (idle->gaps[middle][0] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? most(time, idle->gaps[low - 1][1]) : time;
}

static int span_in_time(const void *left, const void *right)
{
	return number(left, right);
}

/* Spans that touch become one. */
static void collect_gaps(struct idle *idle, uint32_t name)
{
	const struct history *history = idle->account->history;
	size_t n = 0;

	for (size_t i = 0; i < history->n; i++) {
		const struct history_op *op = &history->ops[i];

		if (op->name != name || op->kind != HISTORY_ACQUIRE ||
		    !(op->flags & HISTORY_WAITED) || (op->ret != HISTORY_NEVER && op->result >= 0))
			continue;
		idle->gaps[n][0] = op->inv;
		idle->gaps[n++][1] = in_queue_until(idle->account, op);
	}
	qsort(idle->gaps, n, sizeof(*idle->gaps), span_in_time);
	for (size_t i = 0; i < n; i++) {
		int64_t *last = idle->n_gaps > 0 ? idle->gaps[idle->n_gaps - 1] : NULL;

		if (last != NULL && idle->gaps[i][0] <= last[1]) {
			last[1] = most(last[1], idle->gaps[i][1]);
			continue;
		}
		idle->gaps[idle->n_gaps][0] = idle->gaps[i][0];
		idle->gaps[idle->n_gaps++][1] = idle->gaps[i][1];
	}
}

static int unknown_by_asked(const void *left, const void *right, void *leases)
{
	const struct lease *all = leases;

	COMPARE(all[*(const size_t *)left].asked, all[*(const size_t *)right].asked);
	return 0;
}

static void collect_ends(struct idle *idle)
{
	const struct lease *leases = idle->account->leases;
	size_t n = 0;

	for (size_t i = idle->first; i < idle->end; i++) {
		idle->ends[n++] = end_of(idle->account, &leases[i]);
		if (!leases[i].known)
			idle->unknown[idle->n_unknown++] = i;
	}
	qsort(idle->ends, n, sizeof(*idle->ends), number);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || idle->ends[i] != idle->ends[idle->n_ends - 1])
			idle->ends[idle->n_ends++] = idle->ends[i];
	qsort_r(idle->unknown, idle->n_unknown, sizeof(size_t), unknown_by_asked,
		idle->account->leases);
}

/* A waiter is judged by what those with lower fences did: the others came after it. */
static void judge(struct idle *idle, uint32_t name)
{
	struct account *account = idle->account;
	int64_t limit = account_limit_min(account, name, INT64_MIN, HISTORY_NEVER);
	int64_t all_granted = INT64_MIN; /* when all of those before certainly were */
	size_t known_of = 0;

	for (size_t i = idle->first; i < idle->end; i++) {
		const struct lease *lease = &account->leases[i];

		if (!lease->known)
			continue;
		for (;
		     known_of < idle->n_unknown && account->leases[idle->unknown[known_of]].asked <=
							   most(all_granted, lease->granted);
		     known_of++)
			hold(idle, &account->leases[idle->unknown[known_of]]);
		if (lease->waited && !lease->stopped && lease->weight <= limit) {
			/* By then it was in the queue itself. */
			int64_t turn = most(later(lease->asked, account->history->slack),
					    all_granted);

			turn = alone(idle, most(turn, freed(idle, limit - lease->weight)));
			/* Had it waited for three times as long, it would be found. */
			account->report->waits_judged += turn <= later(lease->asked,
								       2 * account->history->slack);
			if (lease->granted > later(turn, account->history->slack))
				account_find(account, 6, lease->op, lease->op);
		}
		hold(idle, lease);
		all_granted = most(all_granted, lease->granted);
	}
}

static int check_idle_name(struct account *account, size_t first, size_t end)
{
	size_t n = end - first;
	struct idle idle = { .account = account, .first = first, .end = end };
	bool ok;

	idle.ends = calloc(n + 1, sizeof(*idle.ends));
	idle.held = calloc(n + 2, sizeof(*idle.held));
	idle.unknown = calloc(n + 1, sizeof(*idle.unknown));
	idle.gaps = calloc(account->history->n + 1, sizeof(*idle.gaps));
	ok = idle.ends != NULL && idle.held != NULL && idle.unknown != NULL && idle.gaps != NULL;
	if (ok) {
		collect_ends(&idle);
		collect_gaps(&idle, account->leases[first].name);
		judge(&idle, account->leases[first].name);
	}
	free(idle.ends);
	free(idle.held);
	free(idle.unknown);
	free(idle.gaps);
	return ok ? 0 : -ENOMEM;
}

int check_idle(struct account *account)
{
	size_t end;

	if (account->history->slack == HISTORY_NEVER)
		return 0;
	for (size_t i = 0; i < account->n_leases; i = end) {
		size_t first;
		int error;

		account_leases(account, account->leases[i].name, &first, &end);
		error = check_idle_name(account, first, end);
		if (error < 0)
			return error;
	}
	return 0;
}

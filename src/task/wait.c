/* task: waiting for futures, one or many. Callers may be threads: they park as whatever they are.
 *
 * A wait for n futures is n listeners and one parking. Each future that ends reports to the wait;
 * the first report that decides it unparks the caller. The caller then withdraws the listeners that
 * are left, and since reports are made under the future's lock, none is under way after that. */
#include "base/alloc.h"
#include "base/print.h"
#include "task/future.h"

#include <errno.h>
#include <inttypes.h>

struct wait {
	struct weir__parking parking;
	size_t pending;     /* shared: futures that have not ended */
	uint32_t decided;   /* shared */
	bool first_decides; /* a race */
};

struct entry {
	struct weir__listener listener;
	struct wait *wait;
	bool listening;
};

static void report(struct wait *wait, struct weir_future *future)
{
	size_t left = WEIR__SUB(&wait->pending, 1, __ATOMIC_ACQ_REL);

	if (!wait->first_decides && future->error == 0 && left > 0)
		return;
	if (!WEIR__XCHG(&wait->decided, 1, __ATOMIC_RELAXED))
		weir__unpark(&wait->parking);
}

static void ended(struct weir__listener *listener, struct weir_future *future)
{
	report(((struct entry *)(void *)listener)->wait, future);
}

static int check(struct weir_future **futures, size_t n)
{
	struct weir__task *self = weir__task_here();

	if (!futures && n > 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (!futures[i])
			return -EINVAL;
		if (self && self->future == futures[i])
			return -EDEADLK;
	}
	return 0;
}

/* The one that decided first, of those that are seen to have ended; or NULL. *left is how many are
 * not. */
static struct weir_future *find_decisive(struct weir_future **futures, size_t n, bool first_decides,
					 size_t *left)
{
	struct weir_future *earliest = NULL;

	*left = n;
	for (size_t i = 0; i < n; i++) {
		struct weir_future *future = futures[i];

		if (!future_ended(future))
			continue;
		--*left;
		if ((first_decides || future->error != 0) &&
		    (!earliest || future->order < earliest->order))
			earliest = future;
	}
	return earliest;
}

/* Whether there is nothing to wait for: one has ended that decides, or all have ended. *ret is the
 * one that decided first, or NULL. One that had been passed by may have ended before the one that
 * was found, so they are looked at until there is no earlier one. */
static bool is_decided(struct weir_future **futures, size_t n, bool first_decides,
		       struct weir_future **ret)
{
	struct weir_future *earliest;
	struct weir_future *found = NULL;
	size_t left;

	do {
		earliest = found;
		found = find_decisive(futures, n, first_decides, &left);
	} while (found != earliest && n > 1);
	*ret = found;
	return found || left == 0;
}

/* A task of another scheduler may change its name at any time. */
static void describe_task(struct weir_future *future, char *text, size_t size)
{
	const struct weir__task *task;

	weir__lock(&future->lock);
	task = future->task; /* which cannot end while we have the lock */
	if (!task)
		weir__format(text, size, "a task that has ended");
	else if (task->sched != weir__sched_here())
		weir__format(text, size, "task %" PRIu64 " of another scheduler", task->id);
	else
		weir__format(text, size, "task %" PRIu64 "%s%s%s", task->id,
			     task->name[0] ? " \"" : "", task->name, task->name[0] ? "\"" : "");
	weir__unlock(&future->lock);
}

static void describe(const void *object, char *text, size_t size)
{
	const struct weir_future *future = object;

	if (!future)
		weir__format(text, size, "several futures");
	else if (future->is_task)
		describe_task((struct weir_future *)(uintptr_t)object, text, size);
	else
		weir__format(text, size, "promise %p", object);
}

static const struct weir__kind kind = { .describe = describe };

static int park_for(struct wait *wait, struct entry *entries, struct weir_future **futures,
		    size_t n, weir_time deadline)
{
	int result;

	weir__parking_init(&wait->parking);
	wait->parking.kind = &kind;
	wait->parking.object = n == 1 ? futures[0] : NULL;
	for (size_t i = 0; i < n; i++) {
		entries[i] = (struct entry){ .listener.ended = ended, .wait = wait };
		entries[i].listening = weir__future_listen(futures[i], &entries[i].listener);
		if (!entries[i].listening)
			report(wait, futures[i]);
	}
	result = weir__park(&wait->parking, deadline, WEIR__WATCH);
	for (size_t i = 0; i < n; i++) {
		if (entries[i].listening)
			weir__future_unlisten(futures[i], &entries[i].listener);
	}
	if (result < 0 && wait->decided)
		(void)weir__park(&wait->parking, WEIR_NEVER, WEIR__MUST);
	/* Decided at the last moment is decided, but for a caller that was cancelled. */
	return result == -ETIMEDOUT && wait->decided ? 0 : result;
}

/* Waits until it is decided: 0 and by whom, NULL when all ended well. Reports come from several
 * threads and may overtake each other, so whoever was first is looked up in the end. */
static int decide(struct weir_future **futures, size_t n, weir_time deadline, bool first_decides,
		  struct weir_future **ret)
{
	struct wait wait = { .pending = n, .first_decides = first_decides };
	struct entry one;
	struct entry *entries = &one;
	struct weir_future *decisive;
	int result = check(futures, n);

	if (result < 0)
		return result;
	if (!is_decided(futures, n, first_decides, &decisive)) {
		if (n > 1)
			entries = weir__alloc(n * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		result = park_for(&wait, entries, futures, n, deadline);
		if (n > 1)
			weir__free(entries);
		(void)is_decided(futures, n, first_decides, &decisive);
	}
	if (result == 0)
		*ret = decisive;
	return result;
}

int weir_wait(struct weir_future *future, weir_time deadline, intptr_t *value)
{
	struct weir_future *ended_one;
	int result = decide(&future, 1, deadline, true, &ended_one);

	if (result == 0)
		result = future->error;
	if (result == 0 && value)
		*value = future->value;
	return result;
}

int weir_gather(struct weir_future **futures, size_t n, weir_time deadline, intptr_t *values)
{
	struct weir_future *decisive = NULL;
	int result = decide(futures, n, deadline, false, &decisive);

	if (result == 0 && decisive)
		result = decisive->error;
	for (size_t i = 0; result == 0 && values && i < n; i++)
		values[i] = futures[i]->value;
	return result;
}

int weir_race(struct weir_future **futures, size_t n, weir_time deadline, size_t *winner,
	      intptr_t *value)
{
	struct weir_future *first = NULL;
	int result = n == 0 ? -EINVAL : decide(futures, n, deadline, true, &first);
	size_t index = 0;

	if (result < 0)
		return result;
	while (futures[index] != first)
		index++;
	if (winner)
		*winner = index;
	if (first->error == 0 && value)
		*value = first->value;
	return first->error;
}

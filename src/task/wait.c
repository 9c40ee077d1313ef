/* task: waiting for futures, one or many. Callers may be threads: they park as whatever they are.
 *
 * A wait for n futures is n listeners and one parking. Each future that ends reports to the wait;
 * the first report that decides it unparks the caller. The caller then withdraws the listeners that
 * are left, and since reports are made under the future's lock, none is under way after that.
 *
 * Whoever waits has a handle of its own until it has read the result: others may drop theirs, down
 * to the last, while it waits. For the same reason it has its own list of them: what the caller's
 * array holds meanwhile is the caller's affair. */
#include "base/alloc.h"
#include "base/print.h"
#include "task/future.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct wait {
	struct weir__parking parking;
	struct weir_future **futures;
	size_t n;
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

static void describe_one(const void *object, char *text, size_t size)
{
	const struct weir_future *future = object;

	if (future->is_task)
		describe_task((struct weir_future *)(uintptr_t)object, text, size);
	else
		weir__format(text, size, "promise %p", object);
}

/* Of a wait for many, those that have not ended, as far as there is room. */
static void describe_many(const void *object, char *text, size_t size)
{
	enum { ROOM = 96 }; /* for one more, and for how many are left out */
	const struct wait *wait = object;
	size_t used = 0, more = 0;

	weir__format(text, size, "futures that have ended");
	for (size_t i = 0; i < wait->n; i++) {
		if (future_ended(wait->futures[i]))
			continue;
		if (used + ROOM > size) {
			more++;
			continue;
		}
		if (used > 0) {
			weir__format(text + used, size - used, ", ");
			used += strlen(text + used);
		}
		describe_one(wait->futures[i], text + used, size - used);
		used += strlen(text + used);
	}
	if (more > 0)
		weir__format(text + used, size - used, " and %zu more", more);
}

/* A task of this scheduler; if that is told of a deadlock, it may end. */
static bool may_end(const void *object)
{
	struct weir_future *future = (struct weir_future *)(uintptr_t)object;
	bool may;

	weir__lock(&future->lock);
	may = future->task && future->task->sched == weir__sched_here();
	weir__unlock(&future->lock);
	return may;
}

static bool any_may_end(const void *object)
{
	const struct wait *wait = object;
	bool may = false;

	for (size_t i = 0; i < wait->n && !may; i++)
		may = may_end(wait->futures[i]);
	return may;
}

static const struct weir__kind one_kind = { .describe = describe_one, .follows = may_end };
static const struct weir__kind many_kind = { .describe = describe_many, .follows = any_may_end };

static int park_for(struct wait *wait, struct entry *entries, weir_time deadline)
{
	struct weir_future **futures = wait->futures;
	size_t n = wait->n;
	int result;

	weir__parking_init(&wait->parking);
	wait->parking.kind = n == 1 ? &one_kind : &many_kind;
	wait->parking.object = n == 1 ? (const void *)futures[0] : wait;
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
	return result != -ECANCELED && wait->decided ? 0 : result;
}

/* What a wait came to. */
struct decision {
	struct weir_future *by;       /* the one that decided; NULL: all have ended well */
	struct weir_future **futures; /* the caller's array; once it had to wait, what was in it */
	struct weir_future *one;
	struct entry *memory; /* for entries and futures, if there are several */
	bool held;            /* the futures, until the results have been read */
};

/* Takes a handle of each. Its entries, or NULL: no memory for them. */
static struct entry *hold(struct decision *decision, size_t n, struct entry *one)
{
	struct weir_future **futures = &decision->one;
	struct entry *entries = one;

	if (n > 1) {
		entries = weir__alloc(n * (sizeof(*entries) + sizeof(*futures)));
		if (!entries)
			return NULL;
		decision->memory = entries;
		futures = (struct weir_future **)(void *)(entries + n);
	}
	for (size_t i = 0; i < n; i++)
		futures[i] = weir_future_ref(decision->futures[i]);
	decision->futures = futures;
	decision->held = true;
	return entries;
}

static void let_go(const struct decision *decision, size_t n)
{
	for (size_t i = 0; decision->held && i < n; i++)
		weir_future_unref(decision->futures[i]);
	weir__free(decision->memory);
}

/* Waits until it is decided. Reports come from several threads and may overtake each other, so
 * whoever was first is looked up in the end. */
static int decide(struct weir_future **futures, size_t n, weir_time deadline, bool first_decides,
		  struct decision *ret)
{
	struct wait wait = { .n = n, .pending = n, .first_decides = first_decides };
	struct entry one;
	struct entry *entries;
	int result = check(futures, n);

	*ret = (struct decision){ .futures = futures };
	if (result < 0 || is_decided(futures, n, first_decides, &ret->by))
		return result;
	entries = hold(ret, n, &one);
	if (!entries)
		return -ENOMEM;
	wait.futures = ret->futures;
	result = park_for(&wait, entries, deadline);
	(void)is_decided(ret->futures, n, first_decides, &ret->by);
	return result;
}

int weir_wait(struct weir_future *future, weir_time deadline, intptr_t *value)
{
	struct decision decision;
	int result = decide(&future, 1, deadline, true, &decision);

	if (result == 0)
		result = future->error;
	if (result == 0 && value)
		*value = future->value;
	let_go(&decision, 1);
	return result;
}

int weir_gather(struct weir_future **futures, size_t n, weir_time deadline, intptr_t *values)
{
	struct decision decision;
	int result = decide(futures, n, deadline, false, &decision);

	if (result == 0 && decision.by)
		result = decision.by->error;
	for (size_t i = 0; result == 0 && values && i < n; i++)
		values[i] = decision.futures[i]->value;
	let_go(&decision, n);
	return result;
}

int weir_race(struct weir_future **futures, size_t n, weir_time deadline, size_t *winner,
	      intptr_t *value)
{
	struct decision decision = { .held = false };
	int result = n == 0 ? -EINVAL : decide(futures, n, deadline, true, &decision);
	size_t index = 0;

	if (result == 0) {
		while (decision.futures[index] != decision.by)
			index++;
		if (winner)
			*winner = index;
		result = decision.by->error;
		if (result == 0 && value)
			*value = decision.by->value;
	}
	let_go(&decision, n);
	return result;
}

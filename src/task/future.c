/* task: futures: results, handles and listeners. Knows nothing of schedulers. */
#include "task/future.h"

#include "base/alloc.h"
#include "base/hot.h"

#include <errno.h>

WEIR__HOT void weir__future_renew(struct weir_future *future, struct weir__task *task)
{
	future->refs = task ? 2 : 1;
	future->lock.word = 0;
	future->error = 0;
	future->ended = 0;
	future->is_task = task != NULL;
	future->cancel_sent = false;
	future->first = NULL;
	future->last = NULL;
	future->task = task;
}

WEIR__HOT struct weir_future *weir__future_new(struct weir__task *task)
{
	struct weir_future *future = weir__alloc_small(sizeof(*future));

	if (future)
		weir__future_renew(future, task);
	return future;
}

struct weir_future *weir_promise(void)
{
	return weir__future_new(NULL);
}

struct weir_future *weir_future_ref(struct weir_future *future)
{
	if (future)
		(void)WEIR__ADD(&future->refs, 1, __ATOMIC_RELAXED);
	return future;
}

void weir_future_unref(struct weir_future *future)
{
	if (future && WEIR__SUB(&future->refs, 1, __ATOMIC_ACQ_REL) == 0)
		weir__free(future);
}

bool weir_future_done(const struct weir_future *future)
{
	return future && future_ended(future);
}

static void end_locked(struct weir_future *future, int error, intptr_t value)
{
	static WEIR__GLOBAL uint64_t ended_so_far;
	struct weir__listener *listener = future->first;
	struct weir__listener *next;

	future->error = error;
	future->value = value;
	future->order = WEIR__ADD(&ended_so_far, 1, __ATOMIC_RELAXED);
	future->task = NULL;
	WEIR__STORE(&future->ended, 1, __ATOMIC_RELEASE);
	for (; listener; listener = next) {
		next = listener->next;
		listener->ended(listener, future);
	}
}

bool weir__future_end(struct weir_future *future, int error, intptr_t value)
{
	bool first;

	weir__lock(&future->lock);
	first = !future->ended;
	if (first)
		end_locked(future, error, value);
	weir__unlock(&future->lock);
	return first;
}

WEIR__HOT struct weir_future *weir__future_end_own(struct weir_future *future, int error,
						   intptr_t value)
{
	if (WEIR__LOAD(&future->refs, __ATOMIC_ACQUIRE) == 1)
		return future;
	(void)weir__future_end(future, error, value);
	weir_future_unref(future);
	return NULL;
}

bool weir__future_listen(struct weir_future *future, struct weir__listener *listener)
{
	bool pending;

	weir__lock(&future->lock);
	pending = !future->ended;
	if (pending) {
		listener->next = NULL;
		listener->prev = future->last;
		if (future->last)
			future->last->next = listener;
		else
			future->first = listener;
		future->last = listener;
	}
	weir__unlock(&future->lock);
	return pending;
}

void weir__future_unlisten(struct weir_future *future, struct weir__listener *listener)
{
	weir__lock(&future->lock);
	if (!future->ended) {
		if (listener->prev)
			listener->prev->next = listener->next;
		else
			future->first = listener->next;
		if (listener->next)
			listener->next->prev = listener->prev;
		else
			future->last = listener->prev;
	}
	weir__unlock(&future->lock);
}

/* Whoever sees the end may drop the last handle at once, while we still have the lock. */
bool weir__promise_end(struct weir_future *promise, int error, intptr_t value)
{
	bool first;

	(void)weir_future_ref(promise);
	first = weir__future_end(promise, error, value);
	weir_future_unref(promise);
	return first;
}

int weir_complete(struct weir_future *future, intptr_t value)
{
	if (!future || future->is_task)
		return -EINVAL;
	return weir__promise_end(future, 0, value) ? 0 : -EALREADY;
}

int weir_fail(struct weir_future *future, int error)
{
	if (!future || future->is_task || error >= 0)
		return -EINVAL;
	return weir__promise_end(future, error, 0) ? 0 : -EALREADY;
}

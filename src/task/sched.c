/* task: switching between tasks, and how a task parks. */
#include "task/sched.h"

#include "task/future.h"

#include <errno.h>

/* Tasks that are ready run this often before the loop looks at timers and other threads. */
enum { SWITCHES_A_ROUND = 64 };

static WEIR__TLS struct weir__sched *here;

void weir__sched_install(struct weir__sched *sched)
{
	here = sched;
	weir__park_ticks_set(sched ? &sched->ticks : NULL);
	if (!sched)
		weir__parker_set(NULL, NULL);
}

struct weir__sched *weir__sched_here(void)
{
	return here;
}

struct weir__task *weir__task_here(void)
{
	return here ? here->current : NULL;
}

/* Between these the ready queue is not to be looked at by a signal handler of this thread. */
static void queue_enter(struct weir__sched *sched)
{
	WEIR__POKE(&sched->queue_busy, true);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void queue_leave(struct weir__sched *sched)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	WEIR__POKE(&sched->queue_busy, false);
}

void weir__sched_ready(struct weir__task *task)
{
	struct weir__sched *sched = task->sched;

	queue_enter(sched);
	task->next_ready = NULL;
	if (sched->last_ready)
		sched->last_ready->next_ready = task;
	else
		sched->first_ready = task;
	WEIR__POKE(&sched->last_ready, task);
	queue_leave(sched);
}

static struct weir__task *take_ready(struct weir__sched *sched)
{
	struct weir__task *task;

	queue_enter(sched);
	task = sched->first_ready;
	if (task) {
		sched->first_ready = task->next_ready;
		if (!sched->first_ready)
			sched->last_ready = NULL;
	}
	queue_leave(sched);
	return task;
}

/* Goes on with `task`, or with the loop when it is NULL. */
static void go(struct weir__sched *sched, struct weir__task *task, bool last)
{
	struct weir__task *self = sched->current;
	struct weir__fiber *from = self ? &self->fiber : &sched->loop;

	if (task == self)
		return;
	sched->current = task;
	sched->left = from;
	weir__parker_set(task ? &weir__task_parker : NULL, task);
	fiber_switch(from, task ? &task->fiber : &sched->loop, last);
}

void weir__sched_switch(struct weir__sched *sched)
{
	/* Straight to the next task if there is one: one switch instead of two. */
	if (++sched->switches % SWITCHES_A_ROUND != 0)
		go(sched, take_ready(sched), false);
	else
		go(sched, NULL, false);
}

bool weir__sched_run_one(struct weir__sched *sched)
{
	struct weir__task *task = take_ready(sched);

	if (task)
		go(sched, task, false);
	return task != NULL;
}

bool weir__task_disturb(struct weir__task *task, int outcome)
{
	uint32_t parked = WEIR__PARKED;

	if (!task->parking ||
	    !WEIR__CAS(&task->parking->word, &parked, WEIR__EMPTY, __ATOMIC_RELAXED))
		return false;
	task->outcome = outcome;
	weir__sched_ready(task);
	return true;
}

static bool takes_cancel(const struct weir__task *task)
{
	return (task->cancelled || task->sched->closing) && task->shields == 0 && !task->stubborn;
}

bool weir__task_told(struct weir__task *task)
{
	bool told = takes_cancel(task);

	if (told)
		task->cancelled = false;
	return told;
}

static void stay_parked(struct weir__task *task, struct weir__parking *parking, weir_time deadline)
{
	struct weir__sched *sched = task->sched;

	task->parking = parking;
	task->since = sched->ticks;
	task->timed = deadline != WEIR_NEVER;
	if (task->timed)
		weir__heap_add(&sched->timers, &task->timer, deadline);
	sched_wait(sched);
	if (task->timed)
		weir__heap_remove(&sched->timers, &task->timer);
	task->parking = NULL;
}

static int task_park(struct weir__parking *parking, weir_time deadline,
		     enum weir__patience patience)
{
	struct weir__task *task = parking->self;
	uint32_t found = WEIR__EMPTY;
	int result;

	task->stubborn = patience == WEIR__MUST;
	task->outcome = 0;
	if (!takes_cancel(task)) {
		if (WEIR__CAS(&parking->word, &found, WEIR__PARKED, __ATOMIC_ACQUIRE))
			stay_parked(task, parking, patience == WEIR__MUST ? WEIR_NEVER : deadline);
		else /* notified; a step that fails synchronises with nobody */
			(void)WEIR__LOAD(&parking->word, __ATOMIC_ACQUIRE);
	}
	/* A grant that came together with a cancel is not kept: the caller passes it on. */
	result = weir__task_told(task) ? -ECANCELED : task->outcome;
	task->stubborn = false;
	return result;
}

static void deliver_wake_up(struct weir__message *message)
{
	weir__sched_ready((struct weir__task *)(void *)((char *)message -
							offsetof(struct weir__task, wake_up)));
}

static void task_unpark(struct weir__parking *parking)
{
	struct weir__task *task = parking->self;

	if (WEIR__XCHG(&parking->word, WEIR__NOTIFIED, __ATOMIC_ACQ_REL) != WEIR__PARKED)
		return;
	/* The task was parked, so it stays until we make it ready. The loop must not find something
	 * ready after it has looked, so from a signal handler that interrupted it the way is the
	 * inbox, which it looks at last. */
	if (task->sched == here && here->current && !WEIR__PEEK(&here->queue_busy)) {
		weir__sched_ready(task);
	} else {
		task->wake_up.deliver = deliver_wake_up;
		weir__sched_post(task->sched, &task->wake_up);
	}
}

static uint64_t task_who(const void *self)
{
	const struct weir__task *task = self;

	return task->sched->who | (task->id & WEIR__WHO_IDS);
}

const struct weir__parker weir__task_parker = {
	.park = task_park,
	.unpark = task_unpark,
	.who = task_who,
};

void weir__sched_post(struct weir__sched *sched, struct weir__message *message)
{
	struct weir__message *newest = WEIR__LOAD(&sched->inbox, __ATOMIC_RELAXED);

	do {
		message->next = newest == &sched->marker ? NULL : newest;
	} while (!WEIR__CAS(&sched->inbox, &newest, message, __ATOMIC_RELEASE));
	if (newest == &sched->marker)
		weir__bell_ring(&sched->bell);
}

void weir__sched_end(struct weir__task *task, int error, intptr_t value)
{
	struct weir__sched *sched = task->sched;
	struct weir_future *future = task->future;

	if (task->older)
		task->older->newer = task->newer;
	if (task->newer)
		task->newer->older = task->older;
	else
		sched->newest = task->older;
	sched->task_count--;
	(void)weir__future_end(future, error, value);
	weir_future_unref(future);
	sched->ended = task;
	go(sched, NULL, true);
	__builtin_unreachable();
}

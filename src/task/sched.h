/* task: the scheduler, from the inside.
 *
 * One scheduler lives in one thread for the length of a weir_run. All its members belong to that
 * thread, but for the inbox.
 *
 * HOW A TASK WAITS. It parks on a parking (see park/park.h), whose word is this thread's alone.
 * Whoever replaces PARKED there makes the task ready: unpark by NOTIFIED; a timer, a cancel or a
 * deadlock by EMPTY, leaving the reason in task->outcome. There is exactly one of them, so a task
 * is in the ready queue at most once. A task's parking is PARKED from the start, and not only when
 * the task has switched away: nobody else looks at the ready queue before that. Another thread that
 * unparks only leaves word in the inbox.
 *
 * THE INBOX is a stack of messages that other threads push and the scheduler takes whole. A
 * scheduler about to sleep puts a marker there; whoever pushes on top of the marker, and nobody
 * else, rings the bell, once. That is the last thing that thread does with the scheduler, and the
 * scheduler does not go before it has heard as many rings as markers were replaced.
 *
 * A CALL is what another thread leaves in an empty inbox to unpark: the address of the parking, and
 * no message. So it writes to no cache line of the waiter, and what two schedulers hand to each
 * other costs the way of one line, that of the inbox.
 *
 * SIGNAL HANDLERS may release semaphores, so unpark may interrupt anything here. It goes by way of
 * the inbox, as if it were another thread, unless a task runs and nobody is at the ready queue.
 */
#ifndef WEIR_TASK_SCHED_H
#define WEIR_TASK_SCHED_H

#include "base/bell.h"
#include "base/fault.h"
#include "base/habit.h"
#include "base/heap.h"
#include "park/park.h"
#include "task/fiber.h"
#include "task/ready.h"
#include "task/record.h"
#include "task/stack.h"

#include <weir/task.h>

/* A task. What every wait needs comes first. */
struct weir__task {
	struct weir__fiber fiber;
	char *stack; /* its end; NULL: it has not run yet and has none */
	struct weir__sched *sched;
	struct weir__parking *parking; /* while it waits */
	int its_errno;                 /* while it does not run */
	uint32_t shields;
	int16_t outcome; /* why it was made ready other than by unpark; or 0 */
	bool cancelled;  /* and not told yet */
	bool stubborn;   /* waits for what is certain to come: not to be disturbed */
	bool started;
	bool timed;
	/* Two in one byte: the record stays on as many cache lines. */
	bool listed : 1; /* in a report that is being written */
	bool was_cancelled : 1;
	bool odd; /* there is more to do before it runs: see go_oddly() */

	weir_task_fn *fn;
	union {
		void *arg;      /* before it runs */
		intptr_t value; /* then: what it returns */
	};
	struct weir__task *older; /* all tasks that have not ended */
	struct weir__task *newer;
	struct weir_future *future;

	/* For people. */
	uint64_t id;
	void *site; /* where it was spawned */
	char name[24];

	/* Set when they are used. */
	struct weir__heap_node timer;
};

/* What other threads write, what they read and what they leave alone are on cache lines of their
 * own. */
struct weir__sched {
	_Alignas(64) struct weir__message *inbox; /* shared: NULL, &marker, or what was left */
	struct weir__message marker;
	struct weir__bell bell;

	/* How its tasks wait; it lies here so that a parking tells whose it is. */
	_Alignas(64) struct weir__parker parker;

	_Alignas(64) struct weir__task *current;
	struct weir__ready ready;
	struct weir__fiber loop;  /* the thread's own stack */
	struct weir__fiber *left; /* where it must be known: the fiber that ran before this one */
	void **park_self; /* where this thread's park layer keeps who waits: the current task */
	struct weir__task *ended; /* its stack is in use until somebody else runs */
	struct weir__heap timers;
	struct weir__records records;
	struct weir__stacks stacks;
	struct weir__site *sites;        /* if stacks are measured */
	const struct weir_future *until; /* tasks run until this one has ended */
	struct weir__task *newest;
	size_t task_count;
	uint64_t spawned;
	uint64_t who; /* its number, in place: see park/park.h */
	uint64_t watches;
	int *thread_errno;
	bool on_valgrind;
	bool closing; /* the root has returned: every wait ends with -ECANCELED */

	weir_time doze;      /* how long the next sleep without a deadline is */
	weir_time stalls_at; /* when it will have stood still for long; 0: it does not */
	struct weir__habit spinning;
	struct weir__habit yielding;
	bool watched;       /* the inbox, in vain, since the last task waited */
	uint64_t rings_due; /* markers that were replaced, less rings that were heard */

	struct weir__fault_watch watch; /* for stacks that overflow */
	bool is_virtual;
	weir_time virtual_now;
	uint64_t ticks; /* how late it was a few switches ago */
	const struct weir_run_config *config;
};

static inline struct weir__sched *sched_of(const struct weir__parking *parking)
{
	return (struct weir__sched *)(uintptr_t)((const char *)parking->parker -
						 offsetof(struct weir__sched, parker));
}

/* In the scheduler's thread: ends a wait. Whether its task is to be made ready: if it had given up
 * before, it is or has been. */
static inline bool parking_notify(struct weir__parking *parking)
{
	uint32_t found = WEIR__PEEK(&parking->word);

	WEIR__POKE(&parking->word, WEIR__NOTIFIED);
	return WEIR__LIKELY(found == WEIR__PARKED);
}

/* The scheduler that runs in the calling thread, or NULL; and its current task. */
struct weir__sched *weir__sched_here(void);
struct weir__task *weir__task_here(void);

/* Makes it the calling thread's; NULL: none any more. */
void weir__sched_install(struct weir__sched *sched);

/* The first of all tasks that have not ended, or NULL; the others follow as `newer`. */
static inline struct weir__task *weir__sched_oldest(const struct weir__sched *sched)
{
	struct weir__task *task = sched->newest;

	while (task && task->older)
		task = task->older;
	return task;
}

/* From the loop: lets the first ready task run, and those after it. Whether there was one. */
bool weir__sched_run_one(struct weir__sched *sched);

/* Makes room in the ready queue for one task more. Whether there was memory. */
bool weir__sched_room(struct weir__sched *sched);

/* In the scheduler's thread: ends the wait of a task with `outcome`, if it waits and nobody else
 * has ended it yet. Whether it did. */
bool weir__task_disturb(struct weir__task *task, int outcome);

/* From any thread, while the scheduler cannot end: leaves a message; or a call for whoever waits
 * there. */
void weir__inbox_post(struct weir__sched *sched, struct weir__message *message);
int weir__inbox_call(struct weir__sched *sched, struct weir__parking *parking);

/* Whether the calling task must return -ECANCELED now; says so once. */
bool weir__task_told(struct weir__task *task);

/* Whether the caller's poller waits for something. */
static inline bool sched_has_events(const struct weir__sched *sched)
{
	return sched->config->poller && sched->config->poller->pending > 0;
}

/* In the scheduler's thread: delivers what was taken from the inbox, the oldest first. */
void weir__inbox_deliver(struct weir__message *newest);

/* Delivers what is in the inbox. Whether there was something; the second looks for a while. */
bool weir__inbox_look(struct weir__sched *sched);
bool weir__inbox_spin(struct weir__sched *sched);

/* From a task that waits, while none is ready: watches for a while. The task whose turn it is, if
 * it alone was called; else NULL, and what came has been delivered. */
struct weir__task *weir__sched_watch(struct weir__sched *sched, struct weir__task *self);

/* Runs tasks until `until` has ended, or until none is left. */
void weir__sched_run(struct weir__sched *sched, const struct weir_future *until);

/* Before the scheduler goes: takes what is left in the inbox and waits for threads that are still
 * about to ring the bell. */
void weir__sched_settle(struct weir__sched *sched);

/* Nothing is ready and no timer runs. Ends all waits if nobody is left who could; whether it did.
 */
bool weir__sched_stuck(struct weir__sched *sched);

/* No task has run for config->stall_after: says so, if any waits for more than its time. */
void weir__sched_stalled(struct weir__sched *sched);

/* What every scheduler's `parker` is. */
extern const struct weir__parker weir__task_parker;

#endif

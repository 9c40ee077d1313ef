/* task: noticing that nothing can happen any more, or that nothing has happened for long.
 *
 * Tasks may be woken by other threads, through semaphores and promises, and nobody can know what
 * those will do. So the alarm is raised only when there are none: in a process of one thread, or
 * when the caller of weir_run has said that its tasks are on their own. */
#include "base/cpu.h"
#include "base/print.h"
#include "task/dump.h"
#include "task/sched.h"

#include <errno.h>

/* NULL: there is no memory for it. */
static const char *write_report(struct weir__sched *sched, struct weir__text *text,
				const char *heading)
{
	FILE *stream = weir__text_open(text);

	if (!stream)
		return NULL;
	weir__print(stream, "%s", heading);
	weir__sched_print(stream, sched);
	return weir__text_close(text);
}

/* Without memory, the heading alone, which is a line. */
static void report(struct weir__sched *sched, void (*receive)(const char *report, void *arg),
		   void *arg, const char *heading)
{
	struct weir__text text;
	const char *words = write_report(sched, &text, heading);

	receive(words ? words : heading, arg);
	weir__text_free(&text);
}

static void report_deadlock(struct weir__sched *sched)
{
	const struct weir_run_config *config = sched->config;
	char heading[96] = "deadlock: the only task waits and nobody is left to wake it:\n";

	if (!config->deadlock)
		return;
	if (sched->task_count > 1)
		weir__format(heading, sizeof(heading),
			     "deadlock: all %zu tasks wait and nobody is left to wake them:\n",
			     sched->task_count);
	report(sched, config->deadlock, config->deadlock_arg, heading);
}

/* Whether it waits for tasks of its own scheduler only. */
static bool follows(const struct weir__task *task)
{
	const struct weir__parking *parking = task->parking;

	return parking && parking->kind && parking->kind->follows &&
	       parking->kind->follows(parking->object);
}

/* Whether somebody waits for more than its time, and more than another's here. */
static bool anybody_waits(const struct weir__sched *sched)
{
	const struct weir__task *task = sched->newest;

	while (task && !(task->parking && task->parking->object && !follows(task)))
		task = task->older;
	return task != NULL;
}

void weir__sched_stalled(struct weir__sched *sched)
{
	const struct weir_run_config *config = sched->config;
	char heading[96];

	if (!anybody_waits(sched))
		return;
	weir__format(heading, sizeof(heading), "stalled: no task has run for %.3f ms:\n",
		     (double)config->stall_after / WEIR_MS);
	report(sched, config->stalled, config->stalled_arg, heading);
}

/* Whether anybody could be told. */
static bool tell(struct weir__sched *sched, bool followers_too)
{
	bool told = false;

	for (struct weir__task *task = weir__sched_oldest(sched); task; task = task->newer) {
		if (!task->stubborn && (followers_too || !follows(task)))
			told |= weir__task_disturb(task, -EDEADLK);
	}
	return told;
}

bool weir__sched_stuck(struct weir__sched *sched)
{
	if (!sched->config->alone && !weir__is_only_thread())
		return false;
	/* The last other thread may have left a message before it went. */
	if (WEIR__LOAD(&sched->inbox, __ATOMIC_RELAXED))
		return false;
	report_deadlock(sched);
	/* Whoever waits for tasks that are stuck themselves hears from them, if they are told. */
	return tell(sched, false) || tell(sched, true);
}

/* task: noticing that nothing can happen any more.
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
static const char *write_report(struct weir__sched *sched, struct weir__text *text)
{
	FILE *stream = weir__text_open(text);

	if (!stream)
		return NULL;
	if (sched->task_count == 1)
		weir__print(stream,
			    "deadlock: the only task waits and nobody is left to wake it:\n");
	else
		weir__print(stream,
			    "deadlock: all %zu tasks wait and nobody is left to wake them:\n",
			    sched->task_count);
	weir__sched_print(stream, sched);
	return weir__text_close(text);
}

static void report(struct weir__sched *sched)
{
	const struct weir_run_config *config = sched->config;
	struct weir__text text;
	const char *words;

	if (!config->deadlock)
		return;
	words = write_report(sched, &text);
	config->deadlock(words ? words : "deadlock, and no memory to say of whom\n",
			 config->deadlock_arg);
	weir__text_free(&text);
}

static bool follows(const struct weir__task *task)
{
	const struct weir__parking *parking = task->parking;

	return parking && parking->kind && parking->kind->follows &&
	       parking->kind->follows(parking->object);
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
	report(sched);
	/* Whoever waits for tasks that are stuck themselves hears from them, if they are told. */
	return tell(sched, false) || tell(sched, true);
}

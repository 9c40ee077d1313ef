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

static void report(struct weir__sched *sched)
{
	const struct weir_run_config *config = sched->config;
	struct weir__text text;
	const char *words;

	if (!config->deadlock || !weir__text_open(&text))
		return;
	weir__print(text.stream, "deadlock: all %zu tasks wait and nobody is left to wake them:\n",
		    sched->task_count);
	weir__sched_print(text.stream, sched);
	words = weir__text_close(&text);
	if (words)
		config->deadlock(words, config->deadlock_arg);
	weir__text_free(&text);
}

bool weir__sched_stuck(struct weir__sched *sched)
{
	bool stuck = false;

	if (!sched->config->alone && !weir__is_only_thread())
		return false;
	/* The last other thread may have left a message before it went. */
	if (WEIR__LOAD(&sched->inbox, __ATOMIC_RELAXED))
		return false;
	report(sched);
	for (struct weir__task *task = weir__sched_oldest(sched); task; task = task->newer) {
		if (!task->stubborn)
			stuck |= weir__task_disturb(task, -EDEADLK);
	}
	return stuck;
}

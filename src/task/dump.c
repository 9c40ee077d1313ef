/* task: telling people what the tasks of a scheduler do. */
#include "task/dump.h"

#include "base/clock.h"
#include "base/print.h"

#include <errno.h>

static void print_state(FILE *stream, const struct weir__task *task)
{
	const struct weir__sched *sched = task->sched;
	char text[128] = "something";

	if (task == sched->current) {
		weir__print(stream, "runs");
	} else if (!task->parking ||
		   WEIR__LOAD(&task->parking->word, __ATOMIC_RELAXED) != WEIR__PARKED) {
		weir__print(stream, task->started ? "is ready" : "has not started");
	} else {
		if (task->parking->describe)
			task->parking->describe(task->parking->object, text, sizeof(text));
		weir__print(stream, "waits for %s, since %.3f ms", text,
			    (double)weir__ticks_to_time(weir__ticks() - task->parking->since) /
				    WEIR_MS);
	}
	if (task->cancelled)
		weir__print(stream, ", cancelled");
}

void weir__sched_print(FILE *stream, const struct weir__sched *sched)
{
	for (const struct weir__task *task = weir__sched_oldest(sched); task; task = task->newer) {
		weir__print(stream, "  task %" PRIu64 "%s%s%s, started at ", task->id,
			    task->name[0] ? " \"" : "", task->name, task->name[0] ? "\"" : "");
		weir__print_place(stream, task->site);
		weir__print(stream, ": ");
		print_state(stream, task);
		weir__print(stream, "\n");
	}
}

int weir_sched_dump(FILE *stream)
{
	const struct weir__sched *sched = weir__sched_here();

	if (!sched || !stream)
		return -EINVAL;
	weir__print(stream, "%zu tasks:\n", sched->task_count);
	weir__sched_print(stream, sched);
	return 0;
}

int weir_task_name(const char *name)
{
	struct weir__task *task = weir__task_here();

	if (!task || !name)
		return -EINVAL;
	weir__format(task->name, sizeof(task->name), "%s", name);
	return 0;
}

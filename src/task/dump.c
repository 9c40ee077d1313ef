/* task: telling people what the tasks of a scheduler do. */
#include "task/dump.h"

#include "base/clock.h"
#include "base/print.h"
#include "task/depth.h"
#include "task/waits.h"

#include <errno.h>

static void print_state(FILE *stream, const struct weir__task *task)
{
	const struct weir__sched *sched = task->sched;
	char text[128] = "something";

	if (task == sched->current) {
		weir__print(stream, "runs");
	} else if (!weir__task_waits(task)) {
		weir__print(stream, task->started ? "is ready" : "has not started");
	} else {
		if (task->parking->kind)
			task->parking->kind->describe(task->parking->object, text, sizeof(text));
		weir__print(stream, "waits for %s, since %.3f ms", text,
			    (double)weir__ticks_to_time(weir__ticks() - task->parking->since) /
				    WEIR_MS);
	}
	if (task->cancelled)
		weir__print(stream, ", cancelled");
}

void weir__sched_print(FILE *stream, struct weir__sched *sched)
{
	for (const struct weir__task *task = weir__sched_oldest(sched); task; task = task->newer) {
		weir__print(stream, "  ");
		weir__task_print(stream, task);
		weir__print(stream, ", started at ");
		weir__print_place(stream, task->site);
		weir__print(stream, ": ");
		print_state(stream, task);
		weir__print(stream, "\n");
	}
	weir__waits_print(stream, sched);
}

int weir_sched_dump(FILE *stream)
{
	struct weir__sched *sched = weir__sched_here();

	if (!sched || !stream)
		return -EINVAL;
	weir__print(stream, "%zu tasks:\n", sched->task_count);
	weir__sched_print(stream, sched);
	if (sched->config->measure_stacks)
		weir__depth_print(stream, sched);
	return 0;
}

int weir_stack_uses(struct weir_stack_use *uses, size_t n)
{
	struct weir__sched *sched = weir__sched_here();

	if (!sched || !sched->config->measure_stacks || (!uses && n > 0))
		return -EINVAL;
	return weir__depth_uses(sched, uses, n);
}

int weir_task_name(const char *name)
{
	struct weir__task *task = weir__task_here();

	if (!task || !name)
		return -EINVAL;
	weir__format(task->name, sizeof(task->name), "%s", name);
	return 0;
}

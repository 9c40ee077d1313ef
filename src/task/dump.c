/* task: telling people what the tasks of a scheduler do. */
#include "task/dump.h"

#include "base/clock.h"
#include "base/place.h"
#include "base/print.h"
#include "task/depth.h"
#include "task/waits.h"

#include <errno.h>

static void print_state(FILE *stream, const struct weir__task *task)
{
	const struct weir__sched *sched = task->sched;
	char text[WEIR__WAIT_TEXT] = "something";

	if (task == sched->current) {
		weir__print(stream, "runs");
	} else if (!weir__task_waits(task)) {
		weir__print(stream, task->started ? "is ready" : "has not started");
	} else {
		if (task->parking->kind)
			task->parking->kind->describe(task->parking->object, text, sizeof(text));
		/* Ticks know nothing of a virtual clock. */
		if (sched->is_virtual)
			weir__print(stream, "waits for %s", text);
		else
			weir__print(
				stream, "has waited %.3f ms for %s",
				(double)weir__ticks_to_time(weir__ticks() - task->parking->since) /
					WEIR_MS,
				text);
	}
	if (task->cancelled)
		weir__print(stream, ", cancelled");
}

void weir__sched_print(FILE *stream, struct weir__sched *sched)
{
	/* Who was told already does not wait for it any more, and it may be gone. */
	(void)weir__inbox_look(sched);
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
	weir__print(stream, "%zu task%s:\n", sched->task_count, sched->task_count == 1 ? "" : "s");
	weir__sched_print(stream, sched);
	if (sched->config->measure_stacks)
		weir__depth_print(stream, sched);
	return weir__print_failed(stream) ? -EIO : 0;
}

int weir_stack_uses(struct weir_stack_use *uses, size_t n)
{
	struct weir__sched *sched = weir__sched_here();

	if (!sched || !sched->config->measure_stacks || (!uses && n > 0))
		return -EINVAL;
	return weir__depth_uses(sched, uses, n);
}

/* How many bytes of a name are kept: as many as fit, but no part of a character (UTF-8). */
static size_t kept_of(const char *name, size_t most)
{
	size_t length = 0;

	while (length < most && name[length])
		length++;
	while (length > most - 3 && ((unsigned char)name[length] & 0xc0) == 0x80)
		length--;
	return length;
}

static bool breaks_a_line(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f || c == '"';
}

int weir_task_name(const char *name)
{
	struct weir__task *task = weir__task_here();
	size_t length;

	if (!task || !name)
		return -EINVAL;
	length = kept_of(name, sizeof(task->name) - 1);
	for (size_t i = 0; i < length; i++)
		task->name[i] = breaks_a_line(name[i]) ? '?' : name[i];
	task->name[length] = '\0';
	return 0;
}

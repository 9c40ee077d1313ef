/* task: saying whose stack was too small. Runs in a signal handler, on another stack. */
#include "task/overflow.h"

#include "base/fault.h"
#include "task/sched.h"

static size_t past_stack_of(const struct weir__task *task, const void *address)
{
	return task->stack ? weir__stack_past(&task->sched->stacks, task->stack, address) : 0;
}

/* What is left to do on the stack of a task that runs no more, for all that is known, takes less.
 */
enum { LAST_FRAMES = 2048 };

/* Whose stack `address` is below; or NULL. One that is about to wait runs no more, for all that is
 * known: the next one does, or none. But it is still on its stack. So if it is anybody's, all are
 * looked at: `older` always leads to the next. Only just below a stack it is an overflow, though.
 * Further down somebody wrote beyond the upper end of the stack that is there. */
static const struct weir__task *whose(const void *address)
{
	const struct weir__sched *sched = weir__sched_here();
	const struct weir__task *task = weir__task_here();

	if (task && past_stack_of(task, address) > 0)
		return task;
	task = sched && weir__stacks_contain(&sched->stacks, address) ? sched->newest : NULL;
	while (task && past_stack_of(task, address) == 0)
		task = task->older;
	return task && past_stack_of(task, address) <= LAST_FRAMES ? task : NULL;
}

bool weir__overflow_explain(const void *address)
{
	const struct weir__task *task = whose(address);
	struct weir__cry cry = { .length = 0 };

	if (!task)
		return false;
	weir__cry_text(&cry, "weir: task ");
	weir__cry_number(&cry, task->id);
	if (task->name[0]) {
		weir__cry_text(&cry, " \"");
		weir__cry_text(&cry, task->name);
		weir__cry_text(&cry, "\"");
	}
	weir__cry_text(&cry, " has overflowed its stack of ");
	weir__cry_number(&cry, weir__stack_usable(&task->sched->stacks));
	weir__cry_text(&cry, " bytes, by ");
	weir__cry_number(&cry, past_stack_of(task, address));
	weir__cry_text(&cry, " or more.\nweir: it runs the function at ");
	weir__cry_place(&cry, (const void *)(uintptr_t)task->fn);
	weir__cry_text(&cry, ", and was started at ");
	weir__cry_place(&cry, task->site);
	weir__cry_text(&cry, ".\nweir: does it recurse without end? Otherwise give weir_run a "
			     "config with a larger stack_size.\n");
	weir__cry_out(&cry);
	return true;
}

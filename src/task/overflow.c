/* task: saying whose stack was too small. Runs in a signal handler, on another stack. */
#include "task/overflow.h"

#include "base/fault.h"
#include "task/sched.h"

bool weir__overflow_explain(const void *address)
{
	const struct weir__task *task = weir__task_here();
	struct weir__cry cry = { .length = 0 };
	size_t past = task ? weir__stack_past(&task->sched->stacks, task->stack, address) : 0;

	if (past == 0)
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
	weir__cry_number(&cry, past);
	weir__cry_text(&cry, " or more.\nweir: it runs the function at ");
	weir__cry_place(&cry, (const void *)(uintptr_t)task->fn);
	weir__cry_text(&cry, ", and was started at ");
	weir__cry_place(&cry, task->site);
	weir__cry_text(&cry, ".\nweir: does it recurse without end? Otherwise give weir_run a "
			     "config with a larger stack_size.\n");
	weir__cry_out(&cry);
	return true;
}

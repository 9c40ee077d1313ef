/* bench: a program that measures many tasks, from its arguments to the scheduler. */
#ifndef BENCH_PLAN_HPP
#define BENCH_PLAN_HPP

#include "bench.hpp"

#include <weir/weir.h>

namespace bench
{

struct plan {
	uint32_t tasks;
	double seconds;
};

/* Runs `root` with a plan as its argument; the stacks of all tasks stay warm. */
inline int run_tasks(int argc, char **argv, weir_task_fn *root)
{
	arguments arguments(argc, argv);
	plan plan = { arguments.count_of("tasks", 1000), arguments.number("seconds", 0.2) };
	struct weir_run_config config = {};

	config.stack_cache = plan.tasks;
	if (weir_run(root, &plan, &config) < 0)
		fail("weir_run");
	return 0;
}

} // namespace bench

#endif

/* bench: what does it cost to start a task, let it run and collect its result?
 *
 *     gather weir tasks=1000 seconds=0.2
 *
 * The tasks do nothing but return a value. The first turns, which make the stacks, do not count.
 */
#include "bench.hpp"

#include <weir/weir.h>

struct plan {
	uint32_t tasks;
	double seconds;
};

static int answer(void *arg, intptr_t *value)
{
	*value = reinterpret_cast<intptr_t>(arg);
	return 0;
}

static int root(void *arg, intptr_t *)
{
	const plan &plan = *static_cast<struct plan *>(arg);
	std::vector<struct weir_future *> tasks(plan.tasks);
	std::vector<intptr_t> values(plan.tasks);
	auto turn = [&] {
		for (uint32_t i = 0; i < plan.tasks; i++)
			tasks[i] = weir_spawn(answer, reinterpret_cast<void *>(intptr_t(i)));
		if (weir_gather(tasks.data(), plan.tasks, WEIR_NEVER, values.data()) < 0 ||
		    values[plan.tasks - 1] != plan.tasks - 1)
			bench::fail("weir_gather");
		for (struct weir_future *task : tasks)
			weir_future_unref(task);
	};

	bench::per_operation(plan.seconds / 4, plan.tasks, turn);
	bench::print("ns", bench::per_operation(plan.seconds, plan.tasks, turn));
	return 0;
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	plan plan = { arguments.count_of("tasks", 1000), arguments.number("seconds", 0.2) };
	struct weir_run_config config = {};

	config.stack_cache = plan.tasks;
	if (weir_run(root, &plan, &config) < 0)
		bench::fail("weir_run");
	return 0;
}

/* bench: what does it cost to start a task, let it run and collect its result?
 *
 *     gather weir tasks=1000 seconds=0.2
 *
 * The tasks do nothing but return a value. The first turns, which make the stacks, do not count.
 */
#include "plan.hpp"

static int answer(void *arg, intptr_t *value)
{
	*value = reinterpret_cast<intptr_t>(arg);
	return 0;
}

static int root(void *arg, intptr_t *)
{
	const bench::plan &plan = *static_cast<bench::plan *>(arg);
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
	return bench::run_tasks(argc, argv, root);
}

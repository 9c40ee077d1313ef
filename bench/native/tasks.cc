/* bench: what does a task that waits cost when there are very many of them?
 *
 *     tasks weir tasks=1000000 seconds=0.2
 *
 * All of them wait for 3 permits that are taken, and then go through; starting them and their ends
 * count. The first turn is cold: the kernel hands out every page then. In the others the stacks are
 * warm. Then again, and those in the middle of the queue are cancelled, until they are gone.
 */
#include "plan.hpp"

static constexpr uint32_t PERMITS = 3;

static struct weir_sem sem = WEIR_SEM_INIT(PERMITS);
static uint32_t queued, ended;

static int pass(void *, intptr_t *)
{
	queued++;
	if (weir_sem_acquire(&sem, 1) == 0 && weir_sem_release(&sem, 1) < 0)
		bench::fail("weir_sem_release");
	ended++;
	return 0;
}

static void reach(const uint32_t &counter, uint32_t goal)
{
	while (counter < goal)
		weir_yield();
}

/* What the kernel has given the process: pages, and the tables that find them. */
static double resident_bytes()
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	double all = 0, kib;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmRSS: %lf", &kib) == 1 || sscanf(line, "VmPTE: %lf", &kib) == 1)
			all += kib * 1024;
	if (status)
		fclose(status);
	return all;
}

static void start(struct weir_future **tasks, uint32_t count)
{
	if (weir_sem_acquire(&sem, PERMITS) < 0)
		bench::fail("weir_sem_acquire");
	queued = ended = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct weir_future *task = weir_spawn(pass, nullptr);

		if (!task)
			bench::fail("weir_spawn");
		if (tasks)
			tasks[i] = task;
		else
			weir_future_unref(task);
	}
}

static double pass_through(uint32_t count, double *bytes)
{
	double before = bytes ? resident_bytes() : 0;
	int64_t begun = bench::now_ns();
	int64_t weighing = 0;

	start(nullptr, count);
	reach(queued, count);
	if (bytes) {
		weighing = bench::now_ns();
		*bytes = (resident_bytes() - before) / count;
		weighing = bench::now_ns() - weighing;
	}
	weir_sem_release(&sem, PERMITS);
	reach(ended, count);
	return double(bench::now_ns() - begun - weighing) / count;
}

static double cancel_middle(uint32_t count)
{
	std::vector<struct weir_future *> tasks(count);
	uint32_t quarter = count / 4, middle = count - 2 * quarter;
	int64_t begun;
	double ns;

	start(tasks.data(), count);
	reach(queued, count);
	begun = bench::now_ns();
	for (uint32_t i = quarter; i < quarter + middle; i++)
		weir_cancel(tasks[i]);
	reach(ended, middle);
	ns = double(bench::now_ns() - begun) / middle;
	weir_sem_release(&sem, PERMITS);
	reach(ended, count);
	for (struct weir_future *task : tasks)
		weir_future_unref(task);
	return ns;
}

/* Repeats what takes less than the time given. The middle result. */
template <class Measure> static double repeat(double seconds, Measure measure)
{
	std::vector<double> results;
	int64_t end = bench::now_ns() + bench::seconds_ns(seconds);

	do {
		results.push_back(measure());
	} while (bench::now_ns() < end || results.size() < 3);
	return bench::median(results);
}

static int root(void *arg, intptr_t *)
{
	const bench::plan &plan = *static_cast<bench::plan *>(arg);
	double bytes;

	bench::print("cold_ns", pass_through(plan.tasks, &bytes));
	bench::print("bytes", bytes);
	bench::print("warm_ns",
		     repeat(plan.seconds, [&] { return pass_through(plan.tasks, nullptr); }));
	bench::print("cancel_ns",
		     repeat(plan.seconds / 4, [&] { return cancel_middle(plan.tasks); }));
	return 0;
}

int main(int argc, char **argv)
{
	return bench::run_tasks(argc, argv, root);
}

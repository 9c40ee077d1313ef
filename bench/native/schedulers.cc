/* bench: how much gets through when tasks of two schedulers, each in a thread of its own, want one
 * permit all the time, and who gets how much of it?
 *
 *     schedulers weir threads=4 permits=1 rounds=80 seconds=0.2 workers=2
 *
 * `threads` tasks are spread over `workers` schedulers and go through the phases of turns.hpp.
 */
#include "turns.hpp"

#include <barrier>
#include <weir/weir.h>

struct hall {
	alignas(64) struct weir_sem sem;
	bench::stage stage;
	uint32_t rounds;
	std::vector<bench::worker> workers;

	void acquire()
	{
		if (weir_sem_acquire(&sem, 1) < 0)
			bench::fail("weir_sem_acquire");
	}

	void release()
	{
		if (weir_sem_release(&sem, 1) < 0)
			bench::fail("weir_sem_release");
	}
};

static hall hall;

static int take_turns(void *arg, intptr_t *)
{
	bench::take_turns(hall, hall.stage, hall.rounds, *static_cast<bench::worker *>(arg));
	return 0;
}

struct part {
	uint32_t first;
	uint32_t step;
};

/* Every step-th task, from the first on. */
static int run_part(void *arg, intptr_t *)
{
	const part &part = *static_cast<struct part *>(arg);
	std::vector<struct weir_future *> tasks;

	for (size_t i = part.first; i < hall.workers.size(); i += part.step)
		tasks.push_back(weir_spawn(take_turns, &hall.workers[i]));
	if (weir_gather(tasks.data(), tasks.size(), WEIR_NEVER, nullptr) < 0)
		bench::fail("weir_gather");
	for (struct weir_future *task : tasks)
		weir_future_unref(task);
	return 0;
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	uint32_t schedulers = arguments.count_of("workers", 2);
	std::barrier start(std::ptrdiff_t(schedulers) + 1);
	std::vector<std::thread> threads;

	hall.rounds = arguments.count_of("rounds", 80);
	hall.workers.resize(arguments.count_of("threads", 2));
	if (weir_sem_init(&hall.sem, arguments.count_of("permits", 1)) < 0)
		bench::fail("weir_sem_init");
	bench::print("work_ns", bench::work_ns(hall.rounds));
	for (uint32_t i = 0; i < schedulers; i++)
		threads.emplace_back([&, i] {
			part part = { i, schedulers };

			start.arrive_and_wait();
			if (weir_run(run_part, &part, nullptr) < 0)
				bench::fail("weir_run");
		});
	start.arrive_and_wait();
	bench::conduct(hall.stage, arguments.number("seconds", 0.2), threads, hall.workers);
	return 0;
}

/* bench: how much gets through when tasks of two schedulers, each in a thread of its own, want one
 * permit all the time, and who gets how much of it?
 *
 *     schedulers weir threads=4 permits=1 rounds=80 seconds=0.2 workers=2
 *
 * `threads` tasks are spread over `workers` schedulers. Phases and figures are those of
 * contended.cc.
 */
#include "bench.hpp"

#include <atomic>
#include <barrier>
#include <thread>
#include <weir/weir.h>

enum phase { WARM_UP, COUNT, TIME, STOP };

struct alignas(64) worker {
	struct hall *hall;
	uint64_t pairs;
	uint64_t timed;
	int64_t longest;
};

struct hall {
	alignas(64) struct weir_sem sem;
	alignas(64) std::atomic<int> phase{ WARM_UP };
	uint32_t rounds;
	std::vector<worker> workers;

	bool is(enum phase wanted) const
	{
		return phase.load(std::memory_order_relaxed) == wanted;
	}

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

static int take_turns(void *arg, intptr_t *)
{
	worker &result = *static_cast<worker *>(arg);
	hall &hall = *result.hall;
	worker me = {};
	uint64_t x = 1;

	while (hall.is(WARM_UP)) {
		hall.acquire();
		x = bench::work(x, hall.rounds);
		hall.release();
	}
	while (hall.is(COUNT)) {
		hall.acquire();
		x = bench::work(x, hall.rounds);
		hall.release();
		me.pairs++;
	}
	while (hall.is(TIME)) {
		int64_t start = bench::now_ns();

		hall.acquire();
		me.longest = std::max(me.longest, bench::now_ns() - start);
		x = bench::work(x, hall.rounds);
		hall.release();
		me.timed++;
	}
	bench::keep(x);
	result.pairs = me.pairs;
	result.timed = me.timed;
	result.longest = me.longest;
	return 0;
}

struct part {
	hall *all;
	uint32_t first;
	uint32_t step;
};

/* Every step-th task, from the first on. */
static int run_part(void *arg, intptr_t *)
{
	const part &part = *static_cast<struct part *>(arg);
	std::vector<struct weir_future *> tasks;

	for (size_t i = part.first; i < part.all->workers.size(); i += part.step)
		tasks.push_back(weir_spawn(take_turns, &part.all->workers[i]));
	if (weir_gather(tasks.data(), tasks.size(), WEIR_NEVER, nullptr) < 0)
		bench::fail("weir_gather");
	for (struct weir_future *task : tasks)
		weir_future_unref(task);
	return 0;
}

static double spend(hall &hall, enum phase phase, double seconds)
{
	int64_t start = bench::now_ns();

	hall.phase.store(phase, std::memory_order_relaxed);
	std::this_thread::sleep_for(std::chrono::nanoseconds(bench::seconds_ns(seconds)));
	return static_cast<double>(bench::now_ns() - start);
}

static void report(const std::vector<worker> &workers, double counted_ns, double timed_ns)
{
	uint64_t least = UINT64_MAX, most = 0, all = 0;
	double longest = 0;

	for (const worker &worker : workers) {
		least = std::min(least, worker.pairs);
		most = std::max(most, worker.pairs);
		all += worker.pairs;
		longest = std::max(longest, worker.timed ? double(worker.longest) : timed_ns);
	}

	double equal = double(std::max<uint64_t>(all, 1)) / double(workers.size());

	bench::print("pairs_per_second", double(all) / counted_ns * 1e9);
	bench::print("share_min", double(least) / equal);
	bench::print("share_max", double(most) / equal);
	bench::print("longest_wait_ns", longest);
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	double seconds = arguments.number("seconds", 0.2);
	uint32_t schedulers = arguments.count_of("workers", 2);
	std::barrier start(std::ptrdiff_t(schedulers) + 1);
	std::vector<std::thread> threads;
	static hall hall;

	hall.rounds = arguments.count_of("rounds", 80);
	hall.workers.resize(arguments.count_of("threads", 2));
	for (worker &worker : hall.workers)
		worker.hall = &hall;
	if (weir_sem_init(&hall.sem, arguments.count_of("permits", 1)) < 0)
		bench::fail("weir_sem_init");
	bench::print("work_ns", bench::work_ns(hall.rounds));
	for (uint32_t i = 0; i < schedulers; i++)
		threads.emplace_back([&, i] {
			part part = { &hall, i, schedulers };

			start.arrive_and_wait();
			if (weir_run(run_part, &part, nullptr) < 0)
				bench::fail("weir_run");
		});
	start.arrive_and_wait();
	spend(hall, WARM_UP, seconds / 4);

	double counted = spend(hall, COUNT, seconds);
	double timed = spend(hall, TIME, seconds / 2);

	hall.phase.store(STOP, std::memory_order_relaxed);
	for (std::thread &thread : threads)
		thread.join();
	report(hall.workers, counted, timed);
	return 0;
}

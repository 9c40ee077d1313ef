/* bench: how much gets through when several threads want the permits all the time, who gets how
 * much of it, and how long does somebody wait at worst?
 *
 *     contended PEER threads=4 permits=1 rounds=80 seconds=0.2
 *     contended calibrate ns=100                          rounds of work that take so long
 *
 * The threads start together and go through the same phases at the same time. Pairs are counted in
 * one window; waits are timed in another one, so that reading the clock does not slow the first.
 */
#include "locks.hpp"

#include <barrier>
#include <thread>

enum phase { WARM_UP, COUNT, TIME, STOP };

struct alignas(64) worker {
	uint64_t pairs;
	uint64_t timed;
	int64_t longest;
};

struct alignas(64) stage {
	std::atomic<int> phase{ WARM_UP };

	bool is(enum phase wanted) const
	{
		return phase.load(std::memory_order_relaxed) == wanted;
	}
};

template <class Lock>
static void take_turns(Lock &lock, const stage &stage, uint32_t rounds, worker &result)
{
	worker me = {};
	uint64_t x = 1;

	while (stage.is(WARM_UP)) {
		lock.acquire();
		x = bench::work(x, rounds);
		lock.release();
	}
	while (stage.is(COUNT)) {
		lock.acquire();
		x = bench::work(x, rounds);
		lock.release();
		me.pairs++;
	}
	while (stage.is(TIME)) {
		int64_t start = bench::now_ns();

		lock.acquire();
		me.longest = std::max(me.longest, bench::now_ns() - start);
		x = bench::work(x, rounds);
		lock.release();
		me.timed++;
	}
	bench::keep(x);
	result = me;
}

/* Lets a phase last for so long; what it really took. */
static double spend(stage &stage, enum phase phase, double seconds)
{
	int64_t start = bench::now_ns();

	stage.phase.store(phase, std::memory_order_relaxed);
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
		/* Whoever got nothing waited throughout. */
		longest = std::max(longest, worker.timed ? double(worker.longest) : timed_ns);
	}

	double equal = double(std::max<uint64_t>(all, 1)) / double(workers.size());

	bench::print("pairs_per_second", double(all) / counted_ns * 1e9);
	bench::print("share_min", double(least) / equal);
	bench::print("share_max", double(most) / equal);
	bench::print("longest_wait_ns", longest);
}

template <class Lock> static void measure(const bench::arguments &arguments)
{
	uint32_t count = arguments.count_of("threads", 2);
	uint32_t rounds = arguments.count_of("rounds", 80);
	double seconds = arguments.number("seconds", 0.2);
	Lock lock(arguments.count_of("permits", 1));
	stage stage;
	std::vector<worker> workers(count);
	std::vector<std::thread> threads;
	std::barrier start(std::ptrdiff_t(count) + 1);

	bench::print("work_ns", bench::work_ns(rounds));
	for (worker &worker : workers)
		threads.emplace_back([&] {
			start.arrive_and_wait();
			take_turns(lock, stage, rounds, worker);
		});
	start.arrive_and_wait();
	spend(stage, WARM_UP, seconds / 4);

	double counted = spend(stage, COUNT, seconds);
	double timed = spend(stage, TIME, seconds / 2);

	stage.phase.store(STOP, std::memory_order_relaxed);
	for (std::thread &thread : threads)
		thread.join();
	report(workers, counted, timed);
}

static void calibrate(double ns)
{
	constexpr uint32_t MANY = 1000;

	/* The first turn brings the processor up to speed. */
	bench::work_ns(MANY);
	bench::print("rounds", std::max(1.0, ns * MANY / bench::work_ns(MANY)));
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);

	if (arguments.peer() == "calibrate")
		calibrate(arguments.number("ns", 100));
	else if (!bench::with_lock(arguments.peer(),
				   [&]<class Lock>() { measure<Lock>(arguments); }))
		bench::fail("no such peer");
	return 0;
}

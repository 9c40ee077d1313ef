/* bench: several workers want the permits all the time, and go through the same phases together.
 *
 * Pairs are counted in one window; waits are timed in another one, so that reading the clock does
 * not slow the first. A worker is a thread or a task, and starts by itself.
 */
#ifndef BENCH_TURNS_HPP
#define BENCH_TURNS_HPP

#include "bench.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace bench
{

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
void take_turns(Lock &lock, const stage &stage, uint32_t rounds, worker &result)
{
	worker me = {};
	uint64_t x = 1;

	while (stage.is(WARM_UP)) {
		lock.acquire();
		x = work(x, rounds);
		lock.release();
	}
	while (stage.is(COUNT)) {
		lock.acquire();
		x = work(x, rounds);
		lock.release();
		me.pairs++;
	}
	while (stage.is(TIME)) {
		int64_t start = now_ns();

		lock.acquire();
		me.longest = std::max(me.longest, now_ns() - start);
		x = work(x, rounds);
		lock.release();
		me.timed++;
	}
	keep(x);
	result = me;
}

/* Lets a phase last for so long; what it really took. */
inline double spend(stage &stage, enum phase phase, double seconds)
{
	int64_t start = now_ns();

	stage.phase.store(phase, std::memory_order_relaxed);
	std::this_thread::sleep_for(std::chrono::nanoseconds(seconds_ns(seconds)));
	return static_cast<double>(now_ns() - start);
}

inline void report(const std::vector<worker> &workers, double counted_ns, double timed_ns)
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

	print("pairs_per_second", double(all) / counted_ns * 1e9);
	print("share_min", double(least) / equal);
	print("share_max", double(most) / equal);
	print("longest_wait_ns", longest);
}

/* From the start of the workers on: all phases, the end of the threads, the report. */
inline void conduct(stage &stage, double seconds, std::vector<std::thread> &threads,
		    const std::vector<worker> &workers)
{
	spend(stage, WARM_UP, seconds / 4);

	double counted = spend(stage, COUNT, seconds);
	double timed = spend(stage, TIME, seconds / 2);

	stage.phase.store(STOP, std::memory_order_relaxed);
	for (std::thread &thread : threads)
		thread.join();
	report(workers, counted, timed);
}

} // namespace bench

#endif

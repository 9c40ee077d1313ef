/* bench: how much gets through when several threads want the permits all the time, who gets how
 * much of it, and how long does somebody wait at worst?
 *
 *     contended PEER threads=4 permits=1 rounds=80 seconds=0.2
 *     contended calibrate ns=100                          rounds of work that take so long
 *
 * The threads start together and go through the phases of turns.hpp.
 */
#include "locks.hpp"
#include "turns.hpp"

#include <barrier>

template <class Lock> static void measure(const bench::arguments &arguments)
{
	uint32_t count = arguments.count_of("threads", 2);
	uint32_t rounds = arguments.count_of("rounds", 80);
	double seconds = arguments.number("seconds", 0.2);
	Lock lock(arguments.count_of("permits", 1));
	bench::stage stage;
	std::vector<bench::worker> workers(count);
	std::vector<std::thread> threads;
	std::barrier start(std::ptrdiff_t(count) + 1);

	bench::print("work_ns", bench::work_ns(rounds));
	for (bench::worker &worker : workers)
		threads.emplace_back([&] {
			start.arrive_and_wait();
			bench::take_turns(lock, stage, rounds, worker);
		});
	start.arrive_and_wait();
	bench::conduct(stage, seconds, threads, workers);
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

/* bench: what does an acquire and a release cost when nobody else wants the permit?
 *
 *     pair PEER permits=1 seconds=0.2
 */
#include "locks.hpp"

static constexpr uint32_t CHUNK = 10000;

template <class Lock> static void measure(uint32_t permits, double seconds)
{
	static Lock lock(permits);
	auto chunk = [] {
		for (uint32_t i = 0; i < CHUNK; i++) {
			lock.acquire();
			lock.release();
		}
	};

	bench::per_operation(seconds / 4, CHUNK, chunk);
	bench::print("ns", bench::per_operation(seconds, CHUNK, chunk));
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	uint32_t permits = arguments.count_of("permits", 1);
	double seconds = arguments.number("seconds", 0.2);

	if (arguments.peer() == "floor")
		measure<bench::bare_cas>(permits, seconds);
	else if (!bench::with_lock(arguments.peer(),
				   [&]<class Lock>() { measure<Lock>(permits, seconds); }))
		bench::fail("no such peer");
	return 0;
}

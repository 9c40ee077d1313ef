/* bench: how long does it take from one thread's release until the other one runs?
 *
 *     handoff PEER seconds=0.2 [cpus=A,B]
 *
 * Two threads play ping-pong over two semaphores, both empty at first. With cpus each is tied to a
 * processor of its own; otherwise both run where the process may. Half a round trip is printed.
 */
#include "locks.hpp"

#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

static constexpr uint32_t CHUNK = 64;

struct placement {
	int ping = -1;
	int pong = -1;
};

/* The floor while both run: one word, one store, one load that sees it. */
class spinning_turn
{
	alignas(64) std::atomic<uint32_t> turn{ 0 };

      public:
	void give(uint32_t to)
	{
		turn.store(to, std::memory_order_release);
	}

	void await(uint32_t mine)
	{
		while (turn.load(std::memory_order_acquire) != mine)
			;
	}
};

/* The floor when the other one sleeps: one word, one wake, one wait. */
class futex_turn
{
	alignas(64) std::atomic<uint32_t> turn{ 0 };

	void futex(int operation, uint32_t value)
	{
		syscall(SYS_futex, &turn, operation, value, nullptr, nullptr, 0);
	}

      public:
	void give(uint32_t to)
	{
		turn.store(to, std::memory_order_release);
		futex(FUTEX_WAKE_PRIVATE, 1);
	}

	void await(uint32_t mine)
	{
		while (turn.load(std::memory_order_acquire) != mine)
			futex(FUTEX_WAIT_PRIVATE, 1 - mine);
	}
};

/* A pair of semaphores used as a turn. */
template <class Lock> class semaphores
{
	Lock side[2] = { Lock(1), Lock(1) };

      public:
	semaphores()
	{
		side[0].acquire();
		side[1].acquire();
	}

	void give(uint32_t to)
	{
		side[to].release();
	}

	void await(uint32_t mine)
	{
		side[mine].acquire();
	}
};

template <class Turn> static void measure(double seconds, placement where)
{
	static Turn turn;
	static std::atomic<bool> over{ false };
	auto round_trips = [] {
		for (uint32_t i = 0; i < CHUNK; i++) {
			turn.give(1);
			turn.await(0);
		}
	};
	std::thread pong([where] {
		bench::pin(where.pong);
		for (;;) {
			turn.await(1);
			if (over.load(std::memory_order_relaxed))
				return;
			turn.give(0);
		}
	});

	bench::pin(where.ping);
	bench::per_operation(seconds / 4, CHUNK, round_trips);
	bench::print("ns", bench::per_operation(seconds, CHUNK, round_trips) / 2);
	over.store(true, std::memory_order_relaxed);
	turn.give(1);
	pong.join();
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	double seconds = arguments.number("seconds", 0.2);
	std::string cpus = arguments.text("cpus", "");
	placement where;

	if (!cpus.empty() && sscanf(cpus.c_str(), "%d,%d", &where.ping, &where.pong) != 2)
		bench::fail("cpus=A,B");
	if (arguments.peer() == "spin")
		measure<spinning_turn>(seconds, where);
	else if (arguments.peer() == "futex")
		measure<futex_turn>(seconds, where);
	else if (!bench::with_lock(arguments.peer(), [&]<class Lock>() {
			 measure<semaphores<Lock>>(seconds, where);
		 }))
		bench::fail("no such peer");
	return 0;
}

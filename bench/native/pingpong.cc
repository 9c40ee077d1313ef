/* bench: how long does it take from one task's release until the other one runs, in one thread?
 *
 *     pingpong weir seconds=0.2
 *
 * Two tasks play ping-pong over two semaphores, each in a loop of its own, as the peers' tasks do.
 * Half a round trip is printed.
 */
#include "bench.hpp"

#include <weir/weir.h>

static constexpr uint32_t CHUNK = 1000;

static struct weir_sem sides[2] = { WEIR_SEM_INIT(1), WEIR_SEM_INIT(1) };
static bool over;

/* Inline, as those of the peers are once their compilers are done. */
[[gnu::always_inline]] static inline void wait(uint32_t mine)
{
	if (weir_sem_acquire(&sides[mine], 1) < 0)
		bench::fail("weir_sem_acquire");
}

[[gnu::always_inline]] static inline void give(uint32_t to)
{
	if (weir_sem_release(&sides[to], 1) < 0)
		bench::fail("weir_sem_release");
}

static int pong(void *, intptr_t *)
{
	for (;;) {
		wait(1);
		if (over)
			return 0;
		give(0);
	}
}

static void round_trips()
{
	for (uint32_t i = 0; i < CHUNK; i++) {
		give(1);
		wait(0);
	}
}

static int ping(void *arg, intptr_t *)
{
	double seconds = *static_cast<double *>(arg);
	struct weir_future *other;

	wait(0);
	wait(1);
	other = weir_spawn(pong, nullptr);
	bench::per_operation(seconds / 4, CHUNK, round_trips);
	bench::print("ns", bench::per_operation(seconds, CHUNK, round_trips) / 2);
	over = true;
	give(1);
	weir_wait(other, WEIR_NEVER, nullptr);
	weir_future_unref(other);
	return 0;
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	double seconds = arguments.number("seconds", 0.2);

	if (weir_run(ping, &seconds, nullptr) < 0)
		bench::fail("weir_run");
	return 0;
}

/* bench: how long does it take from one task's release until the other one runs, in one thread?
 *
 *     pingpong weir seconds=0.2
 *
 * Two tasks play ping-pong over two semaphores. Half a round trip is printed.
 */
#include "bench.hpp"

#include <weir/weir.h>

static constexpr uint32_t CHUNK = 1000;

static struct weir_sem sides[2] = { WEIR_SEM_INIT(1), WEIR_SEM_INIT(1) };
static bool over;

/* So many strokes of one side; fewer when the game is over. */
static void play(uint32_t mine, uint64_t strokes)
{
	struct weir_sem *here = &sides[mine];
	struct weir_sem *there = &sides[1 - mine];

	for (uint64_t i = 0; i < strokes && !over; i++)
		if (weir_sem_release(there, 1) < 0 || weir_sem_acquire(here, 1) < 0)
			bench::fail("a stroke was missed");
}

static int pong(void *, intptr_t *)
{
	play(1, UINT64_MAX);
	return weir_sem_release(&sides[0], 1);
}

static int ping(void *arg, intptr_t *)
{
	double seconds = *static_cast<double *>(arg);
	struct weir_future *other;
	auto chunk = [] { play(0, CHUNK); };

	if (weir_sem_acquire(&sides[0], 1) < 0 || weir_sem_acquire(&sides[1], 1) < 0)
		bench::fail("weir_sem_acquire");
	other = weir_spawn(pong, nullptr);
	/* The other one begins with a release, too: ours is then the second on the way. */
	if (weir_sem_acquire(&sides[0], 1) < 0)
		bench::fail("weir_sem_acquire");
	bench::per_operation(seconds / 4, CHUNK, chunk);
	bench::print("ns", bench::per_operation(seconds, CHUNK, chunk) / 2);
	over = true;
	weir_sem_release(&sides[1], 1);
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

/* stress: permits handed on through a ring of semaphores.
 *
 * Station i takes a permit from semaphore i and gives one to semaphore i + 1. Some stations are
 * threads that wait in one way or another, some are async waiters without a thread. A hand-off that
 * is lost stops the ring; a permit too many is refused by the next semaphore. A counter that only
 * the hand-offs protect shows that what was written before a release is seen after the acquire. */
#include "support/acquirer.h"
#include "support/stress.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

enum { MOST_STATIONS = 8, LAPS = 200 };

enum kind { ACQUIRE, UNTIL, TRY, ASYNC, KINDS };

struct ring {
	uint32_t size;
	uint32_t tokens;
	uint64_t passes; /* plain; kept only when there is a single token */
	struct weir_sem sems[MOST_STATIONS];
};

struct station {
	struct weir_waiter waiter; /* first: the wake function is handed its address */
	struct ring *ring;
	uint32_t number;
	enum kind kind;
	uint32_t left;
	bool done;
	pthread_t thread;
};

static struct weir_sem *input(const struct station *station)
{
	return &station->ring->sems[station->number];
}

static void pass_on(struct station *station)
{
	struct ring *ring = station->ring;

	if (ring->tokens == 1)
		ring->passes++;
	station->left--;
	CHECK_EQ(weir_sem_release(&ring->sems[(station->number + 1) % ring->size], 1), 0);
}

static int take(const struct station *station)
{
	if (station->kind == UNTIL)
		return weir_sem_acquire_until(input(station), 1, weir_after(50 * WEIR_US));
	if (station->kind == TRY)
		return weir_sem_try_acquire(input(station), 1);
	return weir_sem_acquire(input(station), 1);
}

static void *run_thread(void *argument)
{
	struct station *station = argument;

	while (station->left > 0) {
		int result = take(station);

		CHECK(result == 0 || result == -ETIMEDOUT || result == -EAGAIN);
		if (result == 0)
			pass_on(station);
		else if (result == -EAGAIN)
			(void)sched_yield();
	}
	return NULL;
}

static void run_async(struct station *station);

static void async_granted(struct weir_waiter *waiter, int result)
{
	struct station *station = (struct station *)(void *)waiter;

	CHECK_EQ(result, 0);
	pass_on(station);
	run_async(station);
}

/* Goes on until it has to wait or is done. */
static void run_async(struct station *station)
{
	while (station->left > 0) {
		int result = weir_sem_acquire_async(input(station), 1, &station->waiter,
						    async_granted);

		CHECK(result == 0 || result == 1);
		if (result == 1)
			return;
		pass_on(station);
	}
	__atomic_store_n(&station->done, true, __ATOMIC_RELEASE);
}

static void station_start(struct station *station)
{
	if (station->kind == ASYNC)
		run_async(station);
	else
		station->thread = start_thread(run_thread, station);
}

static void station_join(struct station *station)
{
	if (station->kind != ASYNC) {
		(void)pthread_join(station->thread, NULL);
		return;
	}
	while (!__atomic_load_n(&station->done, __ATOMIC_ACQUIRE))
		(void)sched_yield();
}

static uint64_t play(struct rng *rng)
{
	struct ring ring = { .size = rng_between(rng, 2, MOST_STATIONS),
			     .tokens = rng_between(rng, 1, 3) };
	struct station stations[MOST_STATIONS];

	for (uint32_t i = 0; i < ring.size; i++) {
		CHECK_EQ(weir_sem_init(&ring.sems[i], ring.tokens), 0);
		CHECK_EQ(weir_sem_acquire(&ring.sems[i], ring.tokens), 0);
		stations[i] = (struct station){
			.ring = &ring,
			.number = i,
			.kind = (enum kind)rng_below(rng, KINDS),
			.left = LAPS * ring.tokens,
		};
	}
	for (uint32_t i = 0; i < ring.size; i++)
		station_start(&stations[i]);
	CHECK_EQ(weir_sem_release(&ring.sems[0], ring.tokens), 0);
	for (uint32_t i = 0; i < ring.size; i++)
		station_join(&stations[i]);

	for (uint32_t i = 0; i < ring.size; i++) {
		struct weir_sem_stats stats;

		weir_sem_stats(&ring.sems[i], &stats);
		CHECK_EQ(stats.waiting, 0);
		CHECK_EQ(stats.free, i == 0 ? ring.tokens : 0);
		CHECK_EQ(stats.held, i == 0 ? 0 : ring.tokens);
	}
	if (ring.tokens == 1)
		CHECK_EQ(ring.passes, (uint64_t)LAPS * ring.size);
	return (uint64_t)LAPS * ring.size * ring.tokens;
}

int main(int argc, char **argv)
{
	uint64_t passes = 0;

	stress_begin(argc, argv, 3);
	while (stress_round()) {
		struct rng rng = stress_rng(0);

		passes += play(&rng);
	}
	(void)printf("%" PRIu64 " rings, %" PRIu64 " hand-offs\n", stress_rounds(), passes);
	return 0;
}

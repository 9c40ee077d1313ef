/* stress: strict order with real threads (P3), checked by tickets and not by time.
 *
 * Starvation: a heavy request among threads that take single permits as fast as they can. Whoever
 * came before it may be granted before it, at most one grant for each of those threads; nobody who
 * came after it may. FIFO: threads queue up one after the other with weights of which no two fit
 * together, and each must draw the turn of its place in the queue. */
#include "support/acquirer.h"
#include "support/stress.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

enum { MOST_THREADS = 8, HEAVY_REQUESTS = 50 };

/* ---- starvation ---- */

struct crowd {
	struct weir_sem sem;
	uint64_t tickets; /* drawn by the light ones, each after it was granted */
	bool stop;
};

static void *be_light(void *argument)
{
	struct crowd *crowd = argument;

	while (!__atomic_load_n(&crowd->stop, __ATOMIC_SEQ_CST)) {
		CHECK_EQ(weir_sem_acquire(&crowd->sem, 1), 0);
		(void)__atomic_add_fetch(&crowd->tickets, 1, __ATOMIC_SEQ_CST);
		CHECK_EQ(weir_sem_release(&crowd->sem, 1), 0);
	}
	return NULL;
}

struct heavy {
	struct weir_waiter waiter; /* first: the wake function is handed its address */
	struct crowd *crowd;
	uint64_t ticket_at_grant;
	bool granted;
};

static void heavy_granted(struct weir_waiter *waiter, int result)
{
	struct heavy *heavy = (struct heavy *)(void *)waiter;

	CHECK_EQ(result, 0);
	heavy->ticket_at_grant = __atomic_load_n(&heavy->crowd->tickets, __ATOMIC_SEQ_CST);
	__atomic_store_n(&heavy->granted, true, __ATOMIC_SEQ_CST);
}

/* Asks for all permits at once. An async request is known to be in the queue when the call returns,
 * so tickets drawn between then and its grant are of those who were there before it. */
static uint64_t ask_for_all(struct crowd *crowd, uint32_t permits)
{
	struct heavy heavy = { .crowd = crowd };
	int result = weir_sem_acquire_async(&crowd->sem, permits, &heavy.waiter, heavy_granted);
	uint64_t ticket_when_queued = __atomic_load_n(&crowd->tickets, __ATOMIC_SEQ_CST);
	uint64_t overtaken = 0;

	CHECK(result == 0 || result == 1);
	if (result == 1) {
		while (!__atomic_load_n(&heavy.granted, __ATOMIC_SEQ_CST))
			(void)sched_yield();
		if (heavy.ticket_at_grant > ticket_when_queued)
			overtaken = heavy.ticket_at_grant - ticket_when_queued;
	}
	CHECK_EQ(weir_sem_release(&crowd->sem, permits), 0);
	return overtaken;
}

static uint64_t starve(struct rng *rng)
{
	uint32_t size = rng_between(rng, 2, MOST_THREADS);
	uint32_t permits = rng_between(rng, 1, size);
	struct crowd crowd = { .tickets = 0 };
	pthread_t threads[MOST_THREADS];
	uint64_t worst = 0;

	CHECK_EQ(weir_sem_init(&crowd.sem, permits), 0);
	for (uint32_t i = 0; i < size; i++)
		threads[i] = start_thread(be_light, &crowd);
	for (int i = 0; i < HEAVY_REQUESTS; i++) {
		uint64_t overtaken = ask_for_all(&crowd, permits);

		CHECK(overtaken <= size);
		worst = overtaken > worst ? overtaken : worst;
	}
	__atomic_store_n(&crowd.stop, true, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < size; i++)
		(void)pthread_join(threads[i], NULL);
	return worst;
}

/* ---- FIFO ---- */

struct line {
	struct weir_sem sem;
	uint32_t turns; /* plain: the semaphore alone keeps it from being raced for */
};

struct member {
	struct line *line;
	uint32_t n;
	uint32_t place;
	pthread_t thread;
};

static void *stand_in_line(void *argument)
{
	struct member *member = argument;
	struct line *line = member->line;

	CHECK_EQ(weir_sem_acquire(&line->sem, member->n), 0);
	CHECK_EQ(++line->turns, member->place);
	CHECK_EQ(weir_sem_release(&line->sem, member->n), 0);
	return NULL;
}

static void queue_up(struct rng *rng)
{
	uint32_t permits = rng_between(rng, 1, 100);
	struct line line = { .turns = 0 };
	struct member members[MOST_THREADS];

	CHECK_EQ(weir_sem_init(&line.sem, permits), 0);
	CHECK_EQ(weir_sem_acquire(&line.sem, permits), 0);
	for (uint32_t i = 0; i < MOST_THREADS; i++) {
		members[i] = (struct member){
			.line = &line,
			.n = rng_between(rng, permits / 2 + 1, permits),
			.place = i + 1,
		};
		members[i].thread = start_thread(stand_in_line, &members[i]);
		wait_for_waiters(&line.sem, i + 1);
	}
	CHECK_EQ(weir_sem_release(&line.sem, permits), 0);
	for (int i = 0; i < MOST_THREADS; i++)
		(void)pthread_join(members[i].thread, NULL);
	CHECK_EQ(line.turns, MOST_THREADS);
}

int main(int argc, char **argv)
{
	uint64_t worst = 0;

	stress_begin(argc, argv, 3);
	while (stress_round()) {
		struct rng rng = stress_rng(0);
		uint64_t overtaken = starve(&rng);

		worst = overtaken > worst ? overtaken : worst;
		queue_up(&rng);
	}
	(void)printf("%" PRIu64 " rounds; a heavy request let at most %" PRIu64
		     " light ones pass, all of them before it in the queue\n",
		     stress_rounds(), worst);
	return 0;
}

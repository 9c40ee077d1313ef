/* stress: everything at once, at random (P1-P5).
 *
 * Each round is another semaphore, of another size and kind, with another number of threads that
 * acquire, try, wait for a while, wait without a stack, cancel and release, while somebody resizes
 * it, interrupts them with signals and in the end perhaps closes it. See storm.h for what is
 * checked. */
#include "storm.h"

#include "support/acquirer.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

/* Sets the pace of those who change things; nothing depends on it. */
static void pause_for(weir_time length)
{
	struct timespec pause = { .tv_nsec = length };

	(void)nanosleep(&pause, NULL);
}

/* ---- the meddler ---- */

static void check_snapshot(struct storm *storm)
{
	struct weir_sem_stats stats;

	weir_sem_stats(storm->sem, &stats);
	CHECK_EQ((uint64_t)stats.free + stats.held, (uint64_t)stats.limit + stats.owed);
	CHECK(stats.free == 0 || stats.owed == 0);
	CHECK(stats.held <= MOST_LIMIT);
}

static bool debt_is_paid(const struct storm *storm)
{
	struct weir_sem_stats stats;

	weir_sem_stats(storm->sem, &stats);
	return stats.owed == 0;
}

/* While it is paused (a limit of 0) nobody is refused, so the smallest limit in force is the other.
 */
static void resize(struct storm *storm, uint32_t limit, struct rng *rng)
{
	uint32_t largest = limit > storm->largest ? limit : storm->largest;
	uint32_t smallest = limit && limit < storm->smallest ? limit : storm->smallest;
	int result;

	ghost_set_bounds(storm, largest, smallest);
	result = weir_sem_resize(storm->sem, limit);
	CHECK(result == 0 || (result == -ESHUTDOWN && is_set(&storm->closing)));
	if (result < 0)
		return;
	for (int i = 0; i < 100 && !debt_is_paid(storm); i++)
		pause_for(WEIR_US);
	if (debt_is_paid(storm))
		ghost_set_bounds(storm, limit, limit ? limit : smallest);
	pause_for(rng_below(rng, 300) * WEIR_US);
}

void *meddler_run(void *argument)
{
	struct worker *self = argument;
	struct storm *storm = self->storm;

	while (!is_set(&storm->calm)) {
		check_snapshot(storm);
		if (storm->resized)
			resize(storm, rng_below(&self->rng, MOST_LIMIT + 1), &self->rng);
		if (storm->interrupted)
			(void)pthread_kill(storm->threads[rng_below(&self->rng, storm->workers)],
					   SIGUSR1);
		pause_for(rng_below(&self->rng, 100) * WEIR_US);
	}
	if (storm->resized)
		resize(storm, storm->limit, &self->rng);
	return NULL;
}

/* ---- a round ---- */

static void check_the_end(const struct storm *storm)
{
	const struct tally *seen = &storm->tally;
	struct weir_sem_stats stats;

	weir_sem_stats(storm->sem, &stats);
	/* P2: at rest nothing is held, nothing is queued, nothing is missing. */
	CHECK_EQ(storm->inside, 0);
	CHECK_EQ(stats.held, 0);
	CHECK_EQ(stats.waiting, 0);
	CHECK_EQ(stats.owed, 0);
	CHECK_EQ(stats.free, stats.limit);
	CHECK_EQ(stats.closed, storm->closed_in_the_end);
	if (!storm->closed_in_the_end)
		CHECK_EQ(stats.limit, storm->limit);
	CHECK_EQ(storm->exclusive, storm->exclusive_expected);

	/* P5: what the callers saw is what the semaphore counted. */
	CHECK_EQ(stats.timed_out, (uint32_t)seen->timed_out);
	CHECK_EQ(stats.cancelled, (uint32_t)seen->cancelled);
	CHECK(stats.granted_after_wait <= seen->granted);
	CHECK((stats.wait_total == 0) == (stats.wait_longest == 0));
	if (stats.counted) {
		CHECK_EQ(stats.granted_at_once + stats.granted_after_wait, seen->granted);
		CHECK(stats.peak_held <= MOST_LIMIT);
		CHECK(stats.peak_held > 0 || seen->granted == 0);
	}
}

static void storm_init(struct storm *storm, struct rng *rng)
{
	bool counted = rng_one_in(rng, 2);
	int error;

	*storm = (struct storm){
		.workers = rng_between(rng, 2, MOST_WORKERS),
		.limit = rng_between(rng, 1, rng_one_in(rng, 2) ? 2 : MOST_LIMIT),
		.resized = rng_one_in(rng, 2),
		.closed_in_the_end = rng_one_in(rng, 2),
		.interrupted = rng_one_in(rng, 2),
	};
	storm->largest = storm->limit;
	storm->smallest = storm->limit;
	storm->sem = &storm->embedded.sem;
	if (rng_one_in(rng, 2))
		error = weir_sem_new(storm->limit, counted ? WEIR_SEM_COUNTED : 0, &storm->sem);
	else if (counted)
		error = weir_sem_init_counted(&storm->embedded, storm->limit);
	else
		error = weir_sem_init(storm->sem, storm->limit);
	CHECK_EQ(error, 0);
}

static struct tally play(struct rng *rng)
{
	struct storm storm;
	struct worker workers[MOST_WORKERS];
	struct worker meddler = { .storm = &storm, .rng = stress_rng(MOST_WORKERS) };
	pthread_t meddling;

	storm_init(&storm, rng);
	for (uint32_t i = 0; i < storm.workers; i++) {
		workers[i] = (struct worker){ .storm = &storm, .rng = stress_rng(i) };
		storm.threads[i] = start_thread(worker_run, &workers[i]);
	}
	meddling = start_thread(meddler_run, &meddler);
	pause_for(rng_between(rng, 5, 50) * WEIR_MS);
	if (storm.closed_in_the_end) {
		set(&storm.closing);
		weir_sem_close(storm.sem);
	}
	/* The limit is back where it was before the workers are told, so none of them is left
	 * waiting for a semaphore that is paused. */
	set(&storm.calm);
	(void)pthread_join(meddling, NULL);
	set(&storm.stop);
	for (uint32_t i = 0; i < storm.workers; i++)
		(void)pthread_join(storm.threads[i], NULL);
	check_the_end(&storm);
	if (storm.sem != &storm.embedded.sem)
		weir_sem_unref(storm.sem);
	return storm.tally;
}

static void add(struct tally *sum, const struct tally *more)
{
	sum->granted += more->granted;
	sum->timed_out += more->timed_out;
	sum->cancelled += more->cancelled;
	sum->too_heavy += more->too_heavy;
	sum->shut_out += more->shut_out;
	sum->failed_tries += more->failed_tries;
	sum->checks += more->checks;
}

static void ignore(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = ignore }; /* without SA_RESTART */
	struct tally sum = { 0 };

	stress_begin(argc, argv, 5);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	while (stress_round()) {
		struct rng rng = stress_rng(MOST_WORKERS + 1);
		struct tally round = play(&rng);

		add(&sum, &round);
	}
	(void)printf("%" PRIu64 " storms: %" PRIu64 " granted (%" PRIu64
		     " checked against a limit), "
		     "%" PRIu64 " timed out, %" PRIu64 " cancelled, %" PRIu64 " too heavy, %" PRIu64
		     " shut out, %" PRIu64 " failed tries\n",
		     stress_rounds(), sum.granted, sum.checks, sum.timed_out, sum.cancelled,
		     sum.too_heavy, sum.shut_out, sum.failed_tries);
	return 0;
}

/* stress: tasks of two schedulers and a plain thread on one semaphore, in a storm of cancels and
 * completions from yet another thread.
 *
 * Checked: never more inside than the limit (P1); every wait has one of the outcomes it may have;
 * nothing is lost, for then somebody would wait for ever; what is counted fits (P2, P5). A root may
 * return before its tasks do, so that the end of a run is raced, too. */
#include "support/acquirer.h"
#include "support/stress.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <weir/weir.h>

enum { SCHEDULERS = 2, MOST_TASKS = 24, STEPS = 20, SLOTS = 8, MOST_LIMIT = 4 };

struct storm {
	struct weir_sem sem;
	uint32_t limit;
	uint32_t inside;
	uint32_t timed_out;
	uint32_t cancelled;
	uint64_t granted;
	uint32_t running; /* schedulers */
	uint32_t started; /* schedulers whose tasks may be cancelled */
	/* Promises on their way to whoever ends them: taken by exchange, with a handle each. */
	struct weir_future *slots[SLOTS];
	struct scheduler {
		struct storm *storm;
		uint32_t number;
		uint32_t size;
		bool hasty; /* its root does not wait for its tasks */
		struct weir_future *tasks[MOST_TASKS];
		pthread_t thread;
	} schedulers[SCHEDULERS];
};

struct actor {
	struct storm *storm;
	struct rng rng;
};

static void count(uint32_t *counter)
{
	(void)__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* ---- what tasks and the plain thread do ---- */

static void hold(struct actor *actor, uint32_t n)
{
	struct storm *storm = actor->storm;

	CHECK(__atomic_add_fetch(&storm->inside, n, __ATOMIC_RELAXED) <= storm->limit);
	(void)__atomic_add_fetch(&storm->granted, 1, __ATOMIC_RELAXED);
	if (rng_one_in(&actor->rng, 2))
		(void)weir_sleep(rng_below(&actor->rng, 3) * 10 * WEIR_US);
	(void)__atomic_sub_fetch(&storm->inside, n, __ATOMIC_RELAXED);
	CHECK_EQ(weir_sem_release(&storm->sem, n), 0);
}

static void use_semaphore(struct actor *actor)
{
	struct storm *storm = actor->storm;
	uint32_t n = rng_between(&actor->rng, 1, storm->limit);
	weir_time deadline = rng_one_in(&actor->rng, 2) ?
				     WEIR_NEVER :
				     weir_after(rng_below(&actor->rng, 100) * WEIR_US);
	int result = weir_sem_acquire_until(&storm->sem, n, deadline);

	CHECK(result == 0 || result == -ECANCELED ||
	      (result == -ETIMEDOUT && deadline != WEIR_NEVER));
	if (result == 0)
		hold(actor, n);
	else
		count(result == -ETIMEDOUT ? &storm->timed_out : &storm->cancelled);
}

/* Ends a promise in some way and drops the handle. */
static void end(struct weir_future *future, struct rng *rng)
{
	uint32_t way = rng_below(rng, 4);
	int result = way == 0 ? weir_fail(future, -EIO) :
		     way == 1 ? weir_cancel(future) :
				weir_complete(future, (intptr_t)future);

	CHECK_EQ(result, 0);
	weir_future_unref(future);
}

/* A promise that somebody will end. */
static struct weir_future *publish(struct actor *actor)
{
	struct weir_future **slot = &actor->storm->slots[rng_below(&actor->rng, SLOTS)];
	struct weir_future *future = weir_promise();
	struct weir_future *before;

	CHECK(future);
	before = __atomic_exchange_n(slot, weir_future_ref(future), __ATOMIC_ACQ_REL);
	if (before)
		end(before, &actor->rng);
	return future;
}

static void wait_for_promise(struct actor *actor)
{
	struct weir_future *future = publish(actor);
	bool timed = rng_one_in(&actor->rng, 2);
	intptr_t value = 0;
	int result = weir_wait(
		future, timed ? weir_after(rng_below(&actor->rng, 100) * WEIR_US) : WEIR_NEVER,
		&value);

	CHECK(result == 0 || result == -EIO || result == -ECANCELED ||
	      (timed && result == -ETIMEDOUT));
	if (result == 0)
		CHECK_EQ(value, (intptr_t)future);
	weir_future_unref(future);
}

static void wait_for_promises(struct actor *actor)
{
	struct weir_future *futures[3];
	bool race = rng_one_in(&actor->rng, 2);
	intptr_t values[3] = { 0 };
	size_t winner = 0;
	int result;

	for (int i = 0; i < 3; i++)
		futures[i] = publish(actor);
	result = race ? weir_race(futures, 3, WEIR_NEVER, &winner, values) :
			weir_gather(futures, 3, WEIR_NEVER, values);
	CHECK(result == 0 || result == -EIO || result == -ECANCELED);
	for (size_t i = 0; i < 3; i++) {
		if (result == 0 && (race ? i == winner : true))
			CHECK_EQ(values[race ? 0 : i], (intptr_t)futures[i]);
		weir_future_unref(futures[i]);
	}
}

static int child(void *arg, intptr_t *value)
{
	*value = (intptr_t)arg;
	return weir_yield();
}

static void use_child(struct actor *actor)
{
	struct weir_future *task = weir_spawn(child, actor);
	intptr_t value = 0;
	int result;

	CHECK(task);
	if (rng_one_in(&actor->rng, 3))
		CHECK_EQ(weir_cancel(task), 0);
	result = weir_wait(task, WEIR_NEVER, &value);
	CHECK(result == 0 || result == -ECANCELED);
	if (result == 0)
		CHECK_EQ(value, (intptr_t)actor);
	weir_future_unref(task);
}

static void step(struct actor *actor)
{
	bool shielded = rng_one_in(&actor->rng, 8);

	if (shielded)
		CHECK_EQ(weir_shield(true), 0);
	switch (rng_below(&actor->rng, 8)) {
	case 0:
		wait_for_promise(actor);
		break;
	case 1:
		wait_for_promises(actor);
		break;
	case 2:
		use_child(actor);
		break;
	case 3:
		(void)weir_yield();
		break;
	default:
		use_semaphore(actor);
	}
	if (shielded)
		CHECK_EQ(weir_shield(false), 0);
}

static int task(void *arg, intptr_t *value)
{
	struct scheduler *scheduler = arg;
	/* Each is another one: the number of those that have started tells them apart. */
	uint64_t salt = (uint64_t)scheduler->number * MOST_TASKS + scheduler->size++;
	struct actor actor = { scheduler->storm, stress_rng(salt) };
	uint32_t steps = rng_below(&actor.rng, STEPS);

	for (uint32_t i = 0; i < steps; i++)
		step(&actor);
	*value = (intptr_t)steps;
	return 0;
}

/* ---- who runs them ---- */

static int root(void *arg, intptr_t *value)
{
	struct scheduler *scheduler = arg;
	uint32_t size = scheduler->size;

	(void)value;
	scheduler->size = 0;
	for (uint32_t i = 0; i < size; i++) {
		scheduler->tasks[i] = weir_spawn(task, scheduler);
		CHECK(scheduler->tasks[i]);
	}
	(void)__atomic_add_fetch(&scheduler->storm->started, 1, __ATOMIC_RELEASE);
	if (scheduler->hasty)
		return weir_sleep(50 * WEIR_US);
	for (uint32_t i = 0; i < size; i++) {
		int result = weir_wait(scheduler->tasks[i], WEIR_NEVER, NULL);

		CHECK(result == 0 || result == -ECANCELED);
	}
	return 0;
}

static void *run_scheduler(void *argument)
{
	struct scheduler *scheduler = argument;
	struct weir_run_config config = { .stack_cache = 4 };

	CHECK_EQ(weir_run(root, scheduler, &config), 0);
	(void)__atomic_sub_fetch(&scheduler->storm->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_over(const struct storm *storm)
{
	return __atomic_load_n(&storm->running, __ATOMIC_ACQUIRE) == 0;
}

static void *run_plain_thread(void *argument)
{
	struct actor *actor = argument;

	while (!is_over(actor->storm))
		use_semaphore(actor);
	return NULL;
}

static void end_slot(struct storm *storm, uint32_t slot, struct rng *rng)
{
	struct weir_future *future = __atomic_exchange_n(&storm->slots[slot], NULL,
							 __ATOMIC_ACQ_REL);

	if (future)
		end(future, rng);
}

/* Cancels tasks and ends promises until all is over. */
static void meddle(struct actor *actor)
{
	struct storm *storm = actor->storm;

	while (!is_over(storm)) {
		struct scheduler *scheduler =
			&storm->schedulers[rng_below(&actor->rng, SCHEDULERS)];

		if (__atomic_load_n(&storm->started, __ATOMIC_ACQUIRE) == SCHEDULERS) {
			uint32_t i = rng_below(&actor->rng, MOST_TASKS);

			if (scheduler->tasks[i])
				CHECK_EQ(weir_cancel(scheduler->tasks[i]), 0);
		}
		for (int i = 0; i < 3; i++)
			end_slot(storm, rng_below(&actor->rng, SLOTS), &actor->rng);
		if (rng_one_in(&actor->rng, 4))
			(void)sched_yield();
	}
}

static void check_and_clean(struct storm *storm, struct rng *rng)
{
	struct weir_sem_stats stats;

	weir_sem_stats(&storm->sem, &stats);
	CHECK_EQ(storm->inside, 0);
	CHECK_EQ(stats.held, 0);
	CHECK_EQ(stats.waiting, 0);
	CHECK_EQ(stats.timed_out, storm->timed_out);
	/* A permit that was handed to a cancelled task and passed on counts as granted there. */
	CHECK(stats.cancelled <= storm->cancelled);
	for (uint32_t i = 0; i < SLOTS; i++)
		end_slot(storm, i, rng);
	for (int s = 0; s < SCHEDULERS; s++) {
		for (int i = 0; i < MOST_TASKS; i++)
			weir_future_unref(storm->schedulers[s].tasks[i]);
	}
}

static uint64_t play(struct rng *rng)
{
	struct storm storm = { .limit = rng_between(rng, 1, MOST_LIMIT), .running = SCHEDULERS };
	struct actor plain = { &storm, stress_rng(1000) };
	struct actor meddler = { &storm, stress_rng(1001) };
	pthread_t thread;

	CHECK_EQ(weir_sem_init(&storm.sem, storm.limit), 0);
	for (uint32_t i = 0; i < SCHEDULERS; i++) {
		storm.schedulers[i] = (struct scheduler){
			.storm = &storm,
			.number = i,
			.size = rng_between(rng, 1, MOST_TASKS),
			.hasty = rng_one_in(rng, 4),
		};
	}
	for (int i = 0; i < SCHEDULERS; i++)
		storm.schedulers[i].thread = start_thread(run_scheduler, &storm.schedulers[i]);
	thread = start_thread(run_plain_thread, &plain);
	meddle(&meddler);
	for (int i = 0; i < SCHEDULERS; i++)
		(void)pthread_join(storm.schedulers[i].thread, NULL);
	(void)pthread_join(thread, NULL);
	check_and_clean(&storm, rng);
	return storm.granted;
}

int main(int argc, char **argv)
{
	uint64_t granted = 0;

	stress_begin(argc, argv, 3);
	while (stress_round()) {
		struct rng rng = stress_rng(0);

		granted += play(&rng);
	}
	(void)printf("%" PRIu64 " storms, %" PRIu64 " grants\n", stress_rounds(), granted);
	return 0;
}

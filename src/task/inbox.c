/* task: the inbox: delivering what other threads left there, and watching for it. */
#include "base/clock.h"
#include "base/cpu.h"
#include "task/sched.h"

/* How an idle scheduler watches its inbox before it sleeps, for the reasons that park/thread.c
 * gives: turns of WEIR__RELAX, then of giving way to other threads, each for about as long as it
 * takes to wake a thread that sleeps. Otherwise two schedulers that hand over to each other, once
 * asleep, would find each other asleep for ever. */
static const uint32_t spins_most = 100;

void weir__inbox_deliver(struct weir__message *newest)
{
	struct weir__message *oldest = NULL;

	while (newest) {
		struct weir__message *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	while (oldest) {
		/* Delivered, it may be posted again or be gone. */
		struct weir__message *next = oldest->next;

		oldest->deliver(oldest);
		oldest = next;
	}
}

bool weir__inbox_look(struct weir__sched *sched)
{
	if (!WEIR__LOAD(&sched->inbox, __ATOMIC_RELAXED))
		return false;
	weir__inbox_deliver(WEIR__XCHG(&sched->inbox, NULL, __ATOMIC_ACQUIRE));
	return true;
}

/* Tasks that are told by their words alone, and not by way of the inbox: between two schedulers
 * that hand over to each other half as many cache lines go to and fro. They are not parked
 * meanwhile.
 *
 * Words do not say who was told first. But of those who wait for one thing the first is told first.
 * So they are taken from the first to wait to the last, and parked again from the last to the
 * first: when one is found to have been told, so have all before it, and whoever is told by way of
 * the inbox is so later. */
enum { WATCHED_MOST = 4 };
struct watch {
	struct weir__task *tasks[WATCHED_MOST]; /* in that order */
	uint32_t count;
};

static void watch_add(struct watch *watch, struct weir__task *task)
{
	uint32_t i = watch->count++;

	for (; i > 0 && watch->tasks[i - 1]->left_at > task->left_at; i--)
		watch->tasks[i] = watch->tasks[i - 1];
	watch->tasks[i] = task;
}

/* Whether all are watched now: if one is being told by way of the inbox, those after it are not. */
static bool watch_begin(struct watch *watch)
{
	uint32_t count = watch->count;

	for (watch->count = 0; watch->count < count; watch->count++)
		if (!step_back(watch->tasks[watch->count]->parking))
			return false;
	return true;
}

/* Leaves those who were told. */
static void watch_end(struct watch *watch)
{
	bool told[WATCHED_MOST] = { false };
	uint32_t count = watch->count;

	for (uint32_t i = count; i > 0; i--)
		told[i - 1] = !step_in(watch->tasks[i - 1]->parking);
	watch->count = 0;
	for (uint32_t i = 0; i < count; i++)
		if (told[i])
			watch->tasks[watch->count++] = watch->tasks[i];
}

static bool watch_sees(const struct watch *watch)
{
	bool found = false;

	for (uint32_t i = 0; i < watch->count; i++)
		found |= WEIR__LOAD(&watch->tasks[i]->parking->word, __ATOMIC_RELAXED) !=
			 WEIR__EMPTY;
	return found;
}

/* For a while; whether something came. */
static bool spin(struct weir__sched *sched, const struct watch *watch)
{
	uint32_t length = habit_length(&sched->spinning, spins_most);
	bool found = false;

	for (uint32_t i = 0; i < length && !found; i++) {
		WEIR__RELAX();
		found = watch_sees(watch) || WEIR__LOAD(&sched->inbox, __ATOMIC_RELAXED);
	}
	sched->ticks = weir__ticks();
	habit_learn(&sched->spinning, found, spins_most);
	return found;
}

bool weir__inbox_spin(struct weir__sched *sched)
{
	return spin(sched, &(struct watch){ .count = 0 }) && weir__inbox_look(sched);
}

static void make_ready(struct weir__sched *sched, struct watch *watch)
{
	for (uint32_t i = 0; i < watch->count; i++)
		ready_add(&sched->ready, watch->tasks[i]);
	watch->count = 0;
}

/* Where there are few tasks, all that wait; or else the last, whom those in the inbox precede. */
static bool watch_tasks(struct weir__sched *sched, struct weir__task *self)
{
	struct watch watch = { .count = 0 };
	bool all = sched->task_count <= WATCHED_MOST;
	bool begun, found;

	if (!all)
		watch_add(&watch, self);
	for (struct weir__task *task = sched->newest; all && task; task = task->older)
		if (task->parking)
			watch_add(&watch, task);
	begun = watch_begin(&watch);
	if (begun)
		(void)spin(sched, &watch);
	/* Parked again before anything is delivered: that may be a reason to disturb them. */
	watch_end(&watch);
	found = watch.count > 0;
	if (all)
		make_ready(sched, &watch);
	found |= weir__inbox_look(sched);
	make_ready(sched, &watch);
	return found || (!begun && weir__inbox_spin(sched));
}

bool weir__sched_watch(struct weir__sched *sched, struct weir__task *self)
{
	if (sched->is_virtual || sched_has_events(sched) || !weir__cpu_to_spare())
		return false;
	/* From here on this is the loop's part. A signal handler must not put those whom it tells
	 * before others who were told first and are not in the ready queue yet: its way is the
	 * inbox. */
	WEIR__POKE(&sched->current, NULL);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	sched->watched = !watch_tasks(sched, self);
	return !sched->watched;
}

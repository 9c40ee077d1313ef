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
 */
enum { WATCHED_MOST = 4 };
struct watch {
	struct weir__task *tasks[WATCHED_MOST];
	uint32_t count;
};

static void watch_add(struct watch *watch, struct weir__task *task)
{
	if (task->parking && step_back(task->parking))
		watch->tasks[watch->count++] = task;
}

static bool watch_sees(const struct watch *watch)
{
	bool found = false;

	for (uint32_t i = 0; i < watch->count; i++)
		found |= WEIR__LOAD(&watch->tasks[i]->parking->word, __ATOMIC_RELAXED) !=
			 WEIR__EMPTY;
	return found;
}

static void watch_end(const struct watch *watch, struct weir__sched *sched)
{
	for (uint32_t i = 0; i < watch->count; i++)
		if (!step_in(watch->tasks[i]->parking))
			ready_add(&sched->ready, watch->tasks[i]);
}

/* Whether something came. The tasks are parked again before anything is delivered, for that may be
 * a reason to disturb them. */
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
	watch_end(watch, sched);
	return weir__inbox_look(sched) || found;
}

bool weir__inbox_spin(struct weir__sched *sched)
{
	return spin(sched, &(struct watch){ .count = 0 });
}

bool weir__sched_watch(struct weir__sched *sched, struct weir__task *self)
{
	struct watch watch = { .count = 0 };

	if (sched->is_virtual || sched_has_events(sched) || !weir__cpu_to_spare())
		return false;
	if (sched->task_count > WATCHED_MOST) {
		watch_add(&watch, self);
	} else {
		for (struct weir__task *task = sched->newest; task; task = task->older)
			watch_add(&watch, task);
	}
	sched->watched = !spin(sched, &watch);
	return !sched->watched;
}

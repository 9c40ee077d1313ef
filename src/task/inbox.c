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

/* Watches the inbox and, beside it, a word that is EMPTY, or NULL. Whether something came. */
static bool spin(struct weir__sched *sched, const uint32_t *word)
{
	uint32_t length = habit_length(&sched->spinning, spins_most);
	bool found = false;

	for (uint32_t i = 0; i < length && !found; i++) {
		WEIR__RELAX();
		found = (word && WEIR__LOAD(word, __ATOMIC_RELAXED) != WEIR__EMPTY) ||
			WEIR__LOAD(&sched->inbox, __ATOMIC_RELAXED);
	}
	sched->ticks = weir__ticks();
	habit_learn(&sched->spinning, found, spins_most);
	return found;
}

bool weir__inbox_spin(struct weir__sched *sched)
{
	return spin(sched, NULL) && weir__inbox_look(sched);
}

/* While the task is not parked it is told by its word alone, and not by way of the inbox: between
 * two schedulers that hand over to each other half as many cache lines go to and fro. It is parked
 * again before anything is delivered, for that may be a reason to disturb it. */
static bool watch_word(struct weir__sched *sched, struct weir__task *task)
{
	bool found = spin(sched, &task->parking->word);

	if (!step_in(task->parking))
		weir__sched_ready(task);
	(void)weir__inbox_look(sched);
	return found;
}

bool weir__sched_watch(struct weir__sched *sched, struct weir__task *task)
{
	bool found;

	if (sched->is_virtual || sched_has_events(sched) || !weir__cpu_to_spare())
		return false;
	found = step_back(task->parking) ? watch_word(sched, task) : weir__inbox_spin(sched);
	sched->watched = !found;
	return found;
}

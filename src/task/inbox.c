/* task: the inbox: what other threads leave there, delivering it, and watching for it. */
#include "base/clock.h"
#include "base/cpu.h"
#include "task/sched.h"

/* How an idle scheduler watches its inbox before it sleeps, for the reasons that park/thread.c
 * gives: turns of WEIR__RELAX, then of giving way to other threads. */
static const uint32_t spins_most = 100;

/* A call is told from a message by its odd address. */
static struct weir__message *call_of(struct weir__parking *parking)
{
	return (struct weir__message *)(void *)((char *)parking + 1);
}

static struct weir__parking *called(struct weir__message *message)
{
	return (uintptr_t)message & 1 ? (struct weir__parking *)(void *)((char *)message - 1) :
					NULL;
}

void weir__inbox_post(struct weir__sched *sched, struct weir__message *message)
{
	struct weir__message *newest = NULL; /* mostly; to look first would fetch the line twice */

	do {
		message->next = newest == &sched->marker ? NULL : newest;
	} while (!WEIR__CAS(&sched->inbox, &newest, message, __ATOMIC_RELEASE));
	if (newest == &sched->marker)
		weir__bell_ring(&sched->bell);
}

static void answer(struct weir__parking *parking)
{
	if (parking->kind && parking->kind->expect)
		parking->kind->expect(parking);
	sched_notify(sched_of(parking), parking);
}

static void deliver_call(struct weir__message *message)
{
	answer((struct weir__parking *)(void *)((char *)message -
						offsetof(struct weir__parking, message)));
}

int weir__inbox_call(struct weir__sched *sched, struct weir__parking *parking)
{
	struct weir__message *newest = NULL;

	/* Only where there is nothing yet: a call has no place for what is below it. */
	if (!WEIR__CAS(&sched->inbox, &newest, call_of(parking), __ATOMIC_RELEASE)) {
		parking->message.deliver = deliver_call;
		weir__inbox_post(sched, &parking->message);
	}
	return 0;
}

void weir__inbox_deliver(struct weir__message *newest)
{
	struct weir__message *oldest = NULL;

	while (newest && !called(newest)) {
		struct weir__message *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	if (newest)
		answer(called(newest));
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

bool weir__inbox_spin(struct weir__sched *sched)
{
	uint32_t length = habit_length(&sched->spinning, spins_most);
	bool found = false;

	/* Now rather than in the end: who comes is not to wait for it. */
	sched->ticks = weir__ticks();
	for (uint32_t i = 0; i < length && !found; i++) {
		WEIR__RELAX();
		found = weir__inbox_look(sched);
	}
	habit_learn(&sched->spinning, found, spins_most);
	return found;
}

bool weir__sched_watch(struct weir__sched *sched)
{
	if (sched->is_virtual || sched_has_events(sched) || !weir__cpu_to_spare())
		return false;
	sched->watched = !weir__inbox_spin(sched);
	return !sched->watched;
}

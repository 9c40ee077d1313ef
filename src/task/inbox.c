/* task: the inbox: what other threads leave there, delivering it, and watching for it. */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/hot.h"
#include "task/sched.h"

/* How an idle scheduler watches its inbox before it sleeps, for the reasons that park/thread.c
 * gives: turns of WEIR__RELAX, then of giving way to other threads. */
static const uint32_t spins_most = 100;

/* Whom this thread let through last among another one's tasks: only the address, for he may be
 * gone. */
static WEIR__TLS const struct weir__parking *called_last;

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

/* Whether the task is to be made ready. */
static inline bool answer(struct weir__parking *parking)
{
	if (parking->kind && parking->kind->expect)
		parking->kind->expect(parking);
	return parking_notify(parking);
}

static void answer_later(struct weir__parking *parking)
{
	if (answer(parking))
		ready_add(&sched_of(parking)->ready, parking->self);
}

static void deliver_call(struct weir__message *message)
{
	answer_later((struct weir__parking *)(void *)((char *)message -
						      offsetof(struct weir__parking, message)));
}

int weir__inbox_call(struct weir__sched *sched, struct weir__parking *parking)
{
	struct weir__message *newest = NULL;

	called_last = parking;
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
		answer_later(called(newest));
	while (oldest) {
		/* Delivered, it may be posted again or be gone. */
		struct weir__message *next = oldest->next;

		oldest->deliver(oldest);
		oldest = next;
	}
}

/* What is there, taken but not delivered; or NULL. */
static inline struct weir__message *take(struct weir__sched *sched)
{
	if (!WEIR__LOAD(&sched->inbox, __ATOMIC_RELAXED))
		return NULL;
	return WEIR__XCHG(&sched->inbox, NULL, __ATOMIC_ACQUIRE);
}

bool weir__inbox_look(struct weir__sched *sched)
{
	struct weir__message *newest = take(sched);

	weir__inbox_deliver(newest);
	return newest != NULL;
}

/* The same of what comes in a while. */
static inline struct weir__message *spin(struct weir__sched *sched)
{
	uint32_t length = habit_length(&sched->spinning, spins_most);
	struct weir__message *newest = NULL;

	/* Now rather than in the end: who comes is not to wait for it. */
	sched->ticks = weir__ticks();
	for (uint32_t i = 0; i < length && !(newest = take(sched)); i++)
		WEIR__RELAX();
	habit_learn(&sched->spinning, newest != NULL, spins_most);
	return newest;
}

bool weir__inbox_spin(struct weir__sched *sched)
{
	struct weir__message *newest = spin(sched);

	weir__inbox_deliver(newest);
	return newest != NULL;
}

/* The way from here to the task that was called is as short as can be, for another processor waits
 * for what it will do. */
WEIR__HOT struct weir__task *weir__sched_watch(struct weir__sched *sched, struct weir__task *self)
{
	struct weir__message *newest;
	struct weir__parking *parking;

	if (sched->is_virtual || sched_has_events(sched) || !weir__cpu_to_spare())
		return NULL;
	newest = spin(sched);
	sched->watched = !newest;
	/* He waits again in the very same place, mostly, and is the next to be let through. To find
	 * that out is to fetch two lines, one after the other, from the other processor's cache;
	 * to guess it, one at a time when there is nothing to wait for yet. */
	if (newest)
		expect_change(called_last);
	/* The processor takes that for granted, and goes on before it has seen what came. */
	if (newest == call_of(self->parking))
		return answer(self->parking) ? self : NULL;
	parking = called(newest);
	if (parking)
		return answer(parking) ? parking->self : NULL;
	weir__inbox_deliver(newest);
	return NULL;
}

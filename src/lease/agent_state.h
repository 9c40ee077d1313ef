/* lease: what the files of the agent share: agent.c, and below it role.c, timer.c and
 * thread.c. */
#ifndef WEIR_LEASE_AGENT_STATE_H
#define WEIR_LEASE_AGENT_STATE_H

#include "base/habit.h"
#include "base/poller.h"
#include "base/worker.h"
#include "lease/agent.h"
#include "lease/glance.h"

struct weir__op_queue {
	struct weir__op *first;
	struct weir__op *last;
};

enum { WEIR__ROOMS = 8 };

struct weir__agent {
	/* Guards all that follows and is not said to be otherwise. Nothing of an engine is called
	 * while it is held. */
	struct weir__lock lock;
	const struct weir__agent_work *work;
	void *self;
	struct weir__worker thread;
	void (*run)(void *agent); /* what it does */
	uint32_t forks;           /* of which process it is */
	bool started;             /* read without the lock, too */
	bool stopping;

	/* What waits to be served. */
	struct weir__op_queue inbox;
	struct weir__op_queue withdrawn;
	uint32_t asked;   /* operations and withdrawals; read without the lock, too */
	bool withdrawing; /* serve() has a list of withdrawals */
	uint32_t batches; /* a futex: how many such lists it has had */

	/* The thread's sleep. */
	struct weir__poller bed;
	bool asleep;
	weir_time wakes_at; /* while asleep */
	bool lately;        /* it has served since it last slept or lingered */
	struct weir__habit lingering;
	uint32_t turns;

	/* timer.c */
	struct weir__heap timers;
	struct weir__timer *firing;
	uint32_t fired; /* a futex: how many functions of timers have returned */

	/* tell.c: where threads sleep that are to be told. */
	struct {
		uint32_t news;  /* a futex: how often somebody there was told */
		uint32_t taken; /* bits: the places that somebody has; without the lock */
		uint32_t tell;  /* bits: who is to be told; in the role */
	} rooms[WEIR__ROOMS];
	bool any_to_tell; /* in the role */

	/* role.c: the role. */
	bool taken;
	uint32_t wanted;   /* how many wait until it is given back */
	uint32_t returned; /* a futex: how often it was */
	uint32_t crowd;    /* CROWD when a batch was of several, less one for each that was not */

	/* role.c: descriptors. */
	struct weir__poller watching;
	uint32_t watches;           /* in the role */
	uint32_t unwatched;         /* how many have ended; read without the role, too */
	bool led;                   /* somebody who waits for an answer waits for them */
	bool deaf;                  /* the thread's poller is not told of them */
	uint32_t leads;             /* how often somebody has led */
	uint32_t leads_seen;        /* when the thread last went to sleep */
	uint32_t deafer;            /* how often the time for which it stays deaf was doubled */
	uint32_t followers;         /* others that wait for answers */
	struct weir__glance glance; /* whoever leads */
	uint32_t company; /* CROWD when there were others, less one for each time there were not */
};

enum { WEIR__CROWD = 16 };

/* All with the lock held. Takes the role, as soon as it is free; gives it back, and rings for the
 * agent's thread if something has come meanwhile. */
void weir__role_take(struct weir__agent *agent);
void weir__role_give(struct weir__agent *agent);
/* Whether the caller may serve the operation itself, at once; and does so. */
bool weir__role_may_borrow(const struct weir__agent *agent, const struct weir__op *op);
void weir__role_borrow(struct weir__agent *agent, struct weir__op *op);
/* In the role: calls the functions of descriptors that have something to say, unless somebody else
 * does that. */
void weir__role_look(struct weir__agent *agent);

/* In the role: until the second call, those who are to be told are only noted. Then all are. */
void weir__agent_hold_back(struct weir__agent *agent);
void weir__agent_tell_all(struct weir__agent *agent);

/* In the agent's thread, with the lock held: until when to sleep, if there is nothing to do before
 * `time`. */
weir_time weir__role_sleep_until(struct weir__agent *agent, weir_time time);

/* In the agent's thread, in the role, with the lock held: calls the functions of the timers that
 * are due; what they set for now waits for the next turn, so that the inbox and the descriptors
 * have theirs. Whether there was one. */
bool weir__agent_fire(struct weir__agent *agent);

/* thread.c. With the lock held: rings for the agent's thread, if that sleeps beyond `time`. */
void weir__agent_wake(struct weir__agent *agent, weir_time time);
/* Has it wake up at that time, if that is sooner. */
void weir__agent_hasten(struct weir__agent *agent, weir_time boottime);

static inline bool weir__agent_is_elsewhere(const struct weir__agent *agent)
{
	return agent->forks != weir__forks();
}

static inline bool weir__agent_has_work(const struct weir__agent *agent)
{
	return agent->inbox.first != NULL || agent->withdrawn.first != NULL || agent->stopping;
}

#endif

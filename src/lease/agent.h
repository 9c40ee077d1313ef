/* lease: the agent, the one thread of a store that works in the background.
 *
 * It takes operations from any thread in batches, waits for descriptors and for times, and calls
 * the engine for each, one at a time, so an engine that does everything here needs no lock.
 *
 *     caller --submit--> inbox ----\
 *     kernel --ready---> watches ---+--> the agent's thread --> the engine's functions
 *     clock  ----------> timers ----/
 *
 * A thread that asks does some of that itself, in place of the agent's thread (role.c): it serves
 * its own operation while nobody else works, and then waits for the descriptors rather than for the
 * agent to tell it. Timers are the agent's thread's alone.
 *
 * The thread starts when it is first needed, with all signals blocked. The bell is rung only when
 * the agent sleeps. Times are on CLOCK_BOOTTIME, which goes on while the machine is suspended.
 */
#ifndef WEIR_LEASE_AGENT_H
#define WEIR_LEASE_AGENT_H

#include "base/heap.h"
#include "base/lock.h"
#include "lease/engine.h"

struct weir__agent;

/* Something to do at a time. All zero is one that is not set. */
struct weir__timer {
	struct weir__heap_node node;
	bool set;
	void (*fire)(struct weir__timer *timer); /* in the agent's thread; may set it again */
};

/* A descriptor to wait for. All zero, but for fd = -1, is one that is not watched.
 *
 * `ready` may come for nothing: two threads may have heard of the same event, and the first of them
 * has dealt with it. So the descriptor is one that never blocks. */
struct weir__watch {
	int fd;
	void (*ready)(struct weir__watch *watch, uint32_t events);
};

/* What the agent calls. */
struct weir__agent_work {
	/* Everything that came since the last time, in the order in which it came: operations, and
	 * those that are to be withdrawn (which may be in the same batch). Either may be NULL, not
	 * both. */
	void (*serve)(void *self, struct weir__op *operations, struct weir__op *withdrawn);
	/* What it serves is answered by others, by way of a descriptor: those come first, and there
	 * is no use in looking out for the next question of whoever was asked. */
	bool distant;
};

/* `self` goes to serve(). 0 or a negative errno. */
int weir__agent_new(const struct weir__agent_work *work, void *self,
		    struct weir__agent **ret_agent);

/* Starts the thread unless it runs. What is submitted does that by itself, and is answered with the
 * error when it fails; whoever relies on a timer calls this first. 0; a negative errno; -ESHUTDOWN
 * in a child after a fork. */
int weir__agent_start(struct weir__agent *agent);

/* Serves what has been submitted, then stops the thread and frees it. What comes later is answered
 * -ESHUTDOWN; so is every call in a child after a fork. Timers that are set are forgotten. NULL is
 * fine. */
void weir__agent_stop(struct weir__agent *agent);

/* Whether what it serves is answered from afar. */
bool weir__agent_is_distant(const struct weir__agent *agent);

/* Whether the caller is the agent's thread. */
bool weir__agent_is_self(const struct weir__agent *agent);

/* From any thread. */
void weir__agent_submit(struct weir__agent *agent, struct weir__op *op);
void weir__agent_withdraw(struct weir__agent *agent, struct weir__op *op);
/* After the answer, before the operation's memory is used for something else: takes back a
 * withdrawal that the agent has not looked at. What it has looked at it answers afterwards. */
void weir__agent_forget(struct weir__agent *agent, struct weir__op *op);

/* op.c's, of an operation whose `agent` this is. Waits for its answer by doing the agent's work, up
 * to the deadline; false: others do that, so wait to be told. */
bool weir__agent_lead(struct weir__agent *agent, const struct weir__op *op, weir_time deadline);
/* The answer to an operation that somebody leads for is there. */
void weir__agent_call_leader(struct weir__agent *agent, const struct weir__op *op);
/* Somebody begins or ends to wait until it is told. */
void weir__agent_follow(struct weir__agent *agent, bool begins);
/* tell.c: that wait, of a thread: a place to sleep; the sleep, until it was told or for no reason,
 * 0 or a negative errno as of weir__futex_wait; and giving the place back. */
uint32_t weir__agent_lie_down(struct weir__agent *agent);
int weir__agent_sleep(struct weir__agent *agent, const struct weir__op *op, uint32_t place,
		      weir_time deadline);
void weir__agent_get_up(struct weir__agent *agent, uint32_t place);
/* The answer to the operation of whoever sleeps there has come; `progress` is that operation's, of
 * which only the address is used. */
void weir__agent_tell(struct weir__agent *agent, uint32_t place, const uint32_t *progress);

/* From any thread. Setting one that is set moves it. After unset has returned the timer is not
 * firing and will not, unless it is the timer's own function that calls. */
void weir__agent_timer_set(struct weir__agent *agent, struct weir__timer *timer,
			   weir_time boottime);
void weir__agent_timer_unset(struct weir__agent *agent, struct weir__timer *timer);

/* In the agent's role, or before it starts. events as for epoll, which tells again and again until
 * they are over (not EPOLLET). 0 or a negative errno. Unwatch
 * sets fd to -1 and leaves the closing to the caller, afterwards; one that is not watched is fine.
 * A watch may be ended by any of the agent's functions, but its memory must stay until the function
 * that ended it has returned to the agent. */
int weir__agent_watch(struct weir__agent *agent, struct weir__watch *watch, uint32_t events);
void weir__agent_unwatch(struct weir__agent *agent, struct weir__watch *watch);

#endif

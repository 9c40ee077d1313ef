/* lease: the agent's thread: how it begins, and how it is woken up. See agent.h.
 *
 * SLEEP. The agent's thread says `asleep` and until when, under the lock, before it waits. Whoever
 * brings something that is wanted sooner takes the word back and rings, or sets the timer that ends
 * the sleep. So a bell is rung once for each sleep at most, and a timer that is later than the next
 * one costs no system call. A timer that is unset leaves the agent to wake up for nothing at its
 * time, which is cheaper than to tell it.
 */
#include <errno.h>

#include "lease/agent_state.h"

int weir__agent_start(struct weir__agent *agent)
{
	int error = 0;

	if (weir__agent_is_elsewhere(agent))
		return -ESHUTDOWN;
	if (WEIR__LOAD(&agent->started, __ATOMIC_ACQUIRE))
		return 0;
	weir__lock(&agent->lock);
	if (!agent->started) {
		error = weir__worker_start(&agent->thread, "weir-agent", agent->run, agent);
		if (error == 0)
			WEIR__STORE(&agent->started, true, __ATOMIC_RELEASE);
	}
	weir__unlock(&agent->lock);
	return error;
}

bool weir__agent_is_self(const struct weir__agent *agent)
{
	return WEIR__LOAD(&agent->started, __ATOMIC_ACQUIRE) &&
	       weir__worker_is_self(&agent->thread);
}

void weir__agent_wake(struct weir__agent *agent, weir_time time)
{
	/* Whoever has the role looks when it gives it back. */
	if (!agent->asleep || agent->taken || time >= agent->wakes_at)
		return;
	agent->asleep = false;
	weir__poller_ring(&agent->bed);
}

void weir__agent_hasten(struct weir__agent *agent, weir_time boottime)
{
	if (!agent->asleep || boottime >= agent->wakes_at)
		return;
	agent->wakes_at = boottime;
	weir__poller_set_timer(&agent->bed, boottime);
}

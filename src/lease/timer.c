/* lease: the agent's timers. See agent.h. */
#include <errno.h>

#include "base/boottime.h"
#include "base/futex.h"
#include "lease/agent_state.h"

static struct weir__timer *timer_of(struct weir__heap_node *node)
{
	return (struct weir__timer *)(void *)((char *)node - offsetof(struct weir__timer, node));
}

bool weir__agent_fire(struct weir__agent *agent)
{
	weir_time now = agent->timers.first != NULL ? weir__boottime() : 0;
	bool any = false;

	while (agent->timers.first != NULL && agent->timers.first->time <= now) {
		struct weir__timer *timer = timer_of(agent->timers.first);

		weir__heap_remove(&agent->timers, &timer->node);
		timer->set = false;
		agent->firing = timer;
		weir__unlock(&agent->lock);
		timer->fire(timer); /* and it may be gone */
		weir__lock(&agent->lock);
		agent->firing = NULL;
		(void)WEIR__ADD(&agent->fired, 1, __ATOMIC_RELEASE);
		weir__futex_wake(&agent->fired, INT32_MAX);
		any = true;
	}
	return any;
}

void weir__agent_timer_set(struct weir__agent *agent, struct weir__timer *timer, weir_time boottime)
{
	if (weir__agent_start(agent) == -ESHUTDOWN)
		return;
	weir__lock(&agent->lock);
	if (timer->set)
		weir__heap_remove(&agent->timers, &timer->node);
	weir__heap_add(&agent->timers, &timer->node, boottime);
	timer->set = true;
	weir__agent_hasten(agent, boottime);
	weir__unlock(&agent->lock);
}

void weir__agent_timer_unset(struct weir__agent *agent, struct weir__timer *timer)
{
	if (weir__agent_is_elsewhere(agent))
		return;
	weir__lock(&agent->lock);
	if (timer->set) {
		weir__heap_remove(&agent->timers, &timer->node);
		timer->set = false;
	}
	while (agent->firing == timer && !weir__agent_is_self(agent)) {
		uint32_t fired = WEIR__LOAD(&agent->fired, __ATOMIC_ACQUIRE);

		weir__unlock(&agent->lock);
		(void)weir__futex_wait(&agent->fired, fired, WEIR_NEVER);
		weir__lock(&agent->lock);
		/* Its function may have set it again. */
		if (timer->set) {
			weir__heap_remove(&agent->timers, &timer->node);
			timer->set = false;
		}
	}
	weir__unlock(&agent->lock);
}

/* lease: who does the agent's work. See agent.h.
 *
 * THE ROLE. Whoever calls the engine's functions has the agent's role, one at a time. While nobody
 * has it, a thread that asks serves its operation itself, instead of waking up another thread and
 * being woken up by it. Not while a crowd asks: each would only serve itself, and not all at once.
 * Those who must have the role (the agent's thread, and whoever leads) are not overtaken by those.
 * What comes meanwhile is left to the agent's thread, which is rung for it when the role is given
 * back. A thread with a small stack neither serves nor leads: what the engines' libraries need of
 * it is not ours to know.
 *
 * LEADING. A thread that waits for an answer waits for the descriptors in place of the agent's
 * thread, so that the news that it waits for wakes up nobody else. The agent's thread sleeps in a
 * poller of its own, which hears of the descriptors' poller unless somebody leads. One leads; those
 * who come meanwhile wait to be told, and when there were some of late nobody leads, for then the
 * agent's thread tells many at once. Timers are the agent's thread's alone: what they call may be
 * the program's own function.
 *
 * DEAFNESS. Whoever has led often leads again at once, and has sent its next question before: were
 * the agent's thread to hear again in between, the reply would wake it up, too. So it stays deaf
 * until nobody has led for a while, or somebody waits to be told. News that come meanwhile wait for
 * as long. To see whether somebody has led it must wake up, in the midst of what those do, so the
 * while is doubled a few times as long as somebody has.
 *
 * THE GLANCE. Whoever leads right after a question was sent may look for the answer again and again
 * before it sleeps, where that was found to be quicker (glance.h): as long as a sleep and a wake-up
 * may take, and lets others run in between. What comes after the first news is the wait for a
 * grant, and that is slept through.
 *
 * OLD NEWS. Between a leader's learning of descriptors and its having the role, another one may end
 * a watch. Then it asks again; what is there to be read is there still.
 */
#include <weir/task.h>

#include "base/boottime.h"
#include "base/cpu.h"
#include "base/futex.h"
#include "lease/agent_state.h"
#include "lease/op.h"

enum {
	EVENTS = 16,
	DEAFEST = 3,      /* how often that is doubled */
	ROOM = 64 * 1024, /* of stack, for what an engine and its libraries do */
};

static const weir_time deaf_least = WEIR_MS; /* after somebody has led */
static const weir_time glance_most = 200 * WEIR_US;

/* ---- the role -------------------------------------------------------------------------------- */

void weir__role_take(struct weir__agent *agent)
{
	agent->wanted++;
	while (agent->taken) {
		uint32_t returned = WEIR__LOAD(&agent->returned, __ATOMIC_ACQUIRE);

		weir__unlock(&agent->lock);
		(void)weir__futex_wait(&agent->returned, returned, WEIR_NEVER);
		weir__lock(&agent->lock);
	}
	agent->wanted--;
	agent->taken = true;
}

void weir__role_give(struct weir__agent *agent)
{
	agent->taken = false;
	if (agent->wanted != 0) {
		(void)WEIR__ADD(&agent->returned, 1, __ATOMIC_RELEASE);
		weir__futex_wake(&agent->returned, 1);
	}
	if (weir__agent_has_work(agent))
		weir__agent_wake(agent, 0);
}

/* A task does not borrow it: others need its thread, and its stack is small. */
bool weir__role_may_borrow(const struct weir__agent *agent, const struct weir__op *op)
{
	return op->agent == agent && !agent->taken && agent->wanted == 0 && agent->crowd == 0 &&
	       !weir__agent_has_work(agent) && weir_self() == NULL && weir__errand_has_room(ROOM);
}

void weir__role_borrow(struct weir__agent *agent, struct weir__op *op)
{
	struct weir__errand errand;

	agent->taken = true;
	weir__unlock(&agent->lock);
	op->next = NULL;
	weir__errand_begin(&errand);
	agent->work->serve(agent->self, op, NULL);
	weir__errand_end(&errand);
	weir__lock(&agent->lock);
	weir__role_give(agent);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

int weir__agent_watch(struct weir__agent *agent, struct weir__watch *watch, uint32_t events)
{
	int error = weir__poller_add(&agent->watching, watch->fd, events, watch);

	if (error == 0)
		agent->watches++;
	return error;
}

void weir__agent_unwatch(struct weir__agent *agent, struct weir__watch *watch)
{
	if (watch->fd < 0)
		return;
	weir__poller_remove(&agent->watching, watch->fd);
	agent->watches--;
	watch->fd = -1;
	/* Afterwards: who has seen this number has not heard of the descriptor since. */
	(void)WEIR__ADD(&agent->unwatched, 1, __ATOMIC_RELEASE);
}

static void call(struct weir__agent *agent, const struct weir__poll_event *events, int count)
{
	weir__agent_hold_back(agent);
	for (int i = 0; i < count; i++) {
		struct weir__watch *watch = events[i].data;

		/* One function may end another's watch; then its event is not for it any more. */
		if (watch->fd >= 0)
			watch->ready(watch, events[i].events);
	}
	weir__agent_tell_all(agent);
}

void weir__role_look(struct weir__agent *agent)
{
	struct weir__poll_event events[EVENTS];

	if (agent->led)
		return;
	weir__unlock(&agent->lock);
	call(agent, events, weir__poller_wait(&agent->watching, 0, events, EVENTS));
	weir__lock(&agent->lock);
}

/* ---- leading --------------------------------------------------------------------------------- */

/* The operation that this thread leads for. */
static WEIR__TLS const struct weir__op *led_for;

static void hear(struct weir__agent *agent, bool hear)
{
	if (agent->deaf != hear)
		return;
	agent->deaf = !hear;
	weir__poller_hear_other(&agent->bed, &agent->watching, agent, hear);
}

/* How long it is deaf after somebody has led. */
static weir_time deaf_until(const struct weir__agent *agent)
{
	return weir__time_add(weir__boottime(), deaf_least << agent->deafer);
}

weir_time weir__role_sleep_until(struct weir__agent *agent, weir_time time)
{
	weir_time again;

	if (!agent->deaf)
		return time;
	if (agent->leads != agent->leads_seen) {
		agent->leads_seen = agent->leads;
		if (agent->deafer < DEAFEST)
			agent->deafer++;
	} else if (!agent->led) {
		agent->deafer = 0;
		hear(agent, true);
		return time;
	}
	if (agent->led)
		return time;
	again = deaf_until(agent);
	return again < time ? again : time;
}

static bool begin(struct weir__agent *agent)
{
	bool lead;

	weir__lock(&agent->lock);
	if (agent->led || agent->followers != 0)
		agent->company = WEIR__CROWD;
	else if (agent->company != 0)
		agent->company--;
	lead = !agent->led && agent->company == 0;
	if (lead) {
		agent->led = true;
		hear(agent, false);
	}
	weir__unlock(&agent->lock);
	return lead;
}

static void end(struct weir__agent *agent)
{
	weir__lock(&agent->lock);
	agent->led = false;
	agent->leads++;
	if (agent->followers != 0)
		hear(agent, true);
	else
		weir__agent_hasten(agent, deaf_until(agent));
	weir__unlock(&agent->lock);
}

static int look(struct weir__agent *agent, const struct weir__op *op,
		struct weir__poll_event *events)
{
	weir_time until = weir__boottime() + glance_most;
	int count;

	do {
		weir__cpu_yield();
		count = weir__poller_wait(&agent->watching, 0, events, EVENTS);
	} while (count == 0 && !weir__op_is_answered(op) && weir__boottime() < until);
	return count;
}

/* Whether there were news. */
static bool watch_once(struct weir__agent *agent, const struct weir__op *op, weir_time deadline,
		       bool looks)
{
	struct weir__poll_event events[EVENTS];
	uint32_t unwatched = WEIR__LOAD(&agent->unwatched, __ATOMIC_ACQUIRE);
	int count = looks ? look(agent, op, events) :
			    weir__poller_wait(&agent->watching, deadline, events, EVENTS);

	if (count == 0)
		return false;
	weir__lock(&agent->lock);
	weir__role_take(agent);
	weir__unlock(&agent->lock);
	if (WEIR__LOAD(&agent->unwatched, __ATOMIC_ACQUIRE) != unwatched)
		count = weir__poller_wait(&agent->watching, 0, events, EVENTS);
	call(agent, events, count);
	weir__lock(&agent->lock);
	weir__role_give(agent);
	weir__unlock(&agent->lock);
	return true;
}

static void watch(struct weir__agent *agent, const struct weir__op *op, weir_time deadline)
{
	bool may_look = agent->work->distant && weir__cpu_to_spare();
	bool looks = may_look && weir__glance_begin(&agent->glance);
	weir_time begun = may_look ? weir__boottime() : 0;

	/* It may have been answered before, and the bell for it heard by the agent's thread. */
	while (!weir__op_is_answered(op) && (deadline == WEIR_NEVER || weir_now() < deadline)) {
		bool news = watch_once(agent, op, deadline, looks);

		looks = false;
		if (may_look && (news || weir__op_is_answered(op))) {
			weir__glance_end(&agent->glance, weir__boottime() - begun);
			may_look = false;
		}
	}
}

bool weir__agent_lead(struct weir__agent *agent, const struct weir__op *op, weir_time deadline)
{
	struct weir__errand errand;

	if (weir__agent_is_self(agent) || !weir__errand_has_room(ROOM) || !begin(agent))
		return false;
	weir__errand_begin(&errand);
	led_for = op;
	watch(agent, op, deadline);
	led_for = NULL;
	weir__errand_end(&errand);
	end(agent);
	return true;
}

void weir__agent_call_leader(struct weir__agent *agent, const struct weir__op *op)
{
	if (op != led_for)
		weir__poller_ring(&agent->watching);
}

void weir__agent_follow(struct weir__agent *agent, bool begins)
{
	weir__lock(&agent->lock);
	agent->followers += begins ? 1 : UINT32_MAX;
	if (begins && !agent->led)
		hear(agent, true);
	weir__unlock(&agent->lock);
}

/* lease: the agent: its thread and its inbox. See agent.h; thread.c, timer.c
 * and role.c are the rest.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/futex.h"
#include "lease/agent_state.h"

enum { LINGER = 128 };

/* ---- in the agent's thread, in the role, with the lock held ---------------------------------- */

static bool serve(struct weir__agent *agent)
{
	struct weir__op *operations = agent->inbox.first;
	struct weir__op *withdrawn = agent->withdrawn.first;

	if (operations == NULL && withdrawn == NULL)
		return false;
	agent->inbox = (struct weir__op_queue){ NULL, NULL };
	agent->withdrawn = (struct weir__op_queue){ NULL, NULL };
	agent->withdrawing = withdrawn != NULL;
	agent->lately = true;
	if (operations != NULL && operations->next != NULL)
		agent->crowd = WEIR__CROWD;
	else if (agent->crowd > 0)
		agent->crowd--;
	weir__unlock(&agent->lock);
	agent->work->serve(agent->self, operations, withdrawn);
	weir__lock(&agent->lock);
	if (agent->withdrawing) {
		agent->withdrawing = false;
		(void)WEIR__ADD(&agent->batches, 1, __ATOMIC_RELEASE);
		weir__futex_wake(&agent->batches, INT32_MAX);
	}
	return true;
}

/* Whoever was answered often asks again at once, and telling an agent that sleeps costs more than
 * all else that passes between the two. So after a batch it looks out for a while, as long as a
 * sleep and a wake-up would have cost, if that is of use: see base/habit.h. */
static void linger(struct weir__agent *agent)
{
	uint32_t asked = WEIR__LOAD(&agent->asked, __ATOMIC_RELAXED);
	uint32_t length = habit_length(&agent->lingering, LINGER);
	bool success = false;

	agent->lately = false;
	weir__unlock(&agent->lock);
	for (uint32_t i = 0; i < length && !success; i++) {
		weir__cpu_yield();
		success = WEIR__LOAD(&agent->asked, __ATOMIC_RELAXED) != asked;
	}
	weir__lock(&agent->lock);
	habit_learn(&agent->lingering, success, LINGER);
}

/* Whether descriptors have something to say. */
static bool sleep_until_wanted(struct weir__agent *agent)
{
	struct weir__poll_event event;
	int count;

	agent->asleep = true;
	agent->wakes_at = weir__role_sleep_until(
		agent, agent->timers.first != NULL ? agent->timers.first->time : WEIR_NEVER);
	weir__poller_set_timer(&agent->bed, agent->wakes_at);
	weir__unlock(&agent->lock);
	count = weir__poller_wait(&agent->bed, WEIR_NEVER, &event, 1);
	weir__lock(&agent->lock);
	agent->asleep = false;
	return count != 0;
}

/* Without the role. Whether descriptors have something to say. */
static bool rest(struct weir__agent *agent)
{
	bool news = false;

	weir__role_give(agent);
	if (agent->lately && !agent->work->distant)
		linger(agent);
	else
		news = sleep_until_wanted(agent);
	weir__role_take(agent);
	return news;
}

/* While batches follow each other, descriptors have every fourth turn. */
static bool is_time_to_look(struct weir__agent *agent)
{
	return agent->watches != 0 && (agent->work->distant || agent->turns++ % 4 == 3);
}

static void run(void *argument)
{
	struct weir__agent *agent = argument;

	weir__lock(&agent->lock);
	weir__role_take(agent);
	while (true) {
		bool busy = serve(agent);

		if (!busy && agent->stopping)
			break;
		busy = weir__agent_fire(agent) || busy || weir__agent_has_work(agent);
		if (busy ? is_time_to_look(agent) : rest(agent))
			weir__role_look(agent);
	}
	weir__role_give(agent);
	weir__unlock(&agent->lock);
}

/* ---- from any thread ------------------------------------------------------------------------- */

static int open_pollers(struct weir__agent *agent)
{
	int error = weir__poller_init(&agent->watching, false);

	if (error < 0)
		return error;
	error = weir__poller_init(&agent->bed, true);
	if (error == 0) {
		error = weir__poller_add_other(&agent->bed, &agent->watching, agent);
		if (error < 0)
			weir__poller_done(&agent->bed);
	}
	if (error < 0)
		weir__poller_done(&agent->watching);
	return error;
}

int weir__agent_new(const struct weir__agent_work *work, void *self, struct weir__agent **ret_agent)
{
	struct weir__agent *agent = weir__alloc(sizeof(*agent));
	int error;

	if (agent == NULL)
		return -ENOMEM;
	error = open_pollers(agent);
	if (error < 0) {
		weir__free(agent);
		return error;
	}
	agent->work = work;
	agent->self = self;
	agent->run = run;
	agent->forks = weir__forks();
	*ret_agent = agent;
	return 0;
}

void weir__agent_stop(struct weir__agent *agent)
{
	if (agent == NULL || weir__agent_is_elsewhere(agent))
		return;
	weir__lock(&agent->lock);
	agent->stopping = true;
	weir__agent_wake(agent, 0);
	weir__unlock(&agent->lock);
	if (agent->started)
		weir__worker_join(&agent->thread);
	weir__poller_done(&agent->bed);
	weir__poller_done(&agent->watching);
	weir__free(agent);
}

static void queue(struct weir__agent *agent, struct weir__op *op)
{
	op->next = NULL;
	(void)WEIR__ADD(&agent->asked, 1, __ATOMIC_RELAXED);
	if (agent->inbox.last != NULL)
		agent->inbox.last->next = op;
	else
		agent->inbox.first = op;
	agent->inbox.last = op;
	weir__agent_wake(agent, 0);
}

void weir__agent_submit(struct weir__agent *agent, struct weir__op *op)
{
	int error = weir__agent_start(agent);

	if (error < 0) {
		weir__op_answer(op, error);
		return;
	}
	weir__lock(&agent->lock);
	if (agent->stopping) {
		weir__unlock(&agent->lock);
		weir__op_answer(op, -ESHUTDOWN);
		return;
	}
	if (weir__role_may_borrow(agent, op))
		weir__role_borrow(agent, op);
	else
		queue(agent, op);
	weir__unlock(&agent->lock);
}

void weir__agent_withdraw(struct weir__agent *agent, struct weir__op *op)
{
	if (weir__agent_is_elsewhere(agent))
		return;
	weir__lock(&agent->lock);
	op->withdraw_next = NULL;
	(void)WEIR__ADD(&agent->asked, 1, __ATOMIC_RELAXED);
	if (agent->withdrawn.last != NULL)
		agent->withdrawn.last->withdraw_next = op;
	else
		agent->withdrawn.first = op;
	agent->withdrawn.last = op;
	weir__agent_wake(agent, 0);
	weir__unlock(&agent->lock);
}

void weir__agent_forget(struct weir__agent *agent, struct weir__op *op)
{
	struct weir__op_queue *queue = &agent->withdrawn;
	struct weir__op *before = NULL;

	if (weir__agent_is_elsewhere(agent))
		return;
	weir__lock(&agent->lock);
	for (struct weir__op *at = queue->first; at != NULL; before = at, at = at->withdraw_next) {
		if (at != op)
			continue;
		if (before != NULL)
			before->withdraw_next = op->withdraw_next;
		else
			queue->first = op->withdraw_next;
		if (queue->last == op)
			queue->last = before;
		break;
	}

	/* The answer and the withdrawal may have crossed, and the agent may have the withdrawal in
	 * its hands just now: it looks at the operation, to see that it was answered. */
	uint32_t batches = WEIR__LOAD(&agent->batches, __ATOMIC_ACQUIRE);

	while (agent->withdrawing && batches == WEIR__LOAD(&agent->batches, __ATOMIC_ACQUIRE)) {
		weir__unlock(&agent->lock);
		(void)weir__futex_wait(&agent->batches, batches, WEIR_NEVER);
		weir__lock(&agent->lock);
	}
	weir__unlock(&agent->lock);
}

bool weir__agent_is_distant(const struct weir__agent *agent)
{
	return agent->work->distant;
}

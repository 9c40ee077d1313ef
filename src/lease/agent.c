/* lease: the agent. See agent.h.
 *
 * THE LOCK guards the inbox, the timers and the flags; nothing is called while it is held.
 *
 * SLEEP. The agent says `asleep` and until when, under the lock, before it waits. Whoever brings
 * something that is wanted sooner takes the word back and rings. So a bell is rung once for each
 * sleep at most, and a timer that is later than the next one costs no system call. A timer that is
 * unset leaves the agent to wake up for nothing at its time, which is cheaper than to tell it.
 *
 * THE ROLE. Whoever calls the engine's functions has the agent's role, one at a time. It is the
 * agent's thread's, but while that sleeps or lingers it is `lendable`: then a thread that is going
 * to wait for its answer serves its operation itself, instead of waking up another thread and being
 * woken up by it. Not while a crowd asks: each would only serve itself, and not all at once. What
 * comes meanwhile is left to the agent's thread, which is rung for it when the role is given back.
 * That thread ends the lending before it does anything, so nobody keeps it from its turn.
 * Descriptors that it was told of while it had lent the role may have gone by then, so it asks
 * again.
 */
#include "lease/agent.h"

#include <errno.h>
#include <weir/task.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/cpu.h"
#include "base/futex.h"
#include "base/poller.h"
#include "base/worker.h"
#include "lease/op.h"

enum { EVENTS = 16, LINGER = 128, CROWD = 16 };

struct queue {
	struct weir__op *first;
	struct weir__op *last;
};

struct weir__agent {
	struct weir__lock lock;
	const struct weir__agent_work *work;
	void *self;
	struct weir__poller poller;
	struct weir__worker thread;
	uint32_t forks; /* of which process it is */
	bool started;   /* read without the lock, too */
	bool stopping;
	bool asleep;
	weir_time wakes_at; /* while asleep */
	struct queue inbox;
	struct queue withdrawn;
	bool lendable;
	bool lent;
	bool wanted;    /* the agent's thread waits for it */
	uint32_t lends; /* a futex: how often it was given back */
	uint32_t asked; /* operations and withdrawals; read without the lock, too */
	uint32_t crowd; /* CROWD when a batch was of several, less one for each that was not */
	bool lately;    /* it has served since it last slept or lingered */
	uint32_t lingers;
	uint32_t turns;
	uint32_t linger;
	bool withdrawing; /* serve() has a list of withdrawals */
	uint32_t batches; /* a futex: how many such lists it has had */
	struct weir__heap timers;
	struct weir__timer *firing;
	uint32_t fired; /* a futex: how many functions of timers have returned */
	uint32_t watches;
};

static struct weir__timer *timer_of(struct weir__heap_node *node)
{
	return (struct weir__timer *)(void *)((char *)node - offsetof(struct weir__timer, node));
}

/* Whether the agent must be rung for something that is wanted at `time`. With the lock held. */
static bool must_ring(struct weir__agent *agent, weir_time time)
{
	/* Whoever has borrowed the role looks when it gives it back. */
	bool ring = agent->asleep && !agent->lent && time < agent->wakes_at;

	if (ring)
		agent->asleep = false;
	return ring;
}

static void unlock_and_ring(struct weir__agent *agent, bool ring)
{
	/* Ringing first: whoever sees what was done here may stop the agent. */
	if (ring)
		weir__poller_ring(&agent->poller);
	weir__unlock(&agent->lock);
}

/* ---- the role -------------------------------------------------------------------------------- */

/* With the lock held. A task does not borrow it: others need its thread. */
static bool may_borrow(const struct weir__agent *agent, const struct weir__op *op)
{
	return agent->work->lends && agent->lendable && !agent->lent &&
	       agent->inbox.first == NULL && agent->withdrawn.first == NULL &&
	       op->done == weir__op_wake && weir_self() == NULL;
}

static bool has_work(const struct weir__agent *agent)
{
	return agent->inbox.first != NULL || agent->withdrawn.first != NULL || agent->stopping;
}

/* Serves one operation in the asker's thread. With the lock held, which is given up. */
static void borrow(struct weir__agent *agent, struct weir__op *op)
{
	struct weir__errand errand;
	weir_time wanted = WEIR_NEVER;

	agent->lent = true;
	weir__unlock(&agent->lock);
	op->next = NULL;
	weir__errand_begin(&errand);
	agent->work->serve(agent->self, op, NULL);
	weir__errand_end(&errand);
	weir__lock(&agent->lock);
	agent->lent = false;
	(void)WEIR__ADD(&agent->lends, 1, __ATOMIC_RELEASE);
	if (agent->wanted)
		weir__futex_wake(&agent->lends, 1);
	if (has_work(agent))
		wanted = 0;
	else if (agent->timers.first != NULL)
		wanted = agent->timers.first->time;
	unlock_and_ring(agent, must_ring(agent, wanted));
}

/* The agent's thread takes the role back. With the lock held. Whether somebody has had it. */
static bool take_back(struct weir__agent *agent, uint32_t lends)
{
	agent->lendable = false;
	agent->wanted = true;
	while (agent->lent) {
		uint32_t now = WEIR__LOAD(&agent->lends, __ATOMIC_ACQUIRE);

		weir__unlock(&agent->lock);
		(void)weir__futex_wait(&agent->lends, now, WEIR_NEVER);
		weir__lock(&agent->lock);
	}
	agent->wanted = false;
	return WEIR__LOAD(&agent->lends, __ATOMIC_ACQUIRE) != lends;
}

/* ---- in the agent's thread ------------------------------------------------------------------- */

static bool serve(struct weir__agent *agent)
{
	struct weir__op *operations = agent->inbox.first;
	struct weir__op *withdrawn = agent->withdrawn.first;

	if (operations == NULL && withdrawn == NULL)
		return false;
	agent->inbox = (struct queue){ NULL, NULL };
	agent->withdrawn = (struct queue){ NULL, NULL };
	agent->withdrawing = withdrawn != NULL;
	agent->lately = true;
	if (operations != NULL && operations->next != NULL)
		agent->crowd = CROWD;
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

/* Those that are due now; what they set for now waits for the next turn, so that the inbox and the
 * descriptors have theirs. */
static bool fire(struct weir__agent *agent)
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

/* Whoever was answered often asks again at once, and telling an agent that sleeps costs more than
 * all else that passes between the two. So after a batch it looks out for a while, as long as a
 * sleep and a wake-up would have cost; half as long whenever that was in vain. */
static void linger(struct weir__agent *agent)
{
	uint32_t asked = WEIR__LOAD(&agent->asked, __ATOMIC_RELAXED);
	uint32_t length = agent->lingers++ % 32 == 0 ? LINGER : agent->linger;
	bool success = false;

	agent->lately = false;
	agent->lendable = agent->crowd == 0;
	weir__unlock(&agent->lock);
	for (uint32_t i = 0; i < length && !success; i++) {
		weir__cpu_yield();
		success = WEIR__LOAD(&agent->asked, __ATOMIC_RELAXED) != asked;
	}
	weir__lock(&agent->lock);
	(void)take_back(agent, 0);
	agent->linger = success ? LINGER : agent->linger / 2;
}

static void wait(struct weir__agent *agent, bool busy)
{
	struct weir__poll_event events[EVENTS];
	weir_time until = agent->timers.first != NULL ? agent->timers.first->time : WEIR_NEVER;
	uint32_t lends = WEIR__LOAD(&agent->lends, __ATOMIC_ACQUIRE);
	bool lent;
	int count;

	/* While batches follow each other, descriptors have every fourth turn. */
	if (busy && (agent->watches == 0 || (!agent->work->distant && agent->turns++ % 4 != 3)))
		return;
	if (!busy && agent->lately && !agent->work->distant) {
		linger(agent);
		return;
	}
	agent->asleep = !busy;
	agent->lendable = !busy && agent->crowd == 0;
	agent->wakes_at = until;
	weir__unlock(&agent->lock);
	count = weir__poller_wait(&agent->poller, busy ? 0 : until, events, EVENTS);
	weir__lock(&agent->lock);
	agent->asleep = false;
	lent = take_back(agent, lends);
	weir__unlock(&agent->lock);
	if (lent && count > 0)
		count = weir__poller_wait(&agent->poller, 0, events, EVENTS);
	for (int i = 0; i < count; i++) {
		struct weir__watch *watch = events[i].data;

		/* One function may end another's watch; then its event is not for it any more. */
		if (watch->fd >= 0)
			watch->ready(watch, events[i].events);
	}
	weir__lock(&agent->lock);
}

static void run(void *argument)
{
	struct weir__agent *agent = argument;

	weir__lock(&agent->lock);
	while (true) {
		bool busy = serve(agent);

		if (!busy && agent->stopping)
			break;
		busy = fire(agent) || busy || has_work(agent);
		wait(agent, busy);
	}
	weir__unlock(&agent->lock);
}

/* ---- from any thread ------------------------------------------------------------------------- */

int weir__agent_new(const struct weir__agent_work *work, void *self, struct weir__agent **ret_agent)
{
	struct weir__agent *agent = weir__alloc(sizeof(*agent));
	int error;

	if (agent == NULL)
		return -ENOMEM;
	error = weir__poller_init(&agent->poller);
	if (error < 0) {
		weir__free(agent);
		return error;
	}
	agent->work = work;
	agent->self = self;
	agent->forks = weir__forks();
	*ret_agent = agent;
	return 0;
}

static bool is_elsewhere(const struct weir__agent *agent)
{
	return agent->forks != weir__forks();
}

int weir__agent_start(struct weir__agent *agent)
{
	int error = 0;

	if (is_elsewhere(agent))
		return -ESHUTDOWN;
	if (WEIR__LOAD(&agent->started, __ATOMIC_ACQUIRE))
		return 0;
	weir__lock(&agent->lock);
	if (!agent->started) {
		error = weir__worker_start(&agent->thread, "weir-agent", run, agent);
		if (error == 0)
			WEIR__STORE(&agent->started, true, __ATOMIC_RELEASE);
	}
	weir__unlock(&agent->lock);
	return error;
}

void weir__agent_stop(struct weir__agent *agent)
{
	if (agent == NULL || is_elsewhere(agent))
		return;
	weir__lock(&agent->lock);
	agent->stopping = true;
	unlock_and_ring(agent, must_ring(agent, 0));
	if (agent->started)
		weir__worker_join(&agent->thread);
	weir__poller_done(&agent->poller);
	weir__free(agent);
}

bool weir__agent_is_self(const struct weir__agent *agent)
{
	return WEIR__LOAD(&agent->started, __ATOMIC_ACQUIRE) &&
	       weir__worker_is_self(&agent->thread);
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
	if (may_borrow(agent, op)) {
		borrow(agent, op);
		return;
	}
	op->next = NULL;
	(void)WEIR__ADD(&agent->asked, 1, __ATOMIC_RELAXED);
	if (agent->inbox.last != NULL)
		agent->inbox.last->next = op;
	else
		agent->inbox.first = op;
	agent->inbox.last = op;
	unlock_and_ring(agent, must_ring(agent, 0));
}

void weir__agent_withdraw(struct weir__agent *agent, struct weir__op *op)
{
	if (is_elsewhere(agent))
		return;
	weir__lock(&agent->lock);
	op->withdraw_next = NULL;
	(void)WEIR__ADD(&agent->asked, 1, __ATOMIC_RELAXED);
	if (agent->withdrawn.last != NULL)
		agent->withdrawn.last->withdraw_next = op;
	else
		agent->withdrawn.first = op;
	agent->withdrawn.last = op;
	unlock_and_ring(agent, must_ring(agent, 0));
}

void weir__agent_forget(struct weir__agent *agent, struct weir__op *op)
{
	struct queue *queue = &agent->withdrawn;
	struct weir__op *before = NULL;

	if (is_elsewhere(agent))
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

void weir__agent_timer_set(struct weir__agent *agent, struct weir__timer *timer, weir_time boottime)
{
	if (weir__agent_start(agent) == -ESHUTDOWN)
		return;
	weir__lock(&agent->lock);
	if (timer->set)
		weir__heap_remove(&agent->timers, &timer->node);
	weir__heap_add(&agent->timers, &timer->node, boottime);
	timer->set = true;
	unlock_and_ring(agent, must_ring(agent, boottime));
}

void weir__agent_timer_unset(struct weir__agent *agent, struct weir__timer *timer)
{
	if (is_elsewhere(agent))
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

int weir__agent_watch(struct weir__agent *agent, struct weir__watch *watch, uint32_t events)
{
	int error = weir__poller_add(&agent->poller, watch->fd, events, watch);

	if (error == 0)
		agent->watches++;
	return error;
}

void weir__agent_unwatch(struct weir__agent *agent, struct weir__watch *watch)
{
	if (watch->fd < 0)
		return;
	weir__poller_remove(&agent->poller, watch->fd);
	agent->watches--;
	watch->fd = -1;
}

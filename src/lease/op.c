/* lease: waiting for an operation's answer. See op.h. */
#include "lease/op.h"

#include <errno.h>
#include <weir/task.h>

#include "lease/agent.h"

void weir__op_wake(struct weir__op *op)
{
	struct weir__agent *agent = op->agent;
	uint32_t before = WEIR__XCHG(&op->progress, WEIR__ANSWERED, __ATOMIC_ACQ_REL);

	if (before == WEIR__WAITED_FOR)
		(void)weir_sem_release(&op->answered, 1);
	else if ((before & WEIR__PROGRESS) == WEIR__SLEPT_FOR)
		/* Only its address is used; it may be gone. */
		weir__agent_tell(agent, before >> WEIR__PLACE_SHIFT, &op->progress);
	else if (before == WEIR__LED_FOR)
		weir__agent_call_leader(agent, op); /* as well */
}

static bool is_slept_for(const struct weir__op *op)
{
	return op->agent != NULL && weir__agent_is_distant(op->agent) && !op->is_waited_for &&
	       weir_self() == NULL;
}

/* 0 or -ETIMEDOUT. */
static int sleep_for(struct weir__op *op, weir_time deadline)
{
	uint32_t place = weir__agent_lie_down(op->agent);
	uint32_t asleep = WEIR__SLEPT_FOR | place << WEIR__PLACE_SHIFT;
	uint32_t progress = WEIR__ASKED;
	int result = 0;

	(void)WEIR__CAS(&op->progress, &progress, asleep, __ATOMIC_ACQ_REL);
	while (result != -ETIMEDOUT && !weir__op_is_answered(op))
		result = weir__agent_sleep(op->agent, op, place, deadline);
	/* The place may be another's from now on. */
	progress = asleep;
	(void)WEIR__CAS(&op->progress, &progress, WEIR__ASKED, __ATOMIC_ACQ_REL);
	weir__agent_get_up(op->agent, place);
	return weir__op_is_answered(op) ? 0 : -ETIMEDOUT;
}

/* Whether there is something to wait for: a semaphore without a permit, that the answerer will
 * release. Once it is so it stays so, for then the answer is there only after that release. */
static bool begin_wait(struct weir__op *op)
{
	uint32_t progress = WEIR__ASKED;

	if (op->is_waited_for)
		return true;
	if (weir__op_is_answered(op))
		return false;
	(void)weir_sem_init(&op->answered, 1);
	(void)weir_sem_try_acquire(&op->answered, 1);
	op->is_waited_for = WEIR__CAS(&op->progress, &progress, WEIR__WAITED_FOR, __ATOMIC_ACQ_REL);
	/* A step that failed has not acquired what it found. */
	return op->is_waited_for || !weir__op_is_answered(op);
}

/* As a thread that does the agent's work meanwhile. Whether it could; then `*ret` is as
 * weir__op_wait_until's. */
static bool lead(struct weir__op *op, weir_time deadline, int *ret)
{
	uint32_t progress = WEIR__ASKED;
	bool led;

	if (op->is_waited_for || weir_self() != NULL)
		return false;
	if (!WEIR__CAS(&op->progress, &progress, WEIR__LED_FOR, __ATOMIC_ACQ_REL)) {
		*ret = 0;
		return weir__op_is_answered(op);
	}
	led = weir__agent_lead(op->agent, op, deadline);
	progress = WEIR__LED_FOR;
	*ret = WEIR__CAS(&op->progress, &progress, WEIR__ASKED, __ATOMIC_ACQ_REL) ? -ETIMEDOUT : 0;
	return led || (*ret == 0 && weir__op_is_answered(op));
}

static int follow(struct weir__op *op, weir_time deadline)
{
	if (is_slept_for(op))
		return sleep_for(op, deadline);
	return begin_wait(op) ? weir_sem_acquire_until(&op->answered, 1, deadline) : 0;
}

int weir__op_wait_until(struct weir__op *op, weir_time deadline)
{
	int result;

	if (op->agent == NULL)
		return follow(op, deadline);
	if (lead(op, deadline, &result))
		return result;
	weir__agent_follow(op->agent, true);
	result = follow(op, deadline);
	weir__agent_follow(op->agent, false);
	return result;
}

void weir__op_wait(struct weir__op *op)
{
	bool in_task = weir_self() != NULL;
	bool shielded;

	if (!op->is_waited_for && weir__op_is_answered(op))
		return;
	shielded = in_task && weir_shield(true) == 0;
	/* Again and again, for a scheduler that is told to be alone takes a wait without a deadline
	 * for a deadlock. */
	while (weir__op_wait_until(op, in_task ? weir_after(WEIR_SECOND) : WEIR_NEVER) < 0)
		;
	if (shielded)
		(void)weir_shield(false);
}

/* lease: waiting for an operation's answer. See op.h. */
#include "lease/op.h"

#include <errno.h>
#include <weir/task.h>

#include "base/futex.h"

void weir__op_wake(struct weir__op *op)
{
	uint32_t before = WEIR__XCHG(&op->progress, WEIR__ANSWERED, __ATOMIC_ACQ_REL);

	if (before == WEIR__WAITED_FOR)
		(void)weir_sem_release(&op->answered, 1);
	else if (before == WEIR__SLEPT_FOR)
		weir__futex_wake(&op->progress, 1); /* only its address; it may be gone */
}

static bool is_slept_for(const struct weir__op *op)
{
	return op->distant && !op->is_waited_for && weir_self() == NULL;
}

/* 0 or -ETIMEDOUT. */
static int sleep_for(struct weir__op *op, weir_time deadline)
{
	uint32_t progress = WEIR__ASKED;

	(void)WEIR__CAS(&op->progress, &progress, WEIR__SLEPT_FOR, __ATOMIC_ACQ_REL);
	while (!weir__op_is_answered(op)) {
		if (weir__futex_wait(&op->progress, WEIR__SLEPT_FOR, deadline) == -ETIMEDOUT &&
		    !weir__op_is_answered(op))
			return -ETIMEDOUT;
	}
	return 0;
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

int weir__op_wait_until(struct weir__op *op, weir_time deadline)
{
	if (is_slept_for(op))
		return sleep_for(op, deadline);
	return begin_wait(op) ? weir_sem_acquire_until(&op->answered, 1, deadline) : 0;
}

void weir__op_wait(struct weir__op *op)
{
	bool shielded;

	if (is_slept_for(op)) {
		(void)sleep_for(op, WEIR_NEVER);
		return;
	}
	if (!begin_wait(op))
		return;
	shielded = weir_shield(true) == 0;
	/* Again and again, for a scheduler that is told to be alone takes a wait without a deadline
	 * for a deadlock. */
	while (weir_sem_acquire_until(&op->answered, 1, weir_after(WEIR_SECOND)) < 0)
		;
	if (shielded)
		(void)weir_shield(false);
}

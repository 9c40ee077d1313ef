/* model: how each operation ends, and what is left when all have. */
#include "model/memory.h"
#include "model/oracle.h"
#include "sem/batch.h"
#include "sem/word.h"
#include "task/sched.h"

#include <errno.h>
#include <string.h>

static const char *name_of(int result)
{
	return result == 0 ? "0" : strerrorname_np(-result);
}

void oracle_begin(enum op_kind kind, int sem, uint32_t n, weir_time deadline,
		  struct weir_waiter *node)
{
	struct thread *thread = engine.current;
	struct strand *strand = thread_strand(thread);
	struct op *op;

	oracle_observe(thread);
	if (strand->depth == MAX_NESTING) {
		fail("operations are nested too deeply");
		return;
	}
	op = &strand->ops[strand->depth++];
	op->kind = (uint8_t)kind;
	op->sem = (uint8_t)sem;
	op->n = n;
	op->deadline = deadline;
	op->node = node;
	if (kind == OP_ASYNC)
		*oracle_told_flag(node) = false;
}

void oracle_start(struct thread *thread)
{
	struct op *op = thread_op(thread);

	if (!op || op->started)
		return;
	engine.footprint.visible = true;
	op->started = true;
	op->closed_before = world.ghosts[op->sem].closed;
	oracle_plead(&world.ghosts[op->sem], op);
}

static void unjustified(int result)
{
	fail("P8: T%d got %s for no reason", thread_index(engine.current), name_of(result));
}

/* Whether the operation may end with this error, given what was so while it ran. */
static bool is_justified(const struct op *op, int result)
{
	switch (result) {
	case -EAGAIN:
		return op->kind == OP_TRY && (op->excuses & WAS_FULL);
	case -E2BIG:
		return op->excuses & WAS_TOO_SMALL;
	case -ESHUTDOWN:
		return op->excuses & WAS_CLOSED;
	case -EOVERFLOW:
		return op->kind == OP_RELEASE && (op->excuses & WAS_EMPTY);
	case -ETIMEDOUT:
		return op->kind == OP_ACQUIRE && world.clock >= op->deadline;
	case -ECANCELED:
		return op->kind == OP_ACQUIRE &&
		       (engine.model->cancellations > 0 || engine.current->closing ||
			thread_strand(engine.current)->cancels > 0);
	case -EINVAL:
		if (op->kind == OP_RESIZE)
			return op->n > WEIR_SEM_MAX;
		if (op->kind == OP_CANCEL)
			return op->excuses & WAS_IDLE;
		return op->n == 0 || (op->excuses & WAS_IN_USE);
	default:
		return false;
	}
}

/* P5 for a wait: what was decided about it is what its owner is told. */
static void check_wait(const struct wait *wait, int result)
{
	bool agrees;

	switch (wait->state) {
	case WAIT_GRANTED:
		agrees = result == 0;
		break;
	case WAIT_REFUSED:
		agrees = result == wait->result;
		break;
	case WAIT_LEFT:
		agrees = result == -ETIMEDOUT || result == -ECANCELED;
		break;
	case WAIT_PASSED_ON:
		agrees = result == -ECANCELED;
		break;
	default:
		agrees = false;
	}
	if (!agrees)
		fail("P5: a waiter was told %s, which is not what was decided about it (state "
		     "%d)",
		     name_of(result), wait->state);
}

void oracle_told_cancel(void)
{
	struct strand *strand = thread_strand(engine.current);

	if (strand->cancels > 0)
		strand->cancels--;
}

static void end_acquire(struct ghost *ghost, const struct op *op, int result)
{
	struct wait *wait = op->joined ? oracle_find(op->node) : NULL;

	if (result == 1 && op->kind == OP_ASYNC) {
		if (!op->joined)
			fail("P5: a waiter was said to be queued and was not");
		return;
	}
	if (result == -ECANCELED && wait && wait->state == WAIT_LEFT)
		ghost->cancelled++;
	if (result == -ECANCELED)
		oracle_told_cancel();
	if (wait) {
		check_wait(wait, result);
		oracle_forget(wait);
	} else if (op->done != (result == 0)) {
		fail("P5: T%d was told %s but it is not so", thread_index(engine.current),
		     name_of(result));
	}
	if (result == 0 && op->closed_before)
		fail("P8: a closed semaphore was acquired");
	if (result == 0)
		ghost->out += op->n;
	else if (result == -ETIMEDOUT)
		ghost->timed_out++;
}

static void end_other(struct ghost *ghost, const struct op *op, int result)
{
	if (op->kind == OP_RELEASE) {
		if (op->done != (result == 0))
			fail("P5: a release returned %s but it is not so", name_of(result));
	} else if (op->kind == OP_CANCEL) {
		if (op->done != (result == 0) || (result == 1 && !(op->excuses & WAS_DECIDED)))
			fail("P5: a cancel returned %d but it is not so", result);
		ghost->cancelled += op->done;
	} else if (op->kind == OP_CLOSE || op->kind == OP_UNREF) {
		if (op->kind == OP_CLOSE && !(op->excuses & WAS_CLOSED))
			fail("P5: a close returned and the semaphore is not closed");
		ghost->closed = ghost->closed || (op->excuses & WAS_CLOSED);
	}
}

int oracle_end(int result)
{
	struct thread *thread = engine.current;
	struct strand *strand = thread_strand(thread);
	struct op *op = thread_op(thread);
	struct ghost *ghost = &world.ghosts[op->sem];

	oracle_observe(thread);
	oracle_start(thread); /* some fail before their first step */
	engine.footprint.visible = true;
	if (ghost->lock_strand == thread->strand && ghost->lock_depth == strand->depth)
		fail("P4: T%d left without giving the lock back", thread_index(thread));
	if (result < 0 && op->kind != OP_OTHER && !is_justified(op, result))
		unjustified(result);
	if (op->kind == OP_ACQUIRE || op->kind == OP_TRY || op->kind == OP_ASYNC)
		end_acquire(ghost, op, result);
	else
		end_other(ghost, op, result);
	memset(op, 0, sizeof(*op));
	strand->depth--;
	return result;
}

void oracle_told(struct weir_waiter *node, int result)
{
	struct wait *wait = oracle_find(node);

	oracle_observe(engine.current);
	engine.footprint.visible = true;
	if (!wait || wait->strand >= 0) {
		fail("P5: a wake function was called for a waiter that does not wait");
		return;
	}
	check_wait(wait, result);
	if (result == 0)
		world.ghosts[wait->sem].out += wait->n;
	oracle_forget(wait);
	*oracle_told_flag(node) = true;
}

/* The wait whose parking a futex word belongs to; NULL when it is some other word. */
static struct wait *wait_at(const uint32_t *word)
{
	for (int i = 0; i < MAX_WAITS; i++) {
		struct wait *wait = &world.waits[i];
		uintptr_t offset = (uintptr_t)word - (uintptr_t)wait->at;

		if (wait->state != WAIT_NONE && wait->strand >= 0 &&
		    offset < sizeof(struct weir__parked))
			return wait;
	}
	return NULL;
}

void oracle_sleep(struct thread *thread, const uint32_t *word, weir_time deadline)
{
	const struct op *op = thread_op(thread);
	const struct wait *wait = wait_at(word);

	if (op && op->kind == OP_RELEASE)
		fail("a release went to sleep");
	if (op && wait && wait->state == WAIT_QUEUED && deadline > op->deadline)
		fail("P9: T%d sleeps beyond its deadline", thread_index(thread));
}

void oracle_spin(struct thread *thread)
{
	const struct op *op = thread_op(thread);

	if (op && op->kind == OP_RELEASE)
		fail("a release waits for another thread");
}

void oracle_wake(struct thread *thread, const uint32_t *word)
{
	struct op *op = thread_op(thread);

	/* Parkings are on stacks; a lock is not, and is woken as often as it takes. */
	if (!op || op->kind == OP_OTHER || memory_stack_of(word) < 0)
		return;
	if (op->to_wake == 0)
		fail("P7: T%d wakes more threads than it has ended waits", thread_index(thread));
	else
		op->to_wake--;
}

void oracle_ring(struct thread *thread, struct bell *bell)
{
	struct op *op = thread_op(thread);

	if (bell->due == 0)
		fail("P7: T%d rings a bell for which no ring is due", thread_index(thread));
	else
		bell->due--;
	if (!op || op->kind == OP_OTHER)
		return;
	if (op->to_wake == 0)
		fail("P7: T%d wakes more tasks than it has ended waits", thread_index(thread));
	else
		op->to_wake--;
}

void oracle_watch_bells(void)
{
	for (int i = 0; i < engine.threads; i++) {
		struct bell *bell = &world.bells[i];
		const struct weir__sched *sched;
		bool marked;

		if (!bell->at)
			continue;
		sched = (const struct weir__sched *)(const void *)((const char *)bell->at -
								   offsetof(struct weir__sched,
									    bell));
		marked = sched->inbox == &sched->marker;
		/* The scheduler itself takes the marker back and leaves nothing. */
		if (bell->marked && !marked && sched->inbox)
			bell->due++;
		bell->marked = marked;
	}
}

void oracle_gone(const void *block, size_t size)
{
	for (int i = 0; i < MAX_SEMS; i++) {
		struct ghost *ghost = &world.ghosts[i];

		if (!ghost->sem || (uintptr_t)ghost->sem - (uintptr_t)block >= size)
			continue;
		if (engine.current)
			oracle_observe(engine.current);
		if (ghost->length > 0)
			fail("P6: a semaphore was freed while somebody waits for it");
		ghost->sem = NULL;
	}
}

static void check_counts(const struct ghost *ghost)
{
	const struct weir_sem *sem = ghost->sem;
	const struct weir_sem_counted *counted = (const struct weir_sem_counted *)(const void *)sem;

	if (sem->timed_out != ghost->timed_out || sem->cancelled != ghost->cancelled ||
	    sem->granted_after_wait != ghost->after_wait)
		fail("stats: %u timed out, %u cancelled, %u granted after a wait; expected %u, %u, "
		     "%u",
		     sem->timed_out, sem->cancelled, (unsigned)sem->granted_after_wait,
		     ghost->timed_out, ghost->cancelled, ghost->after_wait);
	if ((sem->setup & SETUP_COUNTED) &&
	    (counted->granted_at_once != ghost->at_once || counted->peak_held != ghost->peak))
		fail("stats: %u granted at once, peak %u; expected %u, %u",
		     (unsigned)counted->granted_at_once, counted->peak_held, ghost->at_once,
		     ghost->peak);
}

void oracle_rest(void)
{
	for (int i = 0; i < MAX_SEMS; i++) {
		const struct ghost *ghost = &world.ghosts[i];

		if (!ghost->sem)
			continue;
		if (word_held(ghost->word) != ghost->out)
			fail("P2: at rest %llu permits are held, and the program has %u",
			     (unsigned long long)word_held(ghost->word), ghost->out);
		if (ghost->length > 0 || (ghost->word & WEIR__SEM_LOCK))
			fail("P2: at rest somebody still waits, or the lock is taken");
		check_counts(ghost);
	}
	if (world.allocated > 0)
		fail("P6: at rest %u blocks of memory are not freed", world.allocated);
}

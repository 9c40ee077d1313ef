/* model: accounting for every change of a semaphore. */
#include "model/oracle.h"

#include "sem/word.h"

#include <errno.h>

static uint32_t limit_of(const struct ghost *ghost)
{
	return ghost->setup & SETUP_LIMIT;
}

static bool is_acquire(const struct op *op)
{
	return op->kind == OP_ACQUIRE || op->kind == OP_TRY || op->kind == OP_ASYNC;
}

void oracle_adopt(int sem, struct weir_sem *at)
{
	struct ghost *ghost = &world.ghosts[sem];

	ghost->sem = at;
	ghost->word = at->word;
	ghost->setup = at->setup;
	ghost->lock_strand = -1;
}

static uint8_t plead_node(const struct weir_waiter *node)
{
	const struct wait *wait = oracle_find(node);

	if (!wait)
		return *oracle_told_flag(node) ? WAS_DECIDED : WAS_IDLE;
	return wait->state == WAIT_GRANTED || wait->state == WAIT_REFUSED ? WAS_DECIDED :
									    WAS_IN_USE;
}

/* Only what matters for its kind is kept: the rest would tell equal states apart. */
static uint8_t pleas_of(const struct op *op)
{
	switch (op->kind) {
	case OP_TRY:
		return WAS_FULL | WAS_TOO_SMALL | WAS_CLOSED;
	case OP_RELEASE:
		return WAS_EMPTY;
	case OP_CANCEL:
		return WAS_DECIDED | WAS_IDLE;
	default:
		return WAS_TOO_SMALL | WAS_CLOSED | WAS_IN_USE;
	}
}

void oracle_plead(const struct ghost *ghost, struct op *op)
{
	uint64_t held = word_held(ghost->word);
	unsigned pleas = op->node ? plead_node(op->node) : 0;

	if (ghost->length > 0 || held + op->n > limit_of(ghost))
		pleas |= WAS_FULL;
	if (limit_of(ghost) > 0 && op->n > limit_of(ghost))
		pleas |= WAS_TOO_SMALL;
	if (ghost->setup & SETUP_CLOSED)
		pleas |= WAS_CLOSED;
	if (held < op->n)
		pleas |= WAS_EMPTY;
	op->excuses |= (uint8_t)(pleas & pleas_of(op));
}

static void plead_all(const struct ghost *ghost)
{
	for (int i = 0; i < MAX_STRANDS; i++) {
		struct strand *strand = &world.strands[i];

		for (int k = 0; k < strand->depth; k++) {
			struct op *op = &strand->ops[k];

			if (op->started && &world.ghosts[op->sem] == ghost)
				oracle_plead(ghost, op);
		}
	}
}

/* The operation that has the lock. */
static struct op *lock_op(const struct ghost *ghost)
{
	return &world.strands[ghost->lock_strand].ops[ghost->lock_depth - 1];
}

static void granted(struct ghost *ghost, struct wait *wait)
{
	if (wait->overtook)
		fail("P3: a waiter was granted before one that had come earlier");
	wait->state = WAIT_GRANTED;
	ghost->after_wait++;
}

/* The lock was given back: what became of those who left the queue while it was held? Those that an
 * operation is entitled to end are refused or have left; all others were granted, and the permits
 * must say so. */
static void settle(struct ghost *ghost, struct op *op, int64_t change)
{
	struct wait *own = NULL;
	int64_t expected = 0;

	for (int i = 0; i < MAX_WAITS; i++) {
		struct wait *wait = &world.waits[i];

		if (wait->state != WAIT_PULLED || &world.ghosts[wait->sem] != ghost)
			continue;
		if (wait->at == op->node && (is_acquire(op) || op->kind == OP_CANCEL)) {
			own = wait;
		} else if (op->kind == OP_CLOSE || op->kind == OP_UNREF ||
			   (op->kind == OP_RESIZE && limit_of(ghost) > 0 &&
			    wait->n > limit_of(ghost))) {
			wait->state = WAIT_REFUSED;
			wait->result = op->kind == OP_RESIZE ? -E2BIG : -ESHUTDOWN;
		} else {
			granted(ghost, wait);
			expected += wait->n;
		}
		if (wait != own && wait->strand >= 0)
			op->to_wake++;
	}
	if (own && change == expected + own->n) {
		granted(ghost, own);
	} else if (own && change == expected) {
		own->state = WAIT_LEFT;
		op->done = op->kind == OP_CANCEL;
		if (own->strand < 0)
			oracle_forget(own);
	} else if (!own && is_acquire(op) && !op->done && !op->joined && change == op->n &&
		   expected == 0) {
		op->done = true;
		ghost->at_once += ghost->setup & SETUP_COUNTED ? 1 : 0;
		if (ghost->length > 0)
			fail("P3: a newcomer was served while others waited");
	} else if (change != expected) {
		fail("P2: the permits held changed by %lld, and %lld were granted",
		     (long long)change, (long long)expected);
	}
}

/* Permits changed hands without the lock being given back. */
static void transfer(struct ghost *ghost, struct thread *thread, int64_t change)
{
	struct op *op = thread_op(thread);
	struct wait *own = op && op->joined ? oracle_find(op->node) : NULL;

	if (op && op->kind == OP_RELEASE && !op->done && change == -(int64_t)op->n) {
		op->done = true;
		ghost->out -= op->n;
	} else if (own && op->kind == OP_ACQUIRE && own->state == WAIT_GRANTED &&
		   change == -(int64_t)op->n) {
		own->state = WAIT_PASSED_ON;
	} else if (op && is_acquire(op) && !op->done && !op->joined && change == op->n &&
		   ghost->lock_strand < 0) {
		op->done = true;
		ghost->at_once += ghost->setup & SETUP_COUNTED ? 1 : 0;
		if (ghost->length > 0)
			fail("P3: T%d barged in while others waited", thread_index(thread));
	} else {
		fail("P2: T%d changed the permits held by %lld, for no operation of its own",
		     thread_index(thread), (long long)change);
	}
}

/* The rules of the state word (weir/sem.h) and, when nobody is at work on the queue, of the queue.
 */
static void check_word(const struct ghost *ghost)
{
	const struct weir_sem *sem = ghost->sem;
	uint64_t word = ghost->word;
	uint64_t held = word_held(word);
	struct weir_waiter *last = NULL;

	if (word & WEIR__SEM_SLOW) {
		if ((uint32_t)word & ~(uint32_t)(WEIR__SEM_LOCK | WEIR__SEM_SLEEP))
			fail("word: SLOW is set but the low half holds a count");
	} else if ((word & (WEIR__SEM_LOCK | WEIR__SEM_SLEEP)) ||
		   (word >> 32) + held != limit_of(ghost) || sem->head ||
		   (ghost->setup & (SETUP_CLOSED | SETUP_COUNTED))) {
		fail("word: SLOW is clear but must not be");
	}
	if (word & WEIR__SEM_LOCK)
		return;
	if (word & WEIR__SEM_SLEEP)
		fail("word: SLEEP without LOCK");
	for (struct weir_waiter *node = sem->head; node; node = node->next) {
		/* That of the head means nothing. */
		if (last && node->prev != last)
			fail("queue: a link back is wrong");
		last = node;
	}
	if (sem->tail != last || sem->waiting != ghost->length)
		fail("queue: its tail or its length is wrong");
	if (sem->head && (ghost->setup & SETUP_CLOSED))
		fail("P4: somebody waits although the semaphore is closed");
	if (sem->head && held + sem->head->n <= limit_of(ghost))
		fail("P4: nobody is at work, the head of the queue would fit and was not granted");
}

static void watch_setup(struct ghost *ghost, struct thread *thread)
{
	const struct op *op = thread_op(thread);
	uint32_t is = ghost->sem->setup;
	uint32_t changed = is ^ ghost->setup;

	if (changed & SETUP_LIMIT && (!op || op->kind != OP_RESIZE || (is & SETUP_LIMIT) != op->n))
		fail("P8: the limit changed, and nobody had asked for it");
	if (changed & SETUP_CLOSED && (!op || (op->kind != OP_CLOSE && op->kind != OP_UNREF)))
		fail("P8: the semaphore was closed by nobody");
	ghost->setup = is;
}

static void observe(struct ghost *ghost, struct thread *thread)
{
	uint64_t was = ghost->word;
	uint64_t is = ghost->sem->word;
	int64_t change = (int64_t)word_held(is) - (int64_t)word_held(was);
	bool changed = was != is || ghost->setup != ghost->sem->setup;
	bool requeued;

	if ((is & ~was) & WEIR__SEM_LOCK) {
		ghost->lock_strand = (int8_t)thread->strand;
		ghost->lock_depth = thread_strand(thread)->depth;
	}
	if (ghost->setup != ghost->sem->setup)
		watch_setup(ghost, thread);
	requeued = oracle_watch_queue(ghost, thread);
	if (!changed && !requeued)
		return;
	engine.footprint.visible = true;
	if ((requeued || (was & ~is) & WEIR__SEM_LOCK) &&
	    (ghost->lock_strand != thread->strand || !thread_op(thread))) {
		fail("the queue or the lock was changed by T%d, which had not locked it",
		     thread_index(thread));
		return;
	}
	if ((was & ~is) & WEIR__SEM_LOCK) {
		settle(ghost, lock_op(ghost), change);
		ghost->lock_strand = -1;
		ghost->lock_depth = 0;
	} else if (change != 0) {
		transfer(ghost, thread, change);
	}
	ghost->word = is;
	if (change > 0 && word_held(is) > limit_of(ghost))
		fail("P1: %llu permits are out, of %u", (unsigned long long)word_held(is),
		     limit_of(ghost));
	if ((ghost->setup & SETUP_COUNTED) && word_held(is) > ghost->peak)
		ghost->peak = (uint32_t)word_held(is);
	check_word(ghost);
	plead_all(ghost);
}

void oracle_observe(struct thread *thread)
{
	for (int i = 0; i < MAX_SEMS; i++) {
		if (world.ghosts[i].sem)
			observe(&world.ghosts[i], thread);
	}
}

/* model: the waits that the oracles know, and what changes in a queue. */
#include "model/memory.h"
#include "model/oracle.h"

#include <string.h>

struct wait *oracle_find(const struct weir_waiter *node)
{
	for (int i = 0; i < MAX_WAITS; i++) {
		if (world.waits[i].state != WAIT_NONE && world.waits[i].at == node)
			return &world.waits[i];
	}
	return NULL;
}

void oracle_forget(struct wait *wait)
{
	memset(wait, 0, sizeof(*wait));
}

static int slot_of(const struct weir_waiter *node)
{
	int slot = 0;

	while (slot < MAX_SLOTS - 1 && world.slots[slot] != node)
		slot++;
	return slot;
}

bool *oracle_told_flag(const struct weir_waiter *node)
{
	return &world.told[slot_of(node)];
}

static void joined(struct ghost *ghost, struct thread *thread, struct weir_waiter *node)
{
	struct op *op = thread_op(thread);
	struct wait *wait;
	int index;

	if (node->next)
		fail("P3: T%d joined the queue elsewhere than at its end", thread_index(thread));
	if (!op || (op->kind != OP_ACQUIRE && op->kind != OP_ASYNC) || op->joined ||
	    node->n != op->n || (op->kind == OP_ASYNC && op->node != node) || oracle_find(node)) {
		fail("P5: T%d queued a waiter that it was not asked for", thread_index(thread));
		return;
	}
	op->joined = true;
	op->node = node;
	index = op->kind == OP_ASYNC ? MAX_STRANDS + slot_of(node) : thread->strand;
	wait = &world.waits[index];
	if (wait->state != WAIT_NONE)
		fail("P5: T%d waits twice at once", thread_index(thread));
	wait->at = node;
	wait->n = node->n;
	wait->state = WAIT_QUEUED;
	wait->sem = op->sem;
	wait->strand = (int8_t)(op->kind == OP_ASYNC ? -1 : thread->strand);
	ghost->queue[ghost->length++] = (int8_t)index;
}

static void pulled(struct wait *wait, bool overtook)
{
	wait->state = WAIT_PULLED;
	wait->overtook = overtook;
}

/* Compares the queue with what it was: the same, but for one more at the end and some that left. */
bool oracle_watch_queue(struct ghost *ghost, struct thread *thread)
{
	int8_t before[MAX_WAITS];
	int length = ghost->length;
	int seen = 0;

	if (length == 0 && !ghost->sem->head)
		return false;
	memcpy(before, ghost->queue, sizeof(before));
	memset(ghost->queue, 0, sizeof(ghost->queue));
	ghost->length = 0;
	for (struct weir_waiter *node = ghost->sem->head; node; node = node->next) {
		const char *fault = memory_fault(node, sizeof(*node));
		int next = seen;

		if (fault) {
			fail("P6: the queue holds a waiter in %s", fault);
			return true;
		}
		while (next < length && world.waits[before[next]].at != node)
			next++;
		if (next == length) {
			joined(ghost, thread, node);
			break;
		}
		while (seen < next)
			pulled(&world.waits[before[seen++]], ghost->length > 0);
		ghost->queue[ghost->length++] = before[seen++];
	}
	while (seen < length)
		pulled(&world.waits[before[seen++]], ghost->length > 0);
	return length != ghost->length || memcmp(before, ghost->queue, (size_t)length) != 0;
}

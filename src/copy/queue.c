/* copy: the queue between those who find entries and those who copy them. */
#include "copy/engine.h"

#include <stdlib.h>

struct batch *weir__batch_new(uint32_t count, size_t name_bytes)
{
	struct batch *batch = calloc(1, sizeof(*batch) + count * sizeof(struct entry) + name_bytes);

	if (!batch)
		return NULL;
	batch->refs = count;
	batch->count = count;
	for (uint32_t i = 0; i < count; i++)
		batch->entries[i].batch = batch;
	return batch;
}

char *weir__batch_names(struct batch *batch)
{
	return (char *)&batch->entries[batch->count];
}

void weir__batch_unref(struct batch *batch)
{
	if (__atomic_sub_fetch(&batch->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(batch);
}

/* Waits for room first, which is what makes discovery wait for copying (C2); those who may not
 * wait put in one batch more. */
void weir__queue_put(struct engine *engine, struct batch *batch, bool wait)
{
	uint32_t count = batch->count;

	if (wait)
		(void)weir_sem_acquire(&engine->room, count);
	(void)pthread_mutex_lock(&engine->lock);
	if (engine->last)
		engine->last->next = batch;
	else
		engine->first = batch;
	engine->last = batch;
	(void)pthread_mutex_unlock(&engine->lock);
	COUNT(engine, queued, count);
	(void)weir_sem_release(&engine->ready, count);
}

void weir__queue_put_later(struct engine *engine, struct batch *batch)
{
	if (engine->later)
		engine->last_later->next = batch;
	else
		engine->later = batch;
	engine->last_later = batch;
}

bool weir__queue_next(struct engine *engine)
{
	struct batch *batch = engine->later;
	uint32_t phase = batch ? batch->phase : 0;
	uint32_t roots = 0;

	/* All are counted before the first can be finished. */
	for (; batch && batch->phase == phase; batch = batch->next)
		roots += batch->roots;
	__atomic_store_n(&engine->sources_left, roots, __ATOMIC_RELAXED);
	while (engine->later != batch) {
		struct batch *next = engine->later;

		engine->later = next->next;
		next->next = NULL;
		weir__queue_put(engine, next, false);
	}
	return roots > 0;
}

/* With the lock held, and something in the queue: the batch to take from. Owned batches are always
 * the first ones of the queue, and no more than there are threads. */
static struct batch *choose(struct worker *worker)
{
	struct batch *batch = worker->current;

	if (batch)
		return batch;
	for (batch = worker->engine->first; batch; batch = batch->next) {
		if (!batch->owner) {
			batch->owner = worker;
			worker->current = batch;
			return batch;
		}
	}
	return worker->engine->first;
}

static void unlink_batch(struct engine *engine, struct batch *batch)
{
	struct batch *before = NULL;
	struct batch *at = engine->first;

	for (; at != batch; at = at->next)
		before = at;
	if (before)
		before->next = batch->next;
	else
		engine->first = batch->next;
	if (engine->last == batch)
		engine->last = before;
	if (batch->owner)
		batch->owner->current = NULL;
}

/* Each thread keeps to a batch of its own, and so to a directory: two that make files in the same
 * one wait for each other inside the kernel. Who finds only batches of others helps with those. */
struct entry *weir__queue_take(struct worker *worker)
{
	struct engine *engine = worker->engine;
	struct entry *entry;
	struct batch *batch;

	if (weir_sem_acquire(&engine->ready, 1) < 0)
		return NULL;
	(void)pthread_mutex_lock(&engine->lock);
	batch = choose(worker);
	entry = &batch->entries[batch->taken++];
	if (batch->taken == batch->count)
		unlink_batch(engine, batch);
	(void)pthread_mutex_unlock(&engine->lock);
	COUNT(engine, queued, (uint32_t)-1);
	if (entry->kind == KIND_ENTRY)
		(void)weir_sem_release(&engine->room, 1);
	return entry;
}

/* What nobody took: words for threads that could not be made, or all of it when nothing could be
 * begun. */
void weir__queue_free(struct engine *engine)
{
	while (weir__queue_next(engine)) {
	}
	while (engine->first) {
		struct batch *batch = engine->first;

		for (uint32_t i = batch->taken; i < batch->count; i++) {
			struct entry *entry = &batch->entries[i];

			if (entry->kind == KIND_WALK)
				weir__dir_unref(engine, entry->arg);
			else if (entry->kind == KIND_ENTRY && --entry->dir->pending == 0)
				weir__dir_unref(engine, entry->dir);
		}
		engine->first = batch->next;
		free(batch);
	}
}

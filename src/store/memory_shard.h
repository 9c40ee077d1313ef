/* store: a shard of memory: its records, when something is due of them, and its lock. See memory.h.
 *
 * All with the shard locked. */
#ifndef WEIR_STORE_MEMORY_SHARD_H
#define WEIR_STORE_MEMORY_SHARD_H

#include <string.h>

#include "lease/store.h"
#include "store/memory_space.h"

/* Where a name belongs. */
static inline struct weir__memory_shard *
weir__memory_shard_for(struct weir_store *store, const char *name, uint64_t *ret_hash)
{
	struct weir__memory_space *space = store->state;

	*ret_hash = weir__hash(name, strlen(name), space->seed);
	return &space->shards[*ret_hash >> 56 & (WEIR__MEMORY_SHARDS - 1)];
}

static inline struct weir__memory_rec *weir__memory_find(struct weir__memory_shard *shard,
							 uint64_t hash, const char *name)
{
	struct weir__link *link = weir__table_find(&shard->names, hash);

	for (; link != NULL; link = weir__table_again(link)) {
		struct weir__memory_rec *rec = weir__memory_rec_of(link);

		if (strcmp(rec->name, name) == 0)
			return rec;
	}
	return NULL;
}

/* NULL: there is no memory. */
struct weir__memory_rec *weir__memory_create(struct weir__memory_shard *shard, uint64_t hash,
					     const char *name, uint32_t limit, weir_time now);

/* When the next thing happens to it of its own. */
static inline weir_time weir__memory_due_time(const struct weir__memory_rec *rec)
{
	if (rec->expiries.first != NULL)
		return rec->expiries.first->time;
	if (rec->rec.waiting != 0 || rec->kept)
		return WEIR_NEVER;
	return rec->idle_since + WEIR__MEMORY_IDLE;
}

static inline void weir__memory_move(struct weir__memory_shard *shard, struct weir__memory_rec *rec,
				     weir_time time)
{
	weir__heap_remove(&shard->due, &rec->due);
	weir__heap_add(&shard->due, &rec->due, time);
}

/* The timer, if something comes earlier than it is set for. */
static inline void weir__memory_arm(struct weir__memory_shard *shard)
{
	weir_time first = shard->due.first != NULL ? shard->due.first->time : WEIR_NEVER;

	if (first >= shard->timer_at)
		return;
	shard->timer_at = first;
	weir__agent_timer_set(shard->space->agent, &shard->timer, first);
}

static inline bool weir__memory_is_idle(const struct weir__memory_rec *rec)
{
	return rec->rec.holders == 0 && rec->rec.waiting == 0;
}

/* After a record has got an earlier end. */
static inline void weir__memory_settle(struct weir__memory_shard *shard,
				       struct weir__memory_rec *rec)
{
	weir_time due = weir__memory_due_time(rec);

	if (due < rec->due.time)
		weir__memory_move(shard, rec, due);
	weir__memory_arm(shard);
}

/* After an operation on a record, which may have become idle, or have an earlier end. */
static inline void weir__memory_touched(struct weir__memory_shard *shard,
					struct weir__memory_rec *rec, weir_time now)
{
	if (weir__memory_is_idle(rec))
		rec->idle_since = now;
	weir__memory_settle(shard, rec);
}

/* What is over of a record, without using it: one that was idle has been so for as long as before.
 */
uint32_t weir__memory_expire_rec(struct weir__memory_rec *rec, weir_time now, uint32_t max);

/* Up to `max` leases that are over, of the records whose time has come; not of too many at once. */
uint32_t weir__memory_expire(struct weir__memory_shard *shard, weir_time now, uint32_t max);

/* Lets go of the lock, then gives the answers and tells the news. */
void weir__memory_unlock(struct weir__memory_shard *shard);

/* What a shard's timer does. */
void weir__memory_fire(struct weir__timer *timer);

#endif

/* store: a shard of memory. See memory_shard.h. */
#include "store/memory_shard.h"

#include "base/alloc.h"
#include "base/boottime.h"

enum { TURN = 256 };

struct weir__memory_rec *weir__memory_create(struct weir__memory_shard *shard, uint64_t hash,
					     const char *name, uint32_t limit, weir_time now)
{
	size_t size = strlen(name) + 1;
	struct weir__memory_rec *rec = weir__alloc_small(sizeof(*rec) + size);

	if (rec == NULL)
		return NULL;
	memcpy(rec->name, name, size);
	rec->shard = shard;
	rec->rec.book = &weir__memory_book;
	rec->rec.fence = shard->fence;
	rec->idle_since = now;
	if (weir__rules_resize(&rec->rec, now, limit) < 0) {
		weir__free(rec);
		return NULL;
	}
	weir__table_add(&shard->names, &rec->by_name, hash);
	weir__heap_add(&shard->due, &rec->due, WEIR_NEVER);
	return rec;
}

uint32_t weir__memory_expire_rec(struct weir__memory_rec *rec, weir_time now, uint32_t max)
{
	bool was_idle = weir__memory_is_idle(rec);
	uint32_t expired = weir__rules_expire(&rec->rec, now, max);

	if (!was_idle && weir__memory_is_idle(rec))
		rec->idle_since = now;
	return expired;
}

/* The claims that ended in this operation: to be used again, or to be told of without the lock. */
static struct weir__memory_claim *sort_dead(struct weir__memory_shard *shard)
{
	struct weir__memory_claim *claim = shard->dead;
	struct weir__memory_claim *lost = NULL;

	shard->dead = NULL;
	while (claim != NULL) {
		struct weir__memory_claim *next = claim->next;

		if (claim->lost) {
			claim->next = lost;
			lost = claim;
		} else {
			weir__memory_claim_drop(shard, claim);
		}
		claim = next;
	}
	return lost;
}

void weir__memory_unlock(struct weir__memory_shard *shard)
{
	struct weir__memory_claim *lost = shard->dead != NULL ? sort_dead(shard) : NULL;
	struct weir__op *op = shard->answered;

	shard->answered = NULL;
	weir__unlock(&shard->lock);
	while (op != NULL) {
		struct weir__op *next = op->next;

		op->done(op); /* and it is its asker's */
		op = next;
	}
	while (lost != NULL) {
		struct weir__memory_claim *next = lost->next;

		weir__store_lost(lost->store, lost->claim.token);
		weir__store_unref(lost->store);
		weir__free(lost->strings);
		weir__free(lost);
		lost = next;
	}
}

uint32_t weir__memory_expire(struct weir__memory_shard *shard, weir_time now, uint32_t max)
{
	uint32_t expired = 0;

	for (int turn = 0; turn < TURN && expired < max; turn++) {
		struct weir__heap_node *node = shard->due.first;
		struct weir__memory_rec *rec;

		if (node == NULL || node->time > now)
			break;
		rec = weir__memory_rec_due(node);
		expired += weir__memory_expire_rec(rec, now, max - expired);
		if (weir__memory_due_time(rec) <= now && rec->rec.holders == 0)
			weir__memory_rec_drop(rec);
		else
			weir__memory_move(shard, rec, weir__memory_due_time(rec));
	}
	return expired;
}

void weir__memory_fire(struct weir__timer *timer)
{
	struct weir__memory_shard *shard = weir__memory_shard_of(timer);

	weir__lock(&shard->lock);
	shard->timer_at = WEIR_NEVER;
	(void)weir__memory_expire(shard, weir__boottime(), UINT32_MAX);
	weir__memory_arm(shard);
	weir__memory_unlock(shard);
}

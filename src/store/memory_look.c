/* store: looking at all names of memory: listings and reapings. See memory.h. */
#include <errno.h>

#include "base/boottime.h"
#include "lease/picture.h"
#include "store/memory_shard.h"

int weir__memory_reap(struct weir_store *store, uint32_t max)
{
	struct weir__memory_space *space = store->state;
	uint32_t all = 0;

	for (int i = 0; i < WEIR__MEMORY_SHARDS && all < max; i++) {
		struct weir__memory_shard *shard = &space->shards[i];
		weir_time now = weir__boottime();
		bool more = true;

		while (more && all < max) {
			weir__lock(&shard->lock);
			all += weir__memory_expire(shard, now, max - all);
			more = shard->due.first != NULL && shard->due.first->time <= now;
			weir__memory_arm(shard);
			weir__memory_unlock(shard);
		}
	}
	return all < INT32_MAX ? (int)all : INT32_MAX;
}

static int show(struct weir__picture *picture, struct weir__memory_rec *rec)
{
	weir_time now = weir__boottime();
	int error;

	(void)weir__memory_expire_rec(rec, now, UINT32_MAX);
	error = weir__picture_add(picture, rec->name, &rec->rec, rec->waits);
	for (struct weir__memory_claim *claim = rec->holders.first; claim != NULL && error == 0;
	     claim = claim->next)
		error = weir__picture_claim(picture, now, &claim->claim, 0);
	for (struct weir__memory_claim *claim = rec->queue.first; claim != NULL && error == 0;
	     claim = claim->next)
		error = weir__picture_claim(picture, now, &claim->claim, 0);
	weir__memory_settle(rec->shard, rec);
	return error;
}

static int show_all(struct weir_store *store, struct weir__picture *picture)
{
	struct weir__memory_space *space = store->state;
	int error = 0;

	for (int i = 0; i < WEIR__MEMORY_SHARDS && error == 0; i++) {
		struct weir__memory_shard *shard = &space->shards[i];
		struct weir__link *link = NULL;

		weir__lock(&shard->lock);
		while (error == 0 && (link = weir__table_next(&shard->names, link)) != NULL)
			error = show(picture, weir__memory_rec_of(link));
		weir__memory_unlock(shard);
	}
	return error;
}

static int show_some(struct weir_store *store, struct weir__picture *picture,
		     const struct weir__op *op)
{
	int error = 0;

	for (size_t i = 0; i < op->n_names && error == 0; i++) {
		uint64_t hash;
		struct weir__memory_shard *shard = weir__memory_shard_for(store, op->names[i],
									  &hash);
		struct weir__memory_rec *rec;

		weir__lock(&shard->lock);
		rec = weir__memory_find(shard, hash, op->names[i]);
		if (rec != NULL)
			error = show(picture, rec);
		weir__memory_unlock(shard);
	}
	return error;
}

int weir__memory_list(struct weir_store *store, struct weir__op *op)
{
	int error;

	op->picture = weir__picture_new();
	if (op->picture == NULL)
		return -ENOMEM;
	error = op->n_names == 0 ? show_all(store, op->picture) : show_some(store, op->picture, op);
	return error;
}

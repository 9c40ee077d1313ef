/* store: the memory of memory: spaces, records and claims, and where one is found from its parts.
 */
#ifndef WEIR_STORE_MEMORY_SPACE_H
#define WEIR_STORE_MEMORY_SPACE_H

#include "store/memory.h"

/* How long a name is idle before it is dropped. */
#define WEIR__MEMORY_IDLE (60 * WEIR_SECOND)

/* The space of that name, or a new one of its own for none. `fire` is for the timers of its shards.
 * 0; -EINVAL: not a name; a negative errno. */
int weir__memory_space_open(const char *name, void (*fire)(struct weir__timer *timer),
			    struct weir__memory_space **ret_space);
void weir__memory_space_close(struct weir__memory_space *space);

/* With the shard locked. Drop takes a claim that is in no list, or an idle record. */
struct weir__memory_claim *weir__memory_claim_new(struct weir__memory_shard *shard);
void weir__memory_claim_drop(struct weir__memory_shard *shard, struct weir__memory_claim *claim);
bool weir__memory_claim_words(struct weir__memory_claim *claim, const char *owner, const char *id);
void weir__memory_rec_drop(struct weir__memory_rec *rec);

static inline struct weir__memory_rec *weir__memory_rec_of(struct weir__link *by_name)
{
	return (struct weir__memory_rec *)(void *)((char *)by_name -
						   offsetof(struct weir__memory_rec, by_name));
}

static inline struct weir__memory_rec *weir__memory_rec_due(struct weir__heap_node *due)
{
	return (struct weir__memory_rec *)(void *)((char *)due -
						   offsetof(struct weir__memory_rec, due));
}

static inline struct weir__memory_claim *weir__memory_claim_of(struct weir__link *by_token)
{
	return (struct weir__memory_claim *)(void *)((char *)by_token -
						     offsetof(struct weir__memory_claim, by_token));
}

static inline struct weir__memory_shard *weir__memory_shard_of(struct weir__timer *timer)
{
	return (struct weir__memory_shard *)(void *)((char *)timer -
						     offsetof(struct weir__memory_shard, timer));
}

#endif

/* store: the semaphores of a process.
 *
 * A SPACE is a set of names: that of one handle, or the one that all handles of memory:NAME share.
 * It is cut into shards by the hash of the name, each with a lock of its own; nothing is ever held
 * of two shards at once, and nobody outside of a shard keeps a pointer into it. So a name may be
 * dropped whenever it is idle, and nobody can be left with one that is gone.
 *
 * TIME. Each record has a place in its shard's heap, at a time not later than the first thing that
 * will happen to it: a lease expires, or it is dropped for having been idle. It is moved only
 * when that comes earlier. A release and the next acquire move nothing, and when the time comes and
 * nothing is due the record gets a new place. The shard has one timer with the agent, kept in the
 * same way.
 *
 * ANSWERS are given, and news told, after the lock has been let go.
 */
#ifndef WEIR_STORE_MEMORY_H
#define WEIR_STORE_MEMORY_H

#include "base/heap.h"
#include "base/lock.h"
#include "base/table.h"
#include "lease/agent.h"
#include "lease/engine.h"

extern const struct weir__engine weir__memory_engine;

enum { WEIR__MEMORY_SHARDS = 64, WEIR__PRIVATE_ID_SIZE = 40 };

struct weir__memory_claim {
	struct weir__claim claim;        /* first: the rules see no more of it */
	struct weir__memory_claim *next; /* in the queue, among the holders, or among the dead */
	struct weir__memory_claim *prev;
	struct weir__heap_node expiry;
	struct weir__link by_token;
	struct weir__link by_id;
	bool has_id; /* and is in that table */
	struct weir__memory_rec *rec;
	struct weir__op *askers;  /* of one that waits */
	struct weir_store *store; /* through which it was asked for; NULL: detached */
	bool lost;                /* and its store is to be told, with a reference of it */
	char *strings;            /* owner and id, or NULL: the store's and private_id */
	char private_id[WEIR__PRIVATE_ID_SIZE];
};

struct weir__memory_list {
	struct weir__memory_claim *first;
	struct weir__memory_claim *last;
};

struct weir__memory_rec {
	struct weir__rec rec; /* first */
	struct weir__link by_name;
	struct weir__memory_shard *shard;
	struct weir__heap_node due;
	struct weir__heap expiries; /* of the holders */
	struct weir__memory_list holders;
	struct weir__memory_list queue;
	struct weir__waits *waits; /* from the first wait on */
	weir_time idle_since;
	bool kept; /* it was made by weir_ensure: idle or not, it stays */
	char name[];
};

struct weir__memory_shard {
	struct weir__lock lock;
	struct weir__memory_space *space;
	struct weir__table names;
	struct weir__table tokens;
	struct weir__table ids;
	struct weir__heap due;
	struct weir__timer timer;
	weir_time timer_at;
	uint64_t fence; /* what a dropped name had given; no new one starts lower */
	struct weir__memory_claim *spare;
	uint32_t spares;
	/* What is to be done when the lock has been let go. */
	struct weir__op *answered; /* in their order */
	struct weir__op *answered_last;
	struct weir__memory_claim *dead;
} __attribute__((aligned(64)));

struct weir__memory_space {
	struct weir__memory_space *next;
	uint32_t handles;
	uint64_t seed;
	struct weir__agent *agent;
	char *name; /* NULL: private */
	struct weir__memory_shard shards[WEIR__MEMORY_SHARDS];
};

/* What rec->book is. */
extern const struct weir__book weir__memory_book;

uint64_t weir__memory_id_hash(const struct weir__memory_rec *rec, const char *id);

/* How many were reaped; 0 or a negative errno. */
int weir__memory_reap(struct weir_store *store, uint32_t max);
int weir__memory_list(struct weir_store *store, struct weir__op *op);

/* Puts the answer into an operation and it among those to be answered. */
void weir__memory_answer(struct weir__memory_shard *shard, struct weir__op *op, int result);

#endif

/* store: the memory of memory:. See memory_space.h. */
#include "store/memory_space.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/random.h"

enum { SPARES = 64 };

/* ---- claims and records ---------------------------------------------------------------------- */

struct weir__memory_claim *weir__memory_claim_new(struct weir__memory_shard *shard)
{
	struct weir__memory_claim *claim = shard->spare;

	if (claim == NULL)
		return weir__alloc_small(sizeof(*claim));
	shard->spare = claim->next;
	shard->spares--;
	memset(claim, 0, sizeof(*claim));
	return claim;
}

void weir__memory_claim_drop(struct weir__memory_shard *shard, struct weir__memory_claim *claim)
{
	weir__free(claim->strings);
	if (shard->spares == SPARES) {
		weir__free(claim);
		return;
	}
	claim->next = shard->spare;
	shard->spare = claim;
	shard->spares++;
}

bool weir__memory_claim_words(struct weir__memory_claim *claim, const char *owner, const char *id)
{
	size_t owner_size = strlen(owner) + 1;
	size_t id_size = strlen(id) + 1;

	claim->strings = weir__alloc_small(owner_size + id_size);
	if (claim->strings == NULL)
		return false;
	memcpy(claim->strings, owner, owner_size);
	memcpy(claim->strings + owner_size, id, id_size);
	claim->claim.owner = claim->strings;
	claim->claim.request_id = claim->strings + owner_size;
	return true;
}

/* L2: whoever comes under that name later gets a higher fence. */
void weir__memory_rec_drop(struct weir__memory_rec *rec)
{
	struct weir__memory_shard *shard = rec->shard;

	if (rec->rec.fence > shard->fence)
		shard->fence = rec->rec.fence;
	weir__heap_remove(&shard->due, &rec->due);
	weir__table_remove(&shard->names, &rec->by_name);
	weir__slots_done(&rec->rec.slots);
	weir__free(rec->waits);
	weir__free(rec);
}

/* ---- spaces ---------------------------------------------------------------------------------- */

static struct {
	struct weir__lock lock;
	struct weir__memory_space *first; /* those with a name */
	uint64_t fence;                   /* the highest that a space which is gone has given */
} spaces;

/* The spaces of a parent are not a child's, which has no agents for them: it makes new ones. */
static void before_fork(void)
{
	weir__lock(&spaces.lock);
}

static void in_parent(void)
{
	weir__unlock(&spaces.lock);
}

static void in_child(void)
{
	spaces.first = NULL;
	weir__unlock(&spaces.lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
	(void)pthread_atfork(before_fork, in_parent, in_child);
}

static void serve_nothing(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	(void)operations;
	(void)withdrawn;
}

static const struct weir__agent_work work = { .serve = serve_nothing };

static void free_space(struct weir__memory_space *space)
{
	weir__agent_stop(space->agent);
	weir__free(space->name);
	weir__free(space);
}

/* With the lock of the spaces held. */
static int new_space(const char *name, void (*fire)(struct weir__timer *timer),
		     struct weir__memory_space **ret_space)
{
	struct weir__memory_space *space = weir__alloc(sizeof(*space));
	int error = -ENOMEM;

	if (space == NULL)
		return error;
	if (name[0] != '\0')
		space->name = weir__format_new("%s", name);
	if (name[0] == '\0' || space->name != NULL)
		error = weir__random(&space->seed, sizeof(space->seed));
	if (error == 0)
		error = weir__agent_new(&work, space, &space->agent);
	if (error < 0) {
		free_space(space);
		return error;
	}
	for (int i = 0; i < WEIR__MEMORY_SHARDS; i++) {
		space->shards[i].space = space;
		space->shards[i].timer.fire = fire;
		space->shards[i].timer_at = WEIR_NEVER;
		space->shards[i].fence = spaces.fence;
	}
	*ret_space = space;
	return 0;
}

int weir__memory_space_open(const char *name, void (*fire)(struct weir__timer *timer),
			    struct weir__memory_space **ret_space)
{
	struct weir__memory_space *space = NULL;
	int error = 0;

	if (name[0] != '\0' && !weir_name_valid(name))
		return -EINVAL;
	weir__lock(&spaces.lock);
	if (name[0] != '\0') {
		space = spaces.first;
		while (space != NULL && strcmp(space->name, name) != 0)
			space = space->next;
	}
	if (space == NULL)
		error = new_space(name, fire, &space);
	if (error == 0 && space->handles++ == 0 && space->name != NULL) {
		space->next = spaces.first;
		spaces.first = space;
	}
	weir__unlock(&spaces.lock);
	if (error == 0)
		*ret_space = space;
	return error;
}

static void empty(struct weir__memory_shard *shard)
{
	struct weir__link *link;

	/* What is left are detached leases: they end with the space. */
	while ((link = weir__table_next(&shard->tokens, NULL)) != NULL) {
		struct weir__memory_claim *claim = weir__memory_claim_of(link);

		weir__table_remove(&shard->tokens, link);
		weir__free(claim->strings);
		weir__free(claim);
	}
	while ((link = weir__table_next(&shard->names, NULL)) != NULL)
		weir__memory_rec_drop(weir__memory_rec_of(link));
	while (shard->spare != NULL) {
		struct weir__memory_claim *spare = shard->spare;

		shard->spare = spare->next;
		weir__free(spare);
	}
	weir__table_done(&shard->names);
	weir__table_done(&shard->tokens);
	weir__table_done(&shard->ids);
}

void weir__memory_space_close(struct weir__memory_space *space)
{
	struct weir__memory_space **at;
	bool last;

	weir__lock(&spaces.lock);
	last = --space->handles == 0;
	for (at = &spaces.first; last && *at != NULL && *at != space;)
		at = &(*at)->next;
	if (last && *at != NULL)
		*at = space->next;
	weir__unlock(&spaces.lock);
	if (!last)
		return;
	weir__agent_stop(space->agent);
	space->agent = NULL;
	for (int i = 0; i < WEIR__MEMORY_SHARDS; i++) {
		empty(&space->shards[i]);
		weir__lock(&spaces.lock);
		if (space->shards[i].fence > spaces.fence)
			spaces.fence = space->shards[i].fence;
		weir__unlock(&spaces.lock);
	}
	free_space(space);
}

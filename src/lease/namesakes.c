/* lease: who gets what was granted. See namesakes.h. */
#include "lease/namesakes.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "lease/keeper.h"

/* One who has come, and perhaps left again: the place in the queue may still have its token. */
struct comer {
	struct comer *next;
	uint8_t token[WEIR_TOKEN_SIZE];
};

struct weir__namesakes {
	/* Under the store's lock. */
	struct weir__link link;
	uint32_t count;
	uint32_t waiting; /* of those, who may wait, and have not given up */
	bool place_was_left;

	struct weir__lock lock; /* guards the rest */
	struct comer *comers;
	struct weir_lease *taken; /* a handle */
	bool left_over;           /* granted, and nobody has it */
	struct weir__grant rest;

	const char *request_id;
	char name[]; /* and the id */
};

static bool same_token(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, WEIR_TOKEN_SIZE) == 0;
}

/* ---- coming and going ------------------------------------------------------------------------ */

static struct weir__namesakes *of_link(struct weir__link *link)
{
	return (struct weir__namesakes *)(void *)((char *)link -
						  offsetof(struct weir__namesakes, link));
}

static uint64_t hash_of(const struct weir_lease *lease)
{
	uint64_t name = weir__hash(lease->name, strlen(lease->name), lease->store->id_base);

	return weir__hash(lease->request_id, strlen(lease->request_id), name);
}

static struct weir__namesakes *found_in(struct weir_store *store, const struct weir_lease *lease,
					uint64_t hash)
{
	struct weir__link *link = weir__table_find(&store->namesakes, hash);

	for (; link != NULL; link = weir__table_again(link)) {
		struct weir__namesakes *found = of_link(link);

		if (strcmp(found->name, lease->name) == 0 &&
		    strcmp(found->request_id, lease->request_id) == 0)
			return found;
	}
	return NULL;
}

static struct weir__namesakes *new_for(const struct weir_lease *lease)
{
	size_t name_size = strlen(lease->name) + 1;
	size_t id_size = strlen(lease->request_id) + 1;
	struct weir__namesakes *namesakes =
		weir__alloc_small(sizeof(*namesakes) + name_size + id_size);

	if (namesakes == NULL)
		return NULL;
	memcpy(namesakes->name, lease->name, name_size);
	memcpy(namesakes->name + name_size, lease->request_id, id_size);
	namesakes->request_id = namesakes->name + name_size;
	return namesakes;
}

static void remember(struct weir__namesakes *namesakes, struct comer *comer)
{
	weir__lock(&namesakes->lock);
	comer->next = namesakes->comers;
	namesakes->comers = comer;
	weir__unlock(&namesakes->lock);
}

static void forget(struct weir__namesakes *namesakes)
{
	while (namesakes->comers != NULL) {
		struct comer *comer = namesakes->comers;

		namesakes->comers = comer->next;
		weir__free(comer);
	}
	weir_lease_unref(namesakes->taken);
	weir__free(namesakes);
}

bool weir__namesakes_join(struct weir__op *op)
{
	struct weir_lease *lease = op->lease;
	struct weir_store *store = lease->store;
	uint64_t hash;
	struct weir__namesakes *fresh;
	struct weir__namesakes *namesakes;
	struct comer *comer;

	if (op->private_id)
		return true;
	hash = hash_of(lease);
	fresh = new_for(lease);
	comer = weir__alloc_small(sizeof(*comer));
	if (fresh == NULL || comer == NULL) {
		weir__free(fresh);
		weir__free(comer);
		return false;
	}
	memcpy(comer->token, lease->token, WEIR_TOKEN_SIZE);
	weir__lock(&store->lock);
	namesakes = found_in(store, lease, hash);
	if (namesakes == NULL) {
		namesakes = fresh;
		fresh = NULL;
		weir__table_add(&store->namesakes, &namesakes->link, hash);
	}
	namesakes->count++;
	if (op->wait)
		namesakes->waiting++;
	weir__unlock(&store->lock);
	weir__free(fresh);
	remember(namesakes, comer);
	op->namesakes = namesakes;
	return true;
}

void weir__namesakes_give_up(struct weir_store *store, struct weir__op *op, int give_up)
{
	struct weir__namesakes *namesakes = op->namesakes;

	op->withdrawn = true;
	op->give_up = give_up;
	if (namesakes != NULL) {
		op->place_was_left = namesakes->place_was_left;
		op->place_stays = --namesakes->waiting != 0;
		namesakes->place_was_left = op->place_stays;
	}
	store->engine->withdraw(store, op);
}

static void give_back(struct weir_store *store, const char *name, const char *request_id,
		      const struct weir__grant *grant)
{
	struct weir__op release = { .verb = WEIR__RELEASE,
				    .name = name,
				    .request_id = request_id,
				    .slot_hint = grant->slot + 1,
				    .weight = grant->weight };

	memcpy(release.token, grant->token, WEIR_TOKEN_SIZE);
	(void)weir__store_ask(store, &release);
}

void weir__namesakes_leave(struct weir_store *store, struct weir__op *op)
{
	struct weir__namesakes *namesakes = op->namesakes;
	bool last;

	if (namesakes == NULL)
		return;
	weir__lock(&store->lock);
	if (op->wait && !op->withdrawn)
		namesakes->waiting--;
	last = --namesakes->count == 0;
	if (last)
		weir__table_remove(&store->namesakes, &namesakes->link);
	weir__unlock(&store->lock);
	if (!last)
		return;
	if (namesakes->left_over)
		give_back(store, namesakes->name, namesakes->request_id, &namesakes->rest);
	forget(namesakes);
}

/* ---- what was granted ------------------------------------------------------------------------ */

static void begin(struct weir_lease *lease, const struct weir__op *op)
{
	struct weir__ledger *ledger = &lease->store->ledger;

	(void)weir__lease_begin(lease, &op->grant, op->sent);
	weir__ledger_push(ledger, lease, weir__ledger_caller());
	/* Whoever is told of its end may drop the handle before this has returned. */
	if (lease->keeper != NULL) {
		(void)WEIR__ADD(&lease->pins, 1, __ATOMIC_RELAXED);
		weir__keeper_start(lease, op->sent);
		weir__lease_unpin(lease);
	}
}

/* A handle by which a lease was adopted is no holder's: it has no id. */
static bool was_acquired(const struct weir_lease *lease)
{
	return lease->request_id[0] != '\0' &&
	       WEIR__LOAD(&lease->state, __ATOMIC_ACQUIRE) != WEIR__PENDING;
}

/* The handle that is here for that lease, of a namesake or from before, with one more reference;
 * its keeper and its place on a stack stay as they were asked for first. */
static struct weir_lease *share(struct weir_store *store, struct weir__namesakes *namesakes,
				const uint8_t *token)
{
	struct weir_lease *found = namesakes->taken;
	bool held;

	if (found != NULL && same_token(found->token, token) && weir__lease_is_settled(found))
		return weir_lease_ref(found);
	found = weir__ledger_find(&store->ledger, token, was_acquired);
	if (found == NULL)
		return NULL;
	held = weir__lease_check(found) && weir__ledger_ref(found);
	weir__lease_unpin(found);
	return held ? found : NULL;
}

static void adopt_token(struct weir_lease *lease, const uint8_t *token)
{
	struct weir__ledger *ledger = &lease->store->ledger;

	if (same_token(lease->token, token))
		return;
	weir__ledger_remove(ledger, lease);
	memcpy(lease->token, token, WEIR_TOKEN_SIZE);
	weir__ledger_add(ledger, lease);
}

struct weir_lease *weir__namesakes_take(struct weir__op *op)
{
	struct weir__namesakes *namesakes = op->namesakes;
	struct weir_lease *lease = op->lease;
	const uint8_t *token = op->grant.token;
	struct weir_lease *before = NULL;
	struct weir_lease *shared;

	if (namesakes == NULL) {
		begin(lease, op);
		return lease;
	}
	/* Nobody else sees the handle before it has begun. */
	weir__lock(&namesakes->lock);
	shared = share(lease->store, namesakes, token);
	if (shared == NULL) {
		adopt_token(lease, token);
		before = namesakes->taken;
		namesakes->taken = weir_lease_ref(lease);
		begin(lease, op);
		if (same_token(namesakes->rest.token, token))
			namesakes->left_over = false;
	}
	weir__unlock(&namesakes->lock);
	weir_lease_unref(before);
	return shared != NULL ? shared : lease;
}

static bool is_theirs(const struct weir__namesakes *namesakes, const uint8_t *token)
{
	const struct comer *comer = namesakes->comers;

	while (comer != NULL && !same_token(comer->token, token))
		comer = comer->next;
	return comer != NULL;
}

void weir__namesakes_pass_on(struct weir__op *op)
{
	struct weir__namesakes *namesakes = op->namesakes;
	struct weir_lease *lease = op->lease;
	const struct weir__grant *grant = &op->grant;
	struct weir_lease *shared;

	if (namesakes == NULL) {
		give_back(lease->store, lease->name, lease->request_id, grant);
		return;
	}
	weir__lock(&namesakes->lock);
	shared = share(lease->store, namesakes, grant->token);
	/* Of two that were left over, the later grant is the one that may be live. */
	if (shared == NULL && is_theirs(namesakes, grant->token) &&
	    (!namesakes->left_over || grant->fence > namesakes->rest.fence)) {
		namesakes->left_over = true;
		namesakes->rest = *grant;
	}
	weir__unlock(&namesakes->lock);
	weir_lease_unref(shared);
}

/* lease: who gets what was granted. See namesakes.h. */
#include "lease/namesakes.h"

#include <string.h>

#include "base/alloc.h"
#include "lease/keeper.h"
#include "lease/namesakes_state.h"

static bool same_token(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, WEIR_TOKEN_SIZE) == 0;
}

/* ---- coming and going ------------------------------------------------------------------------ */

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
	while (namesakes->kept != NULL) {
		struct weir_lease *kept = namesakes->kept;

		namesakes->kept = kept->kept_next;
		weir__lease_unpin(kept);
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
	hash = weir__namesakes_hash(lease);
	fresh = new_for(lease);
	comer = weir__alloc_small(sizeof(*comer));
	if (fresh == NULL || comer == NULL) {
		weir__free(fresh);
		weir__free(comer);
		return false;
	}
	memcpy(comer->token, lease->token, WEIR_TOKEN_SIZE);
	weir__lock(&store->lock);
	namesakes = weir__namesakes_find(store, lease, hash);
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

static bool has_a_say(const struct weir_lease *lease)
{
	return weir__lease_was_acquired(lease) && !WEIR__PEEK(&lease->passed);
}

/* What the handles here say of that lease: those of namesakes, and those from before. A handle that
 * is shared keeps its keeper and its place on a stack as they were asked for first. */
static enum weir__heritage look(struct weir_store *store, const uint8_t *token,
				struct weir_lease **ret_shared)
{
	enum weir__heritage heritage = WEIR__PASS;
	struct weir_lease *found;

	while (heritage == WEIR__PASS &&
	       (found = weir__ledger_find(&store->ledger, token, has_a_say)) != NULL) {
		heritage = weir__lease_bequeath(found);
		*ret_shared = found;
		weir__lease_unpin(found);
	}
	return heritage;
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

/* With the lock of the namesakes held. */
static struct weir_lease *take_over(struct weir__namesakes *namesakes, struct weir__op *op)
{
	struct weir_lease *lease = op->lease;
	const uint8_t *token = op->grant.token;
	struct weir_lease *found = NULL;
	enum weir__heritage heritage = look(lease->store, token, &found);

	if (heritage == WEIR__SHARE)
		return found;
	/* Whoever asked before the end was heard of had it until then. */
	if (heritage == WEIR__OVER)
		weir__lease_lose(lease, true);
	adopt_token(lease, token);
	begin(lease, op);
	if (same_token(namesakes->rest.token, token))
		namesakes->left_over = false;
	return lease;
}

struct weir_lease *weir__namesakes_take(struct weir__op *op)
{
	struct weir__namesakes *namesakes = op->namesakes;
	struct weir_lease *lease = op->lease;
	struct weir_lease *before = NULL;
	struct weir_lease *taken;

	if (namesakes == NULL) {
		begin(lease, op);
		return lease;
	}
	/* Nobody else sees the handle before it has begun. */
	weir__lock(&namesakes->lock);
	taken = take_over(namesakes, op);
	if (taken == lease) {
		before = namesakes->taken;
		namesakes->taken = weir_lease_ref(lease);
	}
	weir__unlock(&namesakes->lock);
	weir_lease_unref(before);
	return taken;
}

static bool is_theirs(const struct weir__namesakes *namesakes, const uint8_t *token)
{
	const struct comer *comer = namesakes->comers;

	while (comer != NULL && !same_token(comer->token, token))
		comer = comer->next;
	return comer != NULL;
}

static bool has_or_ends_it(const struct weir_lease *lease)
{
	return weir__lease_was_acquired(lease) &&
	       (WEIR__PEEK(&lease->state) == WEIR__HELD || WEIR__PEEK(&lease->gone));
}

void weir__namesakes_pass_on(struct weir__op *op)
{
	struct weir__namesakes *namesakes = op->namesakes;
	struct weir_lease *lease = op->lease;
	const struct weir__grant *grant = &op->grant;
	struct weir_lease *known;

	if (namesakes == NULL) {
		give_back(lease->store, lease->name, lease->request_id, grant);
		return;
	}
	weir__lock(&namesakes->lock);
	known = weir__ledger_find(&lease->store->ledger, grant->token, has_or_ends_it);
	/* Of two that were left over, the later grant is the one that may be live. */
	if (known == NULL && is_theirs(namesakes, grant->token) &&
	    (!namesakes->left_over || grant->fence > namesakes->rest.fence)) {
		namesakes->left_over = true;
		namesakes->rest = *grant;
	}
	weir__unlock(&namesakes->lock);
	if (known != NULL)
		weir__lease_unpin(known);
}

/* store: the engine of memory:. See memory.h. */
#include "store/memory.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/print.h"
#include "store/memory_shard.h"

#define SILENCE (WEIR_NEVER / 4) /* whoever waits here cannot vanish */

/* ---- operations ------------------------------------------------------------------------------ */

static struct weir__memory_claim *new_claim(struct weir_store *store, struct weir__memory_rec *rec,
					    const struct weir__op *op)
{
	struct weir__memory_claim *claim = weir__memory_claim_new(rec->shard);

	if (claim == NULL)
		return NULL;
	claim->rec = rec;
	claim->store = store;
	claim->claim.weight = op->weight;
	claim->claim.ttl = op->ttl;
	claim->claim.max_hold = op->max_hold;
	memcpy(claim->claim.token, op->token, WEIR_TOKEN_SIZE);
	claim->has_id = !op->private_id;
	if (op->private_id && !op->detached && op->owner == store->owner) {
		claim->claim.owner = store->owner;
		claim->claim.request_id = claim->private_id;
		strncpy(claim->private_id, op->request_id, sizeof(claim->private_id) - 1);
		return claim;
	}
	if (!weir__memory_claim_words(claim, op->owner, op->request_id)) {
		weir__memory_claim_drop(rec->shard, claim);
		return NULL;
	}
	return claim;
}

/* One that waits already is not one more. */
static bool may_wait(const struct weir_store *store, struct weir__memory_rec *rec,
		     const struct weir__op *op)
{
	return rec->rec.waiting < store->bounds.max_waiting ||
	       (!op->private_id && rec->rec.book->by_request(&rec->rec, op->request_id) != NULL);
}

static int request(struct weir_store *store, struct weir__memory_rec *rec, struct weir__op *op,
		   weir_time now)
{
	struct weir__memory_claim *claim = new_claim(store, rec, op);
	bool room = may_wait(store, rec, op);
	struct weir__claim *found = NULL;
	int result;

	if (claim == NULL)
		return -ENOMEM;
	result = weir__rules_request(&rec->rec, now, &claim->claim, op->wait && room, SILENCE,
				     &found);
	op->found_limit = rec->rec.limit;
	if (found != &claim->claim)
		weir__memory_claim_drop(rec->shard, claim);
	else if (op->detached)
		claim->store = NULL;
	if (result == 0) {
		weir__op_grant(op, now, found);
		op->sent = now;
	} else if (result == 1) {
		claim = (struct weir__memory_claim *)found;
		op->keeper = claim;
		op->next = claim->askers;
		claim->askers = op;
	} else if (result == -EAGAIN && op->wait && !room) {
		return -ENOBUFS;
	}
	return result;
}

static int find_for_request(struct weir__memory_shard *shard, uint64_t hash, struct weir__op *op,
			    weir_time now, struct weir__memory_rec **rec)
{
	if (*rec == NULL && op->limit == 0)
		return -ENOENT;
	if (*rec == NULL)
		*rec = weir__memory_create(shard, hash, op->name, op->limit, now);
	if (*rec == NULL)
		return -ENOMEM;
	op->found_limit = (*rec)->rec.limit;
	return weir__rules_limit_fits(&(*rec)->rec, op->limit) ? 0 : -EEXIST;
}

static int ensure(struct weir__memory_shard *shard, uint64_t hash, struct weir__op *op,
		  weir_time now, struct weir__memory_rec **rec)
{
	bool is_new = *rec == NULL;

	if (is_new)
		*rec = weir__memory_create(shard, hash, op->name, op->limit, now);
	if (*rec == NULL)
		return -ENOMEM;
	(*rec)->kept = true;
	return is_new ? 1 : 0;
}

static int renew(struct weir__memory_rec *rec, struct weir__op *op, weir_time now)
{
	struct weir__claim *claim = NULL;
	int result = weir__rules_renew(&rec->rec, now, op->token, op->ttl, &claim);

	if (result == 0) {
		weir__op_grant(op, now, claim);
		op->sent = now;
	}
	return result;
}

static int set_limit(struct weir__memory_rec *rec, const struct weir__op *op, weir_time now)
{
	int error = weir__rules_resize(&rec->rec, now, op->limit);

	if (error == 0)
		rec->kept = true;
	return error;
}

static int perform(struct weir_store *store, struct weir__memory_shard *shard, uint64_t hash,
		   struct weir__op *op)
{
	weir_time now = weir__boottime(); /* L10: with the lock held */
	struct weir__memory_rec *rec = weir__memory_find(shard, hash, op->name);
	int result = -ENOENT;

	if (op->verb == WEIR__REQUEST) {
		result = find_for_request(shard, hash, op, now, &rec);
		if (result == 0)
			result = request(store, rec, op, now);
	} else if (op->verb == WEIR__ENSURE) {
		result = ensure(shard, hash, op, now, &rec);
	} else if (rec != NULL) {
		if (op->verb == WEIR__RENEW)
			result = renew(rec, op, now);
		else if (op->verb == WEIR__RELEASE)
			result = weir__rules_release(&rec->rec, now, op->token);
		else if (op->verb == WEIR__EVICT)
			result = weir__rules_evict(&rec->rec, now, op->token);
		else
			result = set_limit(rec, op, now);
	}
	if (rec != NULL)
		weir__memory_touched(shard, rec, now);
	return result;
}

static void submit(struct weir_store *store, struct weir__op *op)
{
	struct weir__memory_space *space = store->state;
	struct weir__memory_shard *shard;
	uint64_t hash;
	int result = weir__agent_start(space->agent);

	if (result == 0 && op->verb == WEIR__REAP)
		result = weir__memory_reap(store, op->max_rows);
	else if (result == 0 && op->verb == WEIR__LIST)
		result = weir__memory_list(store, op);
	if (result < 0 || op->verb == WEIR__REAP || op->verb == WEIR__LIST) {
		weir__op_answer(op, result);
		return;
	}
	shard = weir__memory_shard_for(store, op->name, &hash);
	weir__lock(&shard->lock);
	result = perform(store, shard, hash, op);
	/* One that waits is answered when it is granted. */
	if (op->verb != WEIR__REQUEST || result != 1)
		weir__memory_answer(shard, op, result);
	weir__memory_unlock(shard);
}

/* Takes one of several askers off a claim. */
static void take_off(struct weir__memory_claim *claim, struct weir__op *op)
{
	struct weir__op **at = &claim->askers;

	while (*at != op)
		at = &(*at)->next;
	*at = op->next;
}

static void withdraw(struct weir_store *store, struct weir__op *op)
{
	uint64_t hash;
	struct weir__memory_shard *shard = weir__memory_shard_for(store, op->name, &hash);
	struct weir__memory_claim *claim;

	weir__lock(&shard->lock);
	claim = op->keeper;
	if (claim != NULL && claim->askers == op && op->next == NULL) {
		struct weir__memory_rec *rec = claim->rec;
		struct weir__claim *granted = NULL;
		weir_time now = weir__boottime();

		/* What has expired may let it through yet, and then it has been answered. */
		(void)weir__rules_withdraw(&rec->rec, now, claim->claim.token,
					   op->give_up == -ETIMEDOUT, &granted);
		weir__memory_touched(shard, rec, now);
	}
	if (op->keeper != NULL) {
		take_off(claim, op);
		weir__memory_answer(shard, op, op->give_up);
	}
	weir__memory_unlock(shard);
}

/* ---- open and close -------------------------------------------------------------------------- */

static int open_memory(struct weir_store *store, const struct weir__url *url, char **ret_error)
{
	struct weir__memory_space *space = NULL;
	int error = weir__memory_space_open(url->rest, weir__memory_fire, &space);

	if (error < 0) {
		*ret_error = weir__format_new("memory: %s", weir_strerror(error));
		return error;
	}
	store->state = space;
	store->agent = space->agent;
	return 0;
}

static struct weir__memory_claim *any_of(const struct weir__memory_shard *shard,
					 const struct weir_store *store)
{
	struct weir__link *link = NULL;

	while ((link = weir__table_next(&shard->tokens, link)) != NULL) {
		if (weir__memory_claim_of(link)->store == store)
			return weir__memory_claim_of(link);
	}
	return NULL;
}

/* Everything held through the handle was given back before; what was not, for whatever reason, must
 * not point to it. */
static void close_memory(struct weir_store *store)
{
	struct weir__memory_space *space = store->state;

	for (int i = 0; i < WEIR__MEMORY_SHARDS; i++) {
		struct weir__memory_shard *shard = &space->shards[i];
		struct weir__memory_claim *claim;

		weir__lock(&shard->lock);
		while ((claim = any_of(shard, store)) != NULL) {
			claim->store = NULL;
			weir__rules_bury(&claim->rec->rec, weir__boottime(), &claim->claim);
		}
		weir__memory_unlock(shard);
	}
	weir__memory_space_close(space);
}

const struct weir__engine weir__memory_engine = {
	.scheme = "memory",
	.immediate = true,
	.open = open_memory,
	.close = close_memory,
	.submit = submit,
	.withdraw = withdraw,
};

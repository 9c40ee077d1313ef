/* store: the engine of memory:. See memory.h. */
#include "store/memory.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/print.h"
#include "lease/picture.h"
#include "lease/store.h"
#include "store/memory_space.h"

#define SILENCE (WEIR_NEVER / 4) /* whoever waits here cannot vanish */

enum { TURN = 256 };

/* ---- a shard --------------------------------------------------------------------------------- */

static struct weir__memory_shard *shard_of(struct weir_store *store, const char *name,
					   uint64_t *ret_hash)
{
	struct weir__memory_space *space = store->state;

	*ret_hash = weir__hash(name, strlen(name), space->seed);
	return &space->shards[*ret_hash >> 56 & (WEIR__MEMORY_SHARDS - 1)];
}

static struct weir__memory_rec *find(struct weir__memory_shard *shard, uint64_t hash,
				     const char *name)
{
	struct weir__link *link = weir__table_find(&shard->names, hash);

	for (; link != NULL; link = weir__table_again(link)) {
		struct weir__memory_rec *rec = weir__memory_rec_of(link);

		if (strcmp(rec->name, name) == 0)
			return rec;
	}
	return NULL;
}

static struct weir__memory_rec *create(struct weir__memory_shard *shard, uint64_t hash,
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

/* When the next thing happens to it of its own. */
static weir_time due_time(const struct weir__memory_rec *rec)
{
	if (rec->expiries.first != NULL)
		return rec->expiries.first->time;
	if (rec->rec.waiting != 0 || rec->kept)
		return WEIR_NEVER;
	return rec->idle_since + WEIR__MEMORY_IDLE;
}

static void move(struct weir__memory_shard *shard, struct weir__memory_rec *rec, weir_time time)
{
	weir__heap_remove(&shard->due, &rec->due);
	weir__heap_add(&shard->due, &rec->due, time);
}

static void arm(struct weir__memory_shard *shard)
{
	weir_time first = shard->due.first != NULL ? shard->due.first->time : WEIR_NEVER;

	if (first >= shard->timer_at)
		return;
	shard->timer_at = first;
	weir__agent_timer_set(shard->space->agent, &shard->timer, first);
}

static bool is_idle(const struct weir__memory_rec *rec)
{
	return rec->rec.holders == 0 && rec->rec.waiting == 0;
}

static void settle(struct weir__memory_shard *shard, struct weir__memory_rec *rec)
{
	weir_time due = due_time(rec);

	if (due < rec->due.time)
		move(shard, rec, due);
	arm(shard);
}

/* After an operation on a record, which may have become idle, or have an earlier end. */
static void touched(struct weir__memory_shard *shard, struct weir__memory_rec *rec, weir_time now)
{
	if (is_idle(rec))
		rec->idle_since = now;
	settle(shard, rec);
}

/* What is over of a record, without using it: one that was idle has been so for as long as before.
 */
static uint32_t expire_rec(struct weir__memory_rec *rec, weir_time now, uint32_t max)
{
	bool was_idle = is_idle(rec);
	uint32_t expired = weir__rules_expire(&rec->rec, now, max);

	if (!was_idle && is_idle(rec))
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

static void unlock(struct weir__memory_shard *shard)
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

/* Up to `max` leases that are over, of the records whose time has come. */
static uint32_t expire(struct weir__memory_shard *shard, weir_time now, uint32_t max)
{
	uint32_t expired = 0;

	for (int turn = 0; turn < TURN && expired < max; turn++) {
		struct weir__heap_node *node = shard->due.first;
		struct weir__memory_rec *rec;

		if (node == NULL || node->time > now)
			break;
		rec = weir__memory_rec_due(node);
		expired += expire_rec(rec, now, max - expired);
		if (due_time(rec) <= now && rec->rec.holders == 0)
			weir__memory_rec_drop(rec);
		else
			move(shard, rec, due_time(rec));
	}
	return expired;
}

static void fire(struct weir__timer *timer)
{
	struct weir__memory_shard *shard = weir__memory_shard_of(timer);

	weir__lock(&shard->lock);
	shard->timer_at = WEIR_NEVER;
	(void)expire(shard, weir__boottime(), UINT32_MAX);
	arm(shard);
	unlock(shard);
}

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
		*rec = create(shard, hash, op->name, op->limit, now);
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
		*rec = create(shard, hash, op->name, op->limit, now);
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
	struct weir__memory_rec *rec = find(shard, hash, op->name);
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
		touched(shard, rec, now);
	return result;
}

static int reap(struct weir_store *store, uint32_t max)
{
	struct weir__memory_space *space = store->state;
	uint32_t all = 0;

	for (int i = 0; i < WEIR__MEMORY_SHARDS && all < max; i++) {
		struct weir__memory_shard *shard = &space->shards[i];
		weir_time now = weir__boottime();
		bool more = true;

		while (more && all < max) {
			weir__lock(&shard->lock);
			all += expire(shard, now, max - all);
			more = shard->due.first != NULL && shard->due.first->time <= now;
			arm(shard);
			unlock(shard);
		}
	}
	return all < INT32_MAX ? (int)all : INT32_MAX;
}

static int show(struct weir__picture *picture, struct weir__memory_rec *rec)
{
	weir_time now = weir__boottime();
	int error;

	(void)expire_rec(rec, now, UINT32_MAX);
	error = weir__picture_add(picture, rec->name, &rec->rec, rec->waits);
	for (struct weir__memory_claim *claim = rec->holders.first; claim != NULL && error == 0;
	     claim = claim->next)
		error = weir__picture_claim(picture, now, &claim->claim, 0);
	for (struct weir__memory_claim *claim = rec->queue.first; claim != NULL && error == 0;
	     claim = claim->next)
		error = weir__picture_claim(picture, now, &claim->claim, 0);
	settle(rec->shard, rec);
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
		unlock(shard);
	}
	return error;
}

static int show_some(struct weir_store *store, struct weir__picture *picture,
		     const struct weir__op *op)
{
	int error = 0;

	for (size_t i = 0; i < op->n_names && error == 0; i++) {
		uint64_t hash;
		struct weir__memory_shard *shard = shard_of(store, op->names[i], &hash);
		struct weir__memory_rec *rec;

		weir__lock(&shard->lock);
		rec = find(shard, hash, op->names[i]);
		if (rec != NULL)
			error = show(picture, rec);
		unlock(shard);
	}
	return error;
}

static int list(struct weir_store *store, struct weir__op *op)
{
	int error;

	op->picture = weir__picture_new();
	if (op->picture == NULL)
		return -ENOMEM;
	error = op->n_names == 0 ? show_all(store, op->picture) : show_some(store, op->picture, op);
	return error;
}

static void submit(struct weir_store *store, struct weir__op *op)
{
	struct weir__memory_space *space = store->state;
	struct weir__memory_shard *shard;
	uint64_t hash;
	int result = weir__agent_start(space->agent);

	if (result == 0 && op->verb == WEIR__REAP)
		result = reap(store, op->max_rows);
	else if (result == 0 && op->verb == WEIR__LIST)
		result = list(store, op);
	if (result < 0 || op->verb == WEIR__REAP || op->verb == WEIR__LIST) {
		weir__op_answer(op, result);
		return;
	}
	shard = shard_of(store, op->name, &hash);
	weir__lock(&shard->lock);
	result = perform(store, shard, hash, op);
	/* One that waits is answered when it is granted. */
	if (op->verb != WEIR__REQUEST || result != 1)
		weir__memory_answer(shard, op, result);
	unlock(shard);
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
	struct weir__memory_shard *shard = shard_of(store, op->name, &hash);
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
		touched(shard, rec, now);
	}
	if (op->keeper != NULL) {
		take_off(claim, op);
		weir__memory_answer(shard, op, op->give_up);
	}
	unlock(shard);
}

/* ---- open and close -------------------------------------------------------------------------- */

static int open_memory(struct weir_store *store, const struct weir__url *url, char **ret_error)
{
	struct weir__memory_space *space = NULL;
	int error = weir__memory_space_open(url->rest, fire, &space);

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
		unlock(shard);
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

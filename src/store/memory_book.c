/* store: how the rule book reaches claims in memory. Under the lock of the shard. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "lease/ledger.h"
#include "store/memory.h"

static struct weir__memory_rec *rec_of(struct weir__rec *rec)
{
	return (struct weir__memory_rec *)rec;
}

static struct weir__memory_claim *claim_of(struct weir__claim *claim)
{
	return (struct weir__memory_claim *)claim;
}

#define CONTAINER(pointer, type, member) \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static struct weir__claim *by_token(struct weir__rec *rec, const uint8_t *token)
{
	uint64_t hash = weir__token_hash(token);
	struct weir__link *link = weir__table_find(&rec_of(rec)->shard->tokens, hash);

	for (; link != NULL; link = weir__table_again(link)) {
		struct weir__memory_claim *found = CONTAINER(link, struct weir__memory_claim,
							     by_token);

		if (found->rec == rec_of(rec) &&
		    memcmp(found->claim.token, token, WEIR_TOKEN_SIZE) == 0)
			return &found->claim;
	}
	return NULL;
}

uint64_t weir__memory_id_hash(const struct weir__memory_rec *rec, const char *id)
{
	return weir__hash(id, strlen(id), (uint64_t)(uintptr_t)rec);
}

static struct weir__claim *by_request(struct weir__rec *rec, const char *request_id)
{
	uint64_t hash = weir__memory_id_hash(rec_of(rec), request_id);
	struct weir__link *link = weir__table_find(&rec_of(rec)->shard->ids, hash);

	for (; link != NULL; link = weir__table_again(link)) {
		struct weir__memory_claim *found = CONTAINER(link, struct weir__memory_claim,
							     by_id);

		if (found->rec == rec_of(rec) && strcmp(found->claim.request_id, request_id) == 0)
			return &found->claim;
	}
	return NULL;
}

static struct weir__claim *first_to_expire(struct weir__rec *rec)
{
	struct weir__heap_node *node = rec_of(rec)->expiries.first;

	return node != NULL ? &CONTAINER(node, struct weir__memory_claim, expiry)->claim : NULL;
}

/* Whoever waits is in this process, and leaves when it ends. */
static struct weir__claim *nobody_is_silent(struct weir__rec *rec)
{
	(void)rec;
	return NULL;
}

static struct weir__claim *head(struct weir__rec *rec)
{
	struct weir__memory_claim *first = rec_of(rec)->queue.first;

	return first != NULL ? &first->claim : NULL;
}

static struct weir__claim *after(struct weir__rec *rec, struct weir__claim *waiting)
{
	struct weir__memory_claim *next = claim_of(waiting)->next;

	(void)rec;
	return next != NULL ? &next->claim : NULL;
}

static void append(struct weir__memory_list *list, struct weir__memory_claim *claim)
{
	claim->next = NULL;
	claim->prev = list->last;
	if (list->last != NULL)
		list->last->next = claim;
	else
		list->first = claim;
	list->last = claim;
}

static void take_out(struct weir__memory_list *list, struct weir__memory_claim *claim)
{
	if (claim->prev != NULL)
		claim->prev->next = claim->next;
	else
		list->first = claim->next;
	if (claim->next != NULL)
		claim->next->prev = claim->prev;
	else
		list->last = claim->prev;
}

static void enter(struct weir__memory_rec *rec, struct weir__memory_claim *claim)
{
	struct weir__memory_shard *shard = rec->shard;

	weir__table_add(&shard->tokens, &claim->by_token, weir__token_hash(claim->claim.token));
	if (claim->has_id)
		weir__table_add(&shard->ids, &claim->by_id,
				weir__memory_id_hash(rec, claim->claim.request_id));
}

/* It stays as it is until the operation is over, for the rules may yet tell of its end. */
static void bury(struct weir__memory_rec *rec, struct weir__memory_claim *claim)
{
	struct weir__memory_shard *shard = rec->shard;

	weir__table_remove(&shard->tokens, &claim->by_token);
	if (claim->has_id)
		weir__table_remove(&shard->ids, &claim->by_id);
	claim->next = shard->dead;
	shard->dead = claim;
}

static void leave(struct weir__memory_rec *rec, struct weir__memory_claim *claim,
		  enum weir__claim_state state)
{
	if (state == WEIR__WAITING) {
		take_out(&rec->queue, claim);
	} else if (state == WEIR__HOLDING) {
		take_out(&rec->holders, claim);
		weir__heap_remove(&rec->expiries, &claim->expiry);
	}
}

static void changed(struct weir__rec *head_of_rec, struct weir__claim *head_of_claim,
		    enum weir__claim_state before)
{
	struct weir__memory_rec *rec = rec_of(head_of_rec);
	struct weir__memory_claim *claim = claim_of(head_of_claim);
	enum weir__claim_state state = claim->claim.state;

	if (state == before && state != WEIR__HOLDING)
		return;
	if (before == WEIR__NEW)
		enter(rec, claim);
	leave(rec, claim, before);
	if (state == WEIR__WAITING) {
		append(&rec->queue, claim);
	} else if (state == WEIR__HOLDING) {
		append(&rec->holders, claim);
		weir__heap_add(&rec->expiries, &claim->expiry, claim->claim.expires);
	} else {
		bury(rec, claim);
	}
}

void weir__memory_answer(struct weir__memory_shard *shard, struct weir__op *op, int result)
{
	op->result = result;
	op->keeper = NULL;
	op->next = NULL;
	if (shard->answered != NULL)
		shard->answered_last->next = op;
	else
		shard->answered = op;
	shard->answered_last = op;
}

static void tell_askers(struct weir__memory_rec *rec, struct weir__memory_claim *claim, int result)
{
	weir_time now = result == 0 ? claim->claim.since : 0;

	while (claim->askers != NULL) {
		struct weir__op *op = claim->askers;

		claim->askers = op->next;
		op->found_limit = rec->rec.limit;
		if (result == 0) {
			weir__op_grant(op, now, &claim->claim);
			op->sent = now; /* the clock is the same on both sides */
		}
		weir__memory_answer(rec->shard, op, result);
	}
}

static void tell(struct weir__rec *head_of_rec, struct weir__claim *head_of_claim,
		 enum weir__event event)
{
	struct weir__memory_rec *rec = rec_of(head_of_rec);
	struct weir__memory_claim *claim = claim_of(head_of_claim);

	if (event == WEIR__GRANTED) {
		tell_askers(rec, claim, 0);
	} else if (event == WEIR__TOO_HEAVY) {
		tell_askers(rec, claim, -E2BIG);
	} else if (claim->store != NULL) {
		/* It cannot go before this claim is out of the shard, so it is there to be kept. */
		weir__store_ref(claim->store);
		claim->lost = true;
	}
}

/* Without memory there are no percentiles. */
static void waited(struct weir__rec *head_of_rec, weir_time wait)
{
	struct weir__memory_rec *rec = rec_of(head_of_rec);

	if (rec->waits == NULL)
		rec->waits = weir__alloc_small(sizeof(*rec->waits));
	if (rec->waits != NULL)
		weir__waits_add(rec->waits, wait);
}

const struct weir__book weir__memory_book = {
	.by_token = by_token,
	.by_request = by_request,
	.first_to_expire = first_to_expire,
	.first_to_fall_silent = nobody_is_silent,
	.head = head,
	.after = after,
	.changed = changed,
	.tell = tell,
	.waited = waited,
};

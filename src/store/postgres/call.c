/* store/postgres: calls, from the operation that is asked to its answer. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "store/postgres/postgres.h"

enum { MOST_PARKED = 10000 };

const char weir__pg_hello[] = "hello";
const char weir__pg_goodbye[] = "goodbye";

static struct calls *list_of(struct postgres *pg, enum call_state state)
{
	switch (state) {
	case CALL_NEXT:
		return &pg->todo;
	case CALL_WAITING:
		return &pg->waiting;
	case CALL_PARKED:
		return &pg->parked;
	case CALL_SENT:
		break;
	}
	return NULL;
}

static uint64_t hash_of(const void *token)
{
	return weir__hash(token, WEIR_TOKEN_SIZE, 0);
}

void weir__pg_move(struct postgres *pg, struct call *call, enum call_state state)
{
	struct calls *list = list_of(pg, call->state);

	if (list != NULL) {
		*(call->previous != NULL ? &call->previous->next : &list->first) = call->next;
		*(call->next != NULL ? &call->next->previous : &list->last) = call->previous;
	}
	call->next = call->previous = NULL;
	call->state = state;
	list = list_of(pg, state);
	if (list != NULL) {
		call->previous = list->last;
		*(list->last != NULL ? &list->last->next : &list->first) = call;
		list->last = call;
	}
}

static void hide(struct postgres *pg, struct call *call)
{
	if (call->findable)
		weir__table_remove(&pg->tokens, &call->by_token);
	call->findable = false;
}

void weir__pg_set_token(struct postgres *pg, struct call *call, const void *token)
{
	if (call->findable && memcmp(call->token, token, WEIR_TOKEN_SIZE) == 0)
		return;
	hide(pg, call);
	memcpy(call->token, token, WEIR_TOKEN_SIZE);
	weir__table_add(&pg->tokens, &call->by_token, hash_of(token));
	call->findable = true;
}

static struct call *same_token(struct weir__link *link, const void *token)
{
	for (; link != NULL; link = weir__table_again(link)) {
		struct call *call = (struct call *)(void *)link;

		if (memcmp(call->token, token, WEIR_TOKEN_SIZE) == 0)
			return call;
	}
	return NULL;
}

struct call *weir__pg_waiter(struct postgres *pg, const void *token)
{
	_Static_assert(offsetof(struct call, by_token) == 0, "a link is its call");
	return same_token(weir__table_find(&pg->tokens, hash_of(token)), token);
}

struct call *weir__pg_next_waiter(struct call *call)
{
	return same_token(weir__table_again(&call->by_token), call->token);
}

static enum weir__pg_verb verb_of(enum weir__verb verb)
{
	switch (verb) {
	case WEIR__ENSURE:
		return WEIR__PG_ENSURE;
	case WEIR__SET_LIMIT:
		return WEIR__PG_LIMIT;
	case WEIR__REQUEST:
		return WEIR__PG_REQUEST;
	case WEIR__RENEW:
		return WEIR__PG_RENEW;
	case WEIR__RELEASE:
		return WEIR__PG_RELEASE;
	case WEIR__EVICT:
		return WEIR__PG_EVICT;
	case WEIR__REAP:
		return WEIR__PG_REAP;
	case WEIR__LIST:
		return WEIR__PG_LIST;
	}
	return WEIR__PG_VERBS;
}

bool weir__pg_take(struct postgres *pg, struct weir__op *op)
{
	size_t size = strlen(op->name) + 1;
	struct call *call = calloc(1, sizeof(*call) + size);

	if (call == NULL) {
		weir__op_answer(op, -ENOMEM);
		return false;
	}
	memcpy(call->name, op->name, size);
	memcpy(call->token, op->token, WEIR_TOKEN_SIZE);
	call->op = op;
	call->state = CALL_SENT; /* in no list */
	call->verb = op->name == weir__pg_hello ? WEIR__PG_HELLO : verb_of(op->verb);
	op->keeper = call;
	if (op->verb == WEIR__REQUEST && op->wait)
		weir__pg_set_token(pg, call, op->token);
	weir__pg_move(pg, call, CALL_NEXT);
	return true;
}

/* One that is on its way is withdrawn when its reply says that it waits, and so is one that would
 * be sent next: whoever runs out of time at once has at least tried. */
void weir__pg_withdraw(struct postgres *pg, struct weir__op *op)
{
	struct call *call = op->keeper;

	if (call == NULL || call->withdrawn)
		return;
	call->withdrawn = true;
	if (call->state == CALL_SENT)
		return;
	if (call->state == CALL_NEXT && pg->ready &&
	    (op->give_up == -ETIMEDOUT || op->place_was_left))
		return;
	if ((call->state == CALL_NEXT && !call->sent_before) || op->place_stays) {
		weir__pg_answer(pg, call, op->give_up);
		return;
	}
	if (!pg->ready) {
		weir__pg_abandon(pg, call, op->give_up);
		return;
	}
	call->verb = WEIR__PG_WITHDRAW;
	weir__pg_move(pg, call, CALL_NEXT);
}

void weir__pg_names_free(struct names *names)
{
	for (size_t i = 0; names != NULL && i < names->count; i++)
		free(names->name[i]);
	if (names != NULL)
		free(names->name);
	free(names);
}

static void free_if_over(struct call *call)
{
	if (call->op != NULL || call->orphan || call->expected != 0)
		return;
	weir__pg_names_free(call->names);
	free(call);
}

void weir__pg_heard_of(struct call *call)
{
	call->expected--;
	free_if_over(call);
}

static void answer(struct postgres *pg, struct call *call, int result)
{
	struct weir__op *op = call->op;

	hide(pg, call);
	call->op = NULL;
	op->keeper = NULL;
	if (call->sent != 0)
		op->sent = call->sent;
	weir__op_answer(op, result); /* and it is its asker's */
}

void weir__pg_answer(struct postgres *pg, struct call *call, int result)
{
	weir__pg_move(pg, call, CALL_SENT);
	answer(pg, call, result);
	free_if_over(call);
}

void weir__pg_refuse(struct postgres *pg, struct call *call, int error, const char *why)
{
	if (call->orphan) {
		weir__pg_bury(pg, call);
		return;
	}
	call->op->error = weir__format_new("PostgreSQL at %s: %s", pg->address.where, why);
	weir__pg_answer(pg, call, error);
}

void weir__pg_bury(struct postgres *pg, struct call *call)
{
	weir__pg_move(pg, call, CALL_SENT);
	call->orphan = false;
	free_if_over(call);
}

static void park(struct postgres *pg, struct call *call)
{
	if (weir__gate_is_shut(pg->store) || pg->n_parked >= MOST_PARKED) {
		weir__pg_bury(pg, call);
		return;
	}
	pg->n_parked++;
	weir__pg_move(pg, call, CALL_PARKED);
}

void weir__pg_unpark(struct postgres *pg)
{
	while (pg->parked.first != NULL)
		weir__pg_move(pg, pg->parked.first, CALL_NEXT);
	pg->n_parked = 0;
}

/* Of a request that may have arrived, and of any release. What was granted earlier under the same
 * id is not this one's to take back, nor a place that others of its id wait in. */
static bool leaves_something(const struct call *call)
{
	if (call->verb == WEIR__PG_RELEASE)
		return true;
	return (call->verb == WEIR__PG_REQUEST || call->verb == WEIR__PG_WITHDRAW) &&
	       !call->op->place_stays && (call->state == CALL_WAITING || call->sent_before) &&
	       memcmp(call->token, call->op->token, WEIR_TOKEN_SIZE) == 0;
}

void weir__pg_abandon(struct postgres *pg, struct call *call, int result)
{
	call->orphan = leaves_something(call);
	if (!call->orphan) {
		weir__pg_answer(pg, call, result);
		return;
	}
	if (call->verb == WEIR__PG_REQUEST)
		call->verb = WEIR__PG_WITHDRAW;
	answer(pg, call, result);
	park(pg, call);
}

static void refuse_list(struct postgres *pg, struct calls *calls, int error, const char *why)
{
	while (calls->first != NULL) {
		struct call *call = calls->first;

		if (call->orphan) {
			park(pg, call);
			continue;
		}
		call->op->error = weir__format_new("PostgreSQL at %s: %s", pg->address.where, why);
		weir__pg_abandon(pg, call, error);
	}
}

void weir__pg_refuse_all(struct postgres *pg, int error, const char *why)
{
	refuse_list(pg, &pg->todo, error, why);
	refuse_list(pg, &pg->waiting, error, why);
}

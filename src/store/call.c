/* store: calls, from the operation that is asked to its answer. See call.h. */
#include "store/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "lease/namesakes.h"
#include "lease/op.h"

enum { MOST_PARKED = 10000 };

const char weir__hello[] = "hello";
const char weir__goodbye[] = "goodbye";

/* ---- lists ----------------------------------------------------------------------------------- */

static struct calls *list_of(const struct call *call)
{
	switch (call->state) {
	case CALL_NEXT:
		return &call->server->todo;
	case CALL_WAITING:
		return &call->desk->waiting;
	case CALL_PARKED:
		return &call->desk->parked;
	case CALL_RESTING:
		return &call->desk->resting;
	case CALL_SENT:
		break;
	}
	return NULL;
}

void weir__call_move(struct call *call, enum call_state state)
{
	struct calls *list = list_of(call);

	if (list == NULL && state == CALL_SENT)
		return;
	if (list != NULL) {
		*(call->previous != NULL ? &call->previous->next : &list->first) = call->next;
		*(call->next != NULL ? &call->next->previous : &list->last) = call->previous;
	}
	call->next = call->previous = NULL;
	call->state = state;
	if (state == CALL_NEXT && !call->pinned)
		call->server = call->desk->kind->server_of(call->desk, call);
	list = list_of(call);
	if (list != NULL) {
		call->previous = list->last;
		*(list->last != NULL ? &list->last->next : &list->first) = call;
		list->last = call;
	}
}

void weir__calls_behind(struct calls *list, struct calls aside)
{
	if (aside.first == NULL)
		return;
	aside.first->previous = list->last;
	*(list->last != NULL ? &list->last->next : &list->first) = aside.first;
	list->last = aside.last;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static uint64_t hash_of(const void *token)
{
	return weir__hash(token, WEIR_TOKEN_SIZE, 0);
}

static void hide(struct call *call)
{
	if (call->findable)
		weir__table_remove(&call->desk->tokens, &call->by_token);
	call->findable = false;
}

void weir__call_set_token(struct call *call, const void *token)
{
	if (call->findable && memcmp(call->token, token, WEIR_TOKEN_SIZE) == 0)
		return;
	hide(call);
	memcpy(call->token, token, WEIR_TOKEN_SIZE);
	weir__table_add(&call->desk->tokens, &call->by_token, hash_of(token));
	call->findable = true;
}

static struct call *same_token(struct weir__link *link, const void *token)
{
	_Static_assert(offsetof(struct call, by_token) == 0, "a link is its call");
	for (; link != NULL; link = weir__table_again(link)) {
		struct call *call = (struct call *)(void *)link;

		if (memcmp(call->token, token, WEIR_TOKEN_SIZE) == 0)
			return call;
	}
	return NULL;
}

struct call *weir__desk_waiter(struct desk *desk, const void *token)
{
	return same_token(weir__table_find(&desk->tokens, hash_of(token)), token);
}

struct call *weir__call_next_waiter(struct call *call)
{
	return same_token(weir__table_again(&call->by_token), call->token);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void free_if_over(struct call *call)
{
	if (weir__call_is_live(call) || call->expected != 0)
		return;
	weir__names_free(call->names);
	free(call);
}

void weir__call_heard_of(struct call *call)
{
	call->expected--;
	free_if_over(call);
}

static void answer(struct call *call, int result)
{
	struct weir__op *op = call->op;

	hide(call);
	call->op = NULL;
	op->keeper = NULL;
	if (call->sent != 0)
		op->sent = call->sent;
	weir__op_answer(op, result); /* and it is its asker's */
}

void weir__call_answer(struct call *call, int result)
{
	weir__call_move(call, CALL_SENT);
	answer(call, result);
	free_if_over(call);
}

static void say(struct call *call, const struct server *server, const char *why)
{
	call->op->error = weir__format_new("%s at %s: %s", call->desk->kind->product, server->where,
					   why);
}

void weir__call_refuse(struct call *call, int error, const char *why)
{
	if (call->orphan) {
		weir__call_bury(call);
		return;
	}
	say(call, call->server, why);
	weir__call_answer(call, error);
}

/* ---- orphans --------------------------------------------------------------------------------- */

static uint64_t id_of(const struct call *call)
{
	const char *id = call->op->request_id;

	return weir__hash(id, strlen(id), weir__hash(call->name, strlen(call->name), 0));
}

void weir__call_bury(struct call *call)
{
	if (call->listed)
		weir__table_remove(&call->desk->orphans, &call->by_token);
	call->listed = false;
	weir__call_move(call, CALL_SENT);
	call->orphan = false;
	free_if_over(call);
}

static void park(struct call *call)
{
	struct desk *desk = call->desk;

	if (weir__gate_is_shut(desk->store) || desk->n_parked >= MOST_PARKED) {
		weir__call_bury(call);
		return;
	}
	desk->n_parked++;
	weir__call_move(call, CALL_PARKED);
}

/* Others of its id have come since it gave up, or wait with it: the place is theirs. */
static bool keeps_place(const struct call *call)
{
	return call->withdrawn && weir__namesakes_keep_place(call->op);
}

/* Of a request that may have arrived, and of any release. What was granted earlier under the same
 * id is not this one's to take back, nor a place that others of its id wait in. */
static bool leaves_something(const struct call *call)
{
	if (call->verb == CALL_RELEASE)
		return true;
	return (call->verb == CALL_REQUEST || call->verb == CALL_WITHDRAW) && !keeps_place(call) &&
	       (call->state == CALL_WAITING || call->sent_before) &&
	       memcmp(call->token, call->op->token, WEIR_TOKEN_SIZE) == 0;
}

/* An heir that has not asked leaves what was left to it. */
static bool leaves_inheritance(struct call *call)
{
	if (!call->heir || call->state == CALL_WAITING || call->sent_before)
		return false;
	hide(call);
	memcpy(call->token, call->left, WEIR_TOKEN_SIZE);
	return true;
}

static void orphan(struct call *call, int result)
{
	uint64_t id = call->op->request_id != NULL ? id_of(call) : 0;

	if (call->verb == CALL_REQUEST)
		call->verb = CALL_WITHDRAW;
	answer(call, result);
	if (id != 0) {
		weir__table_add(&call->desk->orphans, &call->by_token, id);
		call->listed = true;
	}
	park(call);
}

void weir__call_abandon(struct call *call, int result)
{
	call->orphan = leaves_something(call) || leaves_inheritance(call);
	if (call->orphan)
		orphan(call, result);
	else
		weir__call_answer(call, result);
}

/* Whoever asks under the id of orphans has what they have left. One that is on its way comes before
 * the question: if it finds a place, that ends; if it finds a lease, that stays. */
static void inherit(struct call *call)
{
	struct desk *desk = call->desk;
	struct weir__link *link = weir__table_find(&desk->orphans, id_of(call));

	while (link != NULL) {
		struct call *left = (struct call *)(void *)link;

		link = weir__table_again(link);
		call->heir = true;
		memcpy(call->left, left->token, WEIR_TOKEN_SIZE);
		left->inherited = true;
		if (left->state == CALL_SENT)
			continue;
		desk->n_parked -= left->state == CALL_PARKED;
		weir__call_bury(left);
	}
}

void weir__call_fail(struct call *call, const struct server *server, int error, const char *why)
{
	if (call->orphan) {
		park(call);
		return;
	}
	say(call, server, why);
	weir__call_abandon(call, error);
}

/* ---- again ----------------------------------------------------------------------------------- */

void weir__call_take_back(struct call *call)
{
	call->polled = false;
	call->look_again = 0;
	if (!weir__call_is_live(call) || call->state != CALL_SENT)
		return;
	if (call->inherited) {
		weir__call_bury(call);
		return;
	}
	weir__names_start_over(call->names);
	if (call->withdrawn && call->verb == CALL_REQUEST && !call->sent_before)
		weir__call_answer(call, call->op->give_up);
	else
		weir__call_move(call, CALL_NEXT);
}

void weir__call_unsend(struct call *call)
{
	if (call->state == CALL_SENT)
		call->sent_before = true;
	weir__call_take_back(call);
}

void weir__desk_look(struct desk *desk, weir_time time)
{
	if (time >= desk->beats_at)
		return;
	desk->beats_at = time;
	weir__agent_timer_set(desk->agent, &desk->heartbeat, time);
}

/* ---- from askers ----------------------------------------------------------------------------- */

static struct call *new_call(struct desk *desk, struct weir__op *op)
{
	size_t size = strlen(op->name) + 1;
	struct call *call = malloc(sizeof(*call) + size); /* calloc has no quick way */

	if (call == NULL)
		return NULL;
	*call = (struct call){ 0 };
	memcpy(call->name, op->name, size);
	memcpy(call->token, op->token, WEIR_TOKEN_SIZE);
	call->desk = desk;
	call->op = op;
	call->state = CALL_SENT; /* in no list */
	call->verb = op->name == weir__hello ? CALL_HELLO : (enum call_verb)op->verb;
	if (desk->kind->prepare(call))
		return call;
	free(call);
	return NULL;
}

bool weir__desk_take(struct desk *desk, struct weir__op *op)
{
	struct call *call = new_call(desk, op);

	if (call == NULL) {
		weir__op_answer(op, -ENOMEM);
		return false;
	}
	op->keeper = call;
	if (op->verb == WEIR__REQUEST && !op->private_id)
		inherit(call);
	if (op->verb == WEIR__REQUEST && op->wait)
		weir__call_set_token(call, op->token);
	weir__call_move(call, CALL_NEXT);
	/* Whoever may wait, or hold for long, may have to be told something. */
	if (op->verb == WEIR__REQUEST && (op->wait || !op->detached) && !desk->wants_ear) {
		desk->wants_ear = true;
		desk->kind->listen(desk);
	}
	return true;
}

/* One that is on its way is withdrawn when its answer says that it waits, and so is one that would
 * be sent next: whoever runs out of time at once has at least tried. */
void weir__desk_withdraw(struct weir__op *op)
{
	struct call *call = op->keeper;

	if (call == NULL || call->withdrawn)
		return;
	call->withdrawn = true;
	if (call->state == CALL_SENT)
		return;
	if (call->state == CALL_NEXT && call->server->ready &&
	    (op->give_up == -ETIMEDOUT || op->place_was_left || call->heir))
		return;
	if ((call->state != CALL_WAITING && !call->sent_before && !call->heir) ||
	    keeps_place(call)) {
		weir__call_answer(call, op->give_up);
		return;
	}
	if (!call->desk->kind->server_of(call->desk, call)->ready) {
		weir__call_abandon(call, op->give_up);
		return;
	}
	call->verb = CALL_WITHDRAW;
	weir__call_move(call, CALL_NEXT);
}

uint32_t weir__desk_serve(struct desk *desk, struct weir__op *operations,
			  struct weir__op *withdrawn)
{
	uint32_t n = 0;

	for (; operations != NULL; n++) {
		struct weir__op *next = operations->next;

		if (operations->name == weir__goodbye)
			desk->goodbye = operations;
		else
			(void)weir__desk_take(desk, operations);
		operations = next;
	}
	while (withdrawn != NULL) {
		struct weir__op *next = withdrawn->withdraw_next;

		weir__desk_withdraw(withdrawn);
		withdrawn = next;
	}
	return n;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void weir__desk_init(struct desk *desk, const struct desk_kind *kind, struct weir_store *store)
{
	desk->kind = kind;
	desk->store = store;
	desk->beats_at = desk->wakes_at = WEIR_NEVER;
	weir__backoff_init(&desk->backoff);
}

/* Asks the agent for something that is not the store's, and waits. */
static int ask(struct desk *desk, const char *what, char **ret_error)
{
	struct weir__op op = {
		.verb = WEIR__LIST, .name = what, .agent = desk->agent, .done = weir__op_wake
	};

	weir__agent_submit(desk->agent, &op);
	weir__op_wait(&op);
	*ret_error = op.error;
	return op.result;
}

int weir__desk_say_hello(struct desk *desk, char **ret_error)
{
	return ask(desk, weir__hello, ret_error);
}

void weir__desk_say_goodbye(struct desk *desk)
{
	char *error = NULL;

	(void)ask(desk, weir__goodbye, &error);
	weir__free(error);
}

void weir__desk_done(struct desk *desk)
{
	while (desk->parked.first != NULL)
		weir__call_bury(desk->parked.first);
	weir__table_done(&desk->tokens);
	weir__table_done(&desk->orphans);
}

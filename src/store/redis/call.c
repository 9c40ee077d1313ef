/* store/redis: calls, from the operation that is asked to its answer. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "store/redis/redis.h"

enum { MOST_PARKED = 10000 };

const char weir__redis_hello[] = "hello";
const char weir__redis_goodbye[] = "goodbye";

static struct calls *list_of(struct redis *redis, const struct call *call)
{
	switch (call->state) {
	case CALL_NEXT:
		return &call->node->todo;
	case CALL_WAITING:
		return &redis->waiting;
	case CALL_PARKED:
		return &redis->parked;
	case CALL_RESTING:
		return &redis->resting;
	case CALL_SENT:
		break;
	}
	return NULL;
}

static uint64_t hash_of(const void *token)
{
	return weir__hash(token, WEIR_TOKEN_SIZE, 0);
}

static struct node *route(const struct redis *redis, const struct call *call)
{
	if (call->asking)
		return call->node;
	if (call->names != NULL)
		return weir__redis_survey_node(redis, call->names);
	return weir__redis_node_of(redis, call->name);
}

void weir__redis_move(struct redis *redis, struct call *call, enum call_state state)
{
	struct calls *list = list_of(redis, call);

	if (list != NULL) {
		*(call->previous != NULL ? &call->previous->next : &list->first) = call->next;
		*(call->next != NULL ? &call->next->previous : &list->last) = call->previous;
	}
	call->next = call->previous = NULL;
	call->state = state;
	if (state == CALL_NEXT)
		call->node = route(redis, call);
	list = list_of(redis, call);
	if (list != NULL) {
		call->previous = list->last;
		*(list->last != NULL ? &list->last->next : &list->first) = call;
		list->last = call;
	}
}

static void hide(struct redis *redis, struct call *call)
{
	if (call->findable)
		weir__table_remove(&redis->tokens, &call->by_token);
	call->findable = false;
}

void weir__redis_set_token(struct redis *redis, struct call *call, const void *token)
{
	if (call->findable && memcmp(call->token, token, WEIR_TOKEN_SIZE) == 0)
		return;
	hide(redis, call);
	memcpy(call->token, token, WEIR_TOKEN_SIZE);
	weir__table_add(&redis->tokens, &call->by_token, hash_of(token));
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

struct call *weir__redis_waiter(struct redis *redis, const void *token)
{
	_Static_assert(offsetof(struct call, by_token) == 0, "a link is its call");
	return same_token(weir__table_find(&redis->tokens, hash_of(token)), token);
}

struct call *weir__redis_next_waiter(struct call *call)
{
	return same_token(weir__table_again(&call->by_token), call->token);
}

static enum weir__script script_of(enum weir__verb verb)
{
	switch (verb) {
	case WEIR__ENSURE:
		return WEIR__LUA_ENSURE;
	case WEIR__SET_LIMIT:
		return WEIR__LUA_LIMIT;
	case WEIR__REQUEST:
		return WEIR__LUA_REQUEST;
	case WEIR__RENEW:
		return WEIR__LUA_RENEW;
	case WEIR__RELEASE:
		return WEIR__LUA_RELEASE;
	case WEIR__EVICT:
		return WEIR__LUA_EVICT;
	case WEIR__REAP:
		return WEIR__LUA_REAP;
	case WEIR__LIST:
		return WEIR__LUA_LIST;
	}
	return WEIR__NO_SCRIPT;
}

bool weir__redis_take(struct redis *redis, struct weir__op *op)
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
	call->script = op->name == weir__redis_hello ? WEIR__HELLO : script_of(op->verb);
	if ((call->script == WEIR__LUA_LIST || call->script == WEIR__LUA_REAP) &&
	    !weir__redis_survey_start(redis, call)) {
		weir__redis_names_free(call->names);
		free(call);
		weir__op_answer(op, -ENOMEM);
		return false;
	}
	op->keeper = call;
	if (op->verb == WEIR__REQUEST && op->wait)
		weir__redis_set_token(redis, call, op->token);
	weir__redis_move(redis, call, CALL_NEXT);
	return true;
}

/* One that is on its way is withdrawn when its reply says that it waits, and so is one that would
 * be sent next: whoever runs out of time at once has at least tried. */
void weir__redis_withdraw(struct redis *redis, struct weir__op *op)
{
	struct call *call = op->keeper;

	if (call == NULL || call->withdrawn)
		return;
	call->withdrawn = true;
	if (call->state == CALL_SENT)
		return;
	if (call->state == CALL_NEXT && call->node->ready &&
	    (op->give_up == -ETIMEDOUT || op->place_was_left))
		return;
	if (((call->state == CALL_NEXT || call->state == CALL_RESTING) && !call->sent_before) ||
	    op->place_stays) {
		weir__redis_answer(redis, call, op->give_up);
		return;
	}
	if (!weir__redis_node_of(redis, call->name)->ready) {
		weir__redis_abandon(redis, call, op->give_up);
		return;
	}
	call->script = WEIR__LUA_WITHDRAW;
	weir__redis_move(redis, call, CALL_NEXT);
}

static void free_if_over(struct call *call)
{
	if (call->op != NULL || call->orphan || call->expected != 0)
		return;
	weir__redis_names_free(call->names);
	free(call);
}

void weir__redis_heard_of(struct call *call)
{
	call->expected--;
	free_if_over(call);
}

static void answer(struct redis *redis, struct call *call, int result)
{
	struct weir__op *op = call->op;

	hide(redis, call);
	call->op = NULL;
	op->keeper = NULL;
	if (call->sent != 0)
		op->sent = call->sent;
	weir__op_answer(op, result); /* and it is its asker's */
}

void weir__redis_answer(struct redis *redis, struct call *call, int result)
{
	weir__redis_move(redis, call, CALL_SENT);
	answer(redis, call, result);
	free_if_over(call);
}

void weir__redis_refuse(struct redis *redis, struct call *call, int error, const char *why)
{
	if (call->orphan) {
		weir__redis_bury(redis, call);
		return;
	}
	call->op->error = weir__format_new("Redis at %s: %s", call->node->where, why);
	weir__redis_answer(redis, call, error);
}

void weir__redis_bury(struct redis *redis, struct call *call)
{
	weir__redis_move(redis, call, CALL_SENT);
	call->orphan = false;
	free_if_over(call);
}

static void park(struct redis *redis, struct call *call)
{
	if (weir__gate_is_shut(redis->store) || redis->n_parked >= MOST_PARKED) {
		weir__redis_bury(redis, call);
		return;
	}
	redis->n_parked++;
	weir__redis_move(redis, call, CALL_PARKED);
}

void weir__redis_unpark(struct node *node)
{
	struct redis *redis = node->redis;
	struct call *next;

	for (struct call *call = redis->parked.first; call != NULL; call = next) {
		next = call->next;
		if (weir__redis_node_of(redis, call->name) != node)
			continue;
		weir__redis_move(redis, call, CALL_NEXT);
		redis->n_parked--;
	}
}

/* Of a request that may have arrived, and of any release. What was granted earlier under the same
 * id is not this one's to take back, nor a place that others of its id wait in. */
static bool leaves_something(const struct call *call)
{
	if (call->script == WEIR__LUA_RELEASE)
		return true;
	return (call->script == WEIR__LUA_REQUEST || call->script == WEIR__LUA_WITHDRAW) &&
	       !call->op->place_stays && (call->state == CALL_WAITING || call->sent_before) &&
	       memcmp(call->token, call->op->token, WEIR_TOKEN_SIZE) == 0;
}

void weir__redis_abandon(struct redis *redis, struct call *call, int result)
{
	call->orphan = leaves_something(call);
	if (!call->orphan) {
		weir__redis_answer(redis, call, result);
		return;
	}
	if (call->script == WEIR__LUA_REQUEST)
		call->script = WEIR__LUA_WITHDRAW;
	answer(redis, call, result);
	park(redis, call);
}

void weir__redis_fail(struct node *node, struct call *call, int error, const char *why)
{
	if (call->orphan) {
		park(node->redis, call);
		return;
	}
	call->op->error = weir__format_new("Redis at %s: %s", node->where, why);
	weir__redis_abandon(node->redis, call, error);
}

void weir__redis_refuse_all(struct node *node, int error, const char *why)
{
	struct redis *redis = node->redis;
	struct call *next;

	while (node->todo.first != NULL)
		weir__redis_fail(node, node->todo.first, error, why);
	for (struct call *call = redis->waiting.first; call != NULL; call = next) {
		next = call->next;
		if (weir__redis_node_of(redis, call->name) == node)
			weir__redis_fail(node, call, error, why);
	}
}

bool weir__redis_is_idle(const struct node *node)
{
	const struct call *call = node->redis->waiting.first;

	while (call != NULL && weir__redis_node_of(node->redis, call->name) != node)
		call = call->next;
	return call == NULL && node->todo.first == NULL;
}

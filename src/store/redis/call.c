/* store/redis: calls, from the operation that is asked to its answer. See redis.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/print.h"
#include "store/redis/redis.h"

static struct calls *list_of(struct redis *redis, enum call_state state)
{
	return state == CALL_TODO ? &redis->todo : state == CALL_WAITING ? &redis->waiting : NULL;
}

void weir__redis_move(struct redis *redis, struct call *call, enum call_state state)
{
	struct calls *list = list_of(redis, call->state);

	if (list != NULL) {
		*(call->previous != NULL ? &call->previous->next : &list->first) = call->next;
		*(call->next != NULL ? &call->next->previous : &list->last) = call->previous;
	}
	call->next = call->previous = NULL;
	call->state = state;
	list = list_of(redis, state);
	if (list != NULL) {
		call->previous = list->last;
		*(list->last != NULL ? &list->last->next : &list->first) = call;
		list->last = call;
	}
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
	case WEIR__LIST:
		break;
	}
	return WEIR__NO_SCRIPT;
}

void weir__redis_take(struct redis *redis, struct weir__op *op)
{
	struct call *call = calloc(1, sizeof(*call));

	if (call == NULL) {
		weir__op_answer(op, -ENOMEM);
		return;
	}
	call->op = op;
	call->state = CALL_SENT; /* in no list */
	call->script = script_of(op->verb);
	op->keeper = call;
	weir__redis_move(redis, call, CALL_TODO);
}

/* One that is on its way is withdrawn when its reply says that it waits. */
void weir__redis_withdraw(struct redis *redis, struct weir__op *op)
{
	struct call *call = op->keeper;

	if (call == NULL)
		return;
	call->withdrawn = true;
	if (call->state == CALL_WAITING) {
		call->script = WEIR__LUA_WITHDRAW;
		weir__redis_move(redis, call, CALL_TODO);
	} else if (call->state == CALL_TODO && call->script == WEIR__LUA_REQUEST &&
		   !call->sent_before) {
		weir__redis_answer(redis, call, op->give_up);
	}
}

static void free_if_over(struct call *call)
{
	if (call->op != NULL || call->expected != 0)
		return;
	weir__redis_names_free(call->names);
	free(call);
}

void weir__redis_unheard(struct call *call)
{
	call->expected--;
	free_if_over(call);
}

void weir__redis_answer(struct redis *redis, struct call *call, int result)
{
	struct weir__op *op = call->op;

	weir__redis_move(redis, call, CALL_SENT);
	call->op = NULL;
	op->keeper = NULL;
	op->sent = call->sent;
	free_if_over(call);
	weir__op_answer(op, result);
}

void weir__redis_refuse(struct redis *redis, struct call *call, int error, const char *why)
{
	char where[2 * WEIR_NAME_MAX];

	weir__address_print(&redis->address, where, sizeof(where));
	call->op->error = weir__format_new("Redis at %s: %s", where, why);
	weir__redis_answer(redis, call, error);
}

void weir__redis_refuse_all(struct redis *redis, int error, const char *why)
{
	while (redis->todo.first != NULL)
		weir__redis_refuse(redis, redis->todo.first, error, why);
	while (redis->waiting.first != NULL)
		weir__redis_refuse(redis, redis->waiting.first, error, why);
}

/* store/redis: calls: sending them, and what is said to them. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/fault.h"
#include "store/redis/redis.h"

enum {
	PARTS = 24,
	DIGITS = 24,
	NUMBERS = 10,
	KEYS = 5,
	KEY_SIZE = 2 * WEIR_NAME_MAX + 16,
};

/* ---- lists ----------------------------------------------------------------------------------- */

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

/* ---- answers --------------------------------------------------------------------------------- */

static void free_if_over(struct call *call)
{
	if (call->op != NULL || call->expected != 0)
		return;
	weir__redis_names_free(call->names);
	free(call);
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

static void refuse(struct redis *redis, struct call *call, int error, const char *why)
{
	char where[WEIR_NAME_MAX];

	weir__address_print(&redis->address, where, sizeof(where));
	call->op->error = weir__sentence("Redis at %s: %s", where, why);
	weir__redis_answer(redis, call, error);
}

void weir__redis_refuse_all(struct redis *redis, int error, const char *why)
{
	while (redis->todo.first != NULL)
		refuse(redis, redis->todo.first, error, why);
	while (redis->waiting.first != NULL)
		refuse(redis, redis->waiting.first, error, why);
}

/* weight, slot, fence, left, hard end, ttl; microseconds. */
void weir__redis_granted(struct redis *redis, struct call *call, const uint8_t *token,
			 const long long *lease)
{
	struct weir__grant *grant = &call->op->grant;

	memcpy(grant->token, token, WEIR_TOKEN_SIZE);
	grant->weight = (uint32_t)lease[0];
	grant->slot = (uint32_t)lease[1];
	grant->fence = (uint64_t)lease[2];
	grant->left = lease[3] * WEIR_US;
	grant->hard_left = lease[4] < 0 ? WEIR_NEVER : lease[4] * WEIR_US;
	grant->ttl = lease[5] * WEIR_US;
	weir__redis_answer(redis, call, 0);
}

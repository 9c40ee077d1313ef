/* store/redis: calls that cannot be answered just now, though their server can answer others: of a
 * name that is on its way from one server of a cluster to another. See redis.h. */
#include <errno.h>

#include "base/boottime.h"
#include "store/redis/redis.h"

static void rest(struct redis *redis, struct call *call, const char *why)
{
	if (++call->rests >= weir__desk_attempts(&redis->desk, 0)) {
		weir__call_fail(call, call->server, -EHOSTUNREACH, why);
		return;
	}
	call->look_again = weir__boottime() +
			   weir__backoff_delay(&redis->desk.backoff, call->rests);
	weir__call_move(call, CALL_RESTING);
	if (call->look_again < redis->wakes_at) {
		redis->wakes_at = call->look_again;
		weir__agent_timer_set(redis->desk.agent, &redis->wake_up, call->look_again);
	}
}

/* Whoever only asked whether it was granted asks again in a heartbeat. */
void weir__redis_rest(struct redis *redis, const struct awaited *awaited, const char *why)
{
	weir_time next = weir__boottime() + redis->desk.store->bounds.heartbeat;

	weir__redis_take_back(awaited, NULL);
	for (size_t i = 0; i < awaited->n; i++) {
		struct call *call = awaited->calls[i];

		if (call->state == CALL_WAITING)
			call->look_again = next;
		else if (call->state == CALL_NEXT)
			rest(redis, call, why);
	}
	weir__desk_look(&redis->desk, next);
}

void weir__redis_wake_up(struct weir__timer *timer)
{
	struct redis *redis =
		(struct redis *)(void *)((char *)timer - offsetof(struct redis, wake_up));
	weir_time now = weir__boottime(), next = WEIR_NEVER;
	struct call *after;

	weir__lock(&redis->lock);
	for (struct call *call = redis->desk.resting.first; call != NULL; call = after) {
		after = call->next;
		if (call->look_again <= now)
			weir__call_move(call, CALL_NEXT);
		else if (call->look_again < next)
			next = call->look_again;
	}
	redis->wakes_at = next;
	if (next != WEIR_NEVER)
		weir__agent_timer_set(redis->desk.agent, &redis->wake_up, next);
	weir__redis_send(redis);
	weir__unlock(&redis->lock);
}

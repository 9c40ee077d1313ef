/* store/redis: calls of a name that is on its way from one server of a cluster to another. See
 * redis.h. */
#include "store/rest.h"
#include "store/redis/redis.h"

void weir__redis_rest(struct redis *redis, const struct awaited *awaited, const char *why)
{
	weir__redis_take_back(awaited, NULL);
	(void)weir__rest_calls(&redis->desk, awaited->calls, awaited->n, why);
}

void weir__redis_wake_up(struct weir__timer *timer)
{
	struct redis *redis =
		(struct redis *)(void *)((char *)timer - offsetof(struct redis, desk.wake_up));

	weir__lock(&redis->lock);
	weir__rest_over(&redis->desk);
	weir__redis_send(redis);
	weir__unlock(&redis->lock);
}

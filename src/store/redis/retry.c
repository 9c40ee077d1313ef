/* store/redis: connections that fail, and servers that cannot just now. See redis.h. */
#include <stdlib.h>

#include "store/redis/redis.h"

void weir__redis_connect(struct server *server)
{
	struct node *node = weir__redis_node(server);

	if (node->mouth.state != WEIR__WIRE_DOWN || node->server.pausing ||
	    node->redis->guide.state != WEIR__WIRE_DOWN)
		return;
	node->server.ready = false;
	node->loaded = 0;
	node->doubt[0] = '\0';
	weir__redis_open_mouth(node);
}

/* At the next node that can be talked to. */
void weir__redis_listen(struct desk *desk)
{
	struct redis *redis = weir__redis_of(desk);

	if (!redis->desk.wants_ear || redis->ear.state != WEIR__WIRE_DOWN || redis->ear_pausing)
		return;
	for (size_t i = 0; i < redis->n_nodes; i++) {
		size_t at = (redis->ear_at + i) % redis->n_nodes;

		if (!redis->nodes[at]->server.ready)
			continue;
		redis->ear_at = at;
		redis->ear.address = &redis->nodes[at]->address;
		weir__wire_open(&redis->ear);
		return;
	}
}

void weir__redis_reconsider(struct redis *redis)
{
	for (size_t i = 0; i < redis->n_nodes; i++)
		if (redis->nodes[i]->server.verifying)
			weir__agent_timer_set(redis->desk.agent, &redis->verify, 0);
}

void weir__redis_unsend(struct server *server)
{
	struct node *node = weir__redis_node(server);
	struct awaited *awaited = node->awaited_first;

	node->server.verifying = false;
	node->awaited_first = node->awaited_last = NULL;
	while (awaited != NULL) {
		struct awaited *next = awaited->next;

		if (awaited->about != NULL && awaited->about->witness == node)
			awaited->about->witness = NULL;
		for (size_t i = 0; i < awaited->n; i++) {
			weir__call_unsend(awaited->calls[i]);
			weir__call_heard_of(awaited->calls[i]);
		}
		free(awaited);
		awaited = next;
	}
	weir__redis_reconsider(node->redis);
}

void weir__redis_take_back(const struct awaited *awaited, struct node *ask)
{
	for (size_t i = 0; i < awaited->n; i++) {
		struct call *call = awaited->calls[i];

		if (weir__call_is_live(call) &&
		    (call->state == CALL_SENT || call->state == CALL_WAITING)) {
			call->pinned = ask != NULL && call->names == NULL;
			if (call->pinned)
				call->server = &ask->server;
		}
		weir__call_take_back(call);
	}
}

static bool has_something(const struct redis *redis)
{
	for (size_t i = 0; i < redis->n_nodes; i++)
		if (redis->nodes[i]->server.todo.first != NULL ||
		    redis->nodes[i]->awaited_first != NULL)
			return true;
	return redis->desk.waiting.first != NULL || redis->desk.resting.first != NULL;
}

void weir__redis_part(struct desk *desk)
{
	struct redis *redis = weir__redis_of(desk);
	struct weir__op *goodbye = redis->desk.goodbye;

	if (goodbye == NULL || has_something(redis))
		return;
	redis->desk.goodbye = NULL;
	weir__agent_timer_unset(redis->desk.agent, &redis->ear_pause);
	weir__agent_timer_unset(redis->desk.agent, &redis->desk.heartbeat);
	weir__agent_timer_unset(redis->desk.agent, &redis->learn);
	weir__agent_timer_unset(redis->desk.agent, &redis->verify);
	weir__agent_timer_unset(redis->desk.agent, &redis->desk.wake_up);
	for (size_t i = 0; i < redis->n_nodes; i++) {
		weir__agent_timer_unset(redis->desk.agent, &redis->nodes[i]->server.pause);
		weir__agent_timer_unset(redis->desk.agent, &redis->nodes[i]->unwritten);
		weir__wire_close(&redis->nodes[i]->mouth);
	}
	weir__wire_close(&redis->guide);
	weir__wire_close(&redis->ear);
	weir__op_answer(goodbye, 0);
}

void weir__redis_look_elsewhere(struct desk *desk)
{
	struct redis *redis = weir__redis_of(desk);

	if (redis->slots != NULL)
		weir__agent_timer_set(desk->agent, &redis->learn, 0);
}

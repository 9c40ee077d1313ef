/* store/redis: when what is said to the server. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "store/redis/redis.h"

enum { SURVEY_AT_ONCE = 64 }; /* names that are asked about before one is heard of */

/* Listings ask about many names at once; a reaping must know how many it has had. */
static bool say_survey(struct redis *redis, struct call *call)
{
	struct names *names = call->names;
	size_t most = call->verb == CALL_REAP || !names->complete ? 1 : SURVEY_AT_ONCE;

	do {
		if (!weir__redis_say(redis, call))
			return false;
	} while (names->complete && names->asked < names->count &&
		 names->asked - names->heard < most &&
		 weir__redis_survey_node(redis, names) == weir__redis_node(call->server));
	return true;
}

static void say(struct redis *redis, struct call *call)
{
	bool survey = call->verb == CALL_LIST || call->verb == CALL_REAP;
	bool said;

	weir__call_move(call, CALL_SENT);
	if (call->verb == CALL_HELLO) {
		weir__call_answer(call, 0);
		return;
	}
	if (survey && call->names->complete && call->names->count == 0) {
		weir__call_answer(call, 0);
		return;
	}
	call->sent = weir__boottime();
	if (call->pinned && !weir__redis_say_asking(weir__redis_node(call->server))) {
		weir__call_refuse(call, -ENOMEM, "there is no memory");
		return;
	}
	said = survey ? say_survey(redis, call) : weir__redis_say(redis, call);
	if (!said)
		weir__call_refuse(call, -ENOMEM, "there is no memory");
}

static void send_to(struct node *node)
{
	if (node->server.todo.first == NULL || weir__server_is_held_up(&node->server))
		return;
	if (!node->server.ready) {
		weir__server_want(&node->server);
		return;
	}
	while (node->server.todo.first != NULL)
		say(node->redis, node->server.todo.first);
	weir__wire_flush(&node->mouth);
}

void weir__redis_send(struct redis *redis)
{
	for (size_t i = 0; i < redis->n_nodes; i++)
		send_to(redis->nodes[i]);
	weir__redis_part(&redis->desk);
}

/* An asker may be a task with little stack, and TLS wants much. */
bool weir__redis_can_send_now(const struct redis *redis, const struct node *node)
{
	return node->server.ready && !node->address.tls && node->server.todo.first == NULL &&
	       !weir__server_is_held_up(&node->server) &&
	       WEIR__LOAD(&redis->queued, __ATOMIC_ACQUIRE) == 0;
}

void weir__redis_send_now(struct node *node)
{
	while (node->server.todo.first != NULL)
		say(node->redis, node->server.todo.first);
	if (!weir__wire_try_flush(&node->mouth))
		weir__agent_timer_set(node->redis->desk.agent, &node->unwritten, 0);
}

static bool ask(void *self, struct server *server, struct call *const *calls, size_t n)
{
	struct node *node = weir__redis_node(server);

	(void)self;
	return (!calls[0]->pinned || weir__redis_say_asking(node)) &&
	       weir__redis_say_poll(node, calls, n);
}

void weir__redis_poll(struct redis *redis, const struct node *node, bool all)
{
	const struct poll poll = {
		.now = weir__boottime(),
		.of = node != NULL ? &node->server : NULL,
		.all = all,
		.ask = ask,
	};

	if (redis->desk.waiting.first == NULL)
		return;
	weir__desk_poll(&redis->desk, &poll);
	for (size_t i = 0; i < redis->n_nodes; i++)
		if (redis->nodes[i]->server.ready)
			weir__wire_flush(&redis->nodes[i]->mouth);
}

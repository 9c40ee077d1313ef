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
	if (node->server.todo.first == NULL || weir__redis_held_up(node))
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
	       !weir__redis_held_up(node) && WEIR__LOAD(&redis->queued, __ATOMIC_ACQUIRE) == 0;
}

void weir__redis_send_now(struct node *node)
{
	while (node->server.todo.first != NULL)
		say(node->redis, node->server.todo.first);
	if (!weir__wire_try_flush(&node->mouth))
		weir__agent_timer_set(node->redis->desk.agent, &node->unwritten, 0);
}

/* Whom to ask about one that waits. */
static struct node *node_of(const struct redis *redis, const struct call *call)
{
	return call->pinned ? weir__redis_node(call->server) :
			      weir__redis_node_of(redis, call->name);
}

static int by_name(const void *a, const void *b)
{
	const struct call *one = *(struct call *const *)a, *two = *(struct call *const *)b;
	int order = strcmp(one->name, two->name);

	return order != 0 ? order : one->pinned - two->pinned;
}

/* Those that are due, or nearly so: many in one command are cheaper than each in time. */
static size_t gather(struct redis *redis, const struct node *of, struct call **due, bool all)
{
	weir_time until = weir__boottime() + redis->desk.store->bounds.heartbeat / 8;
	weir_time next = WEIR_NEVER;
	size_t n = 0;

	for (struct call *call = redis->desk.waiting.first; call != NULL; call = call->next) {
		struct node *node = node_of(redis, call);

		if ((all || call->look_again <= until) && (of == NULL || of == node)) {
			if (!node->server.ready)
				weir__redis_connect(&node->server);
			else if (!call->polled && !weir__redis_held_up(node))
				due[n++] = call;
		} else if (call->look_again < next) {
			next = call->look_again;
		}
	}
	weir__desk_look(&redis->desk, next);
	return n;
}

static void say_polls(struct redis *redis, struct call **due, size_t n)
{
	size_t end;

	for (size_t i = 0; i < n; i = end) {
		struct node *node = node_of(redis, due[i]);

		for (end = i + 1; end < n && end - i < WEIR__REDIS_AT_ONCE; end++)
			if (by_name(&due[i], &due[end]) != 0)
				break;
		if (due[i]->pinned && !weir__redis_say_asking(node))
			return;
		if (!weir__redis_say_poll(node, due + i, end - i))
			return;
		for (size_t k = i; k < end; k++)
			due[k]->polled = true;
	}
}

void weir__redis_poll(struct redis *redis, const struct node *node, bool all)
{
	struct call **due;
	size_t n = 0;

	for (struct call *call = redis->desk.waiting.first; call != NULL; call = call->next)
		n++;
	if (n == 0)
		return;
	/* Whatever comes of this: a heartbeat from now it is tried again. */
	weir__desk_look(&redis->desk, weir__boottime() + redis->desk.store->bounds.heartbeat);
	due = malloc(n * sizeof(struct call *));
	if (due == NULL)
		return;
	n = gather(redis, node, due, all);
	qsort(due, n, sizeof(struct call *), by_name);
	say_polls(redis, due, n);
	free(due);
	for (size_t i = 0; i < redis->n_nodes; i++)
		if (redis->nodes[i]->server.ready)
			weir__wire_flush(&redis->nodes[i]->mouth);
}

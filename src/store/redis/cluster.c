/* store/redis: clusters: who has which slots, and whoever says that another one has. See redis.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/redis.h"

enum {
	SLOTS = 16384,
	HOST_SIZE = 256,
	PORT_SIZE = 8,
	/* Redirections of one call before it waits a while: two servers may disagree for some time.
	 */
	MOST_HOPS = 8,
};

/* ---- the map --------------------------------------------------------------------------------- */

/* A slot whose server went away has come to one that may not know all that was granted there. */
static void assign(struct redis *redis, size_t slot, size_t owner)
{
	struct node *before = redis->nodes[redis->slots[slot]];
	struct node *now = redis->nodes[owner];

	if (before != now && before->serves && !before->server.ready)
		now->server.cautious = weir__boottime() + redis->desk.longest;
	redis->slots[slot] = (uint16_t)owner;
}

static size_t number_of(const struct redis *redis, const struct node *node)
{
	size_t i = 0;

	while (redis->nodes[i] != node)
		i++;
	return i;
}

/* The master of a range: a host, which may be missing when it is the one that was asked, and a
 * port. */
static struct node *master_of(struct node *from, const struct weir__reply *range)
{
	const struct weir__reply *master = weir__reply_at(range, 2);
	const struct weir__reply *host = weir__reply_at(master, 0);
	bool known = host->type == REDIS_REPLY_STRING && host->size > 0 && host->size < HOST_SIZE;
	char port[PORT_SIZE];
	long long number = weir__reply_integer(master, 1);

	if (number < 1 || number > 65535)
		return NULL;
	weir__format(port, sizeof(port), "%d", (int)number);
	return weir__redis_node_at(from->redis, known ? host->text : from->address.host, port);
}

static int take_range(struct node *from, const struct weir__reply *range, bool *serves)
{
	struct redis *redis = from->redis;
	long long first = weir__reply_integer(range, 0), last = weir__reply_integer(range, 1);
	struct node *node = range->type == REDIS_REPLY_ARRAY ? master_of(from, range) : NULL;
	size_t owner;

	if (node == NULL || first < 0 || last >= SLOTS)
		return -EPROTO;
	owner = number_of(redis, node);
	serves[owner] = true;
	for (long long slot = first; slot <= last; slot++)
		assign(redis, (size_t)slot, owner);
	return 0;
}

/* What was to be asked of one node is now another's. */
static void reroute(struct redis *redis)
{
	for (size_t i = 0; i < redis->n_nodes; i++) {
		struct calls todo = redis->nodes[i]->server.todo;
		struct call *next;

		for (struct call *call = todo.first; call != NULL; call = next) {
			next = call != todo.last ? call->next : NULL;
			if (call->verb != CALL_HELLO)
				weir__call_move(call, CALL_NEXT);
		}
	}
}

int weir__redis_take_map(struct node *from, const struct weir__reply *reply)
{
	struct redis *redis = from->redis;
	bool serves[1024] = { false };
	int error = reply->type == REDIS_REPLY_ARRAY ? 0 : -EPROTO;

	if (redis->slots == NULL)
		redis->slots = calloc(SLOTS, sizeof(*redis->slots));
	if (redis->slots == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < reply->size && error == 0; i++)
		error = take_range(from, weir__reply_at(reply, i), serves);
	if (error < 0)
		return error;
	for (size_t i = 0; i < redis->n_nodes; i++) {
		redis->nodes[i]->serves = serves[i];
		redis->nodes[i]->doubt[0] = '\0'; /* what was true of them may not be any more */
	}
	reroute(redis);
	return 0;
}

void weir__redis_learn(struct weir__timer *timer)
{
	struct redis *redis =
		(struct redis *)(void *)((char *)timer - offsetof(struct redis, learn));
	struct node *node;

	weir__lock(&redis->lock);
	/* Another one each time: whoever has nothing new to tell may be cut off from the rest. */
	for (size_t i = 0; i < redis->n_nodes; i++) {
		redis->teacher = (redis->teacher + 1) % redis->n_nodes;
		if (redis->nodes[redis->teacher]->server.ready)
			break;
	}
	node = redis->nodes[redis->teacher];
	if (!node->server.ready)
		weir__redis_connect(&node->server); /* and its map is asked for then */
	else if (weir__redis_say_map(node))
		weir__wire_flush(&node->mouth);
	weir__unlock(&redis->lock);
}

/* ---- redirections ---------------------------------------------------------------------------- */

/* "MOVED 3999 127.0.0.1:6381", "ASK ..."; the host may be missing, and may have colons in it. */
static struct node *target_of(struct node *from, const char *text, size_t *ret_slot)
{
	const char *at = strchr(text, ' ');
	char *end;
	char host[HOST_SIZE];
	const char *colon;

	if (at == NULL)
		return NULL;
	*ret_slot = strtoul(at + 1, &end, 10);
	colon = strrchr(text, ':');
	if (*ret_slot >= SLOTS || *end != ' ' || colon == NULL || colon < end + 1 ||
	    colon - end > HOST_SIZE)
		return NULL;
	weir__format(host, sizeof(host), "%.*s", (int)(colon - end - 1), end + 1);
	return weir__redis_node_at(from->redis, host[0] != '\0' ? host : from->address.host,
				   colon + 1);
}

bool weir__redis_redirect(struct node *node, const struct awaited *awaited,
			  const struct weir__reply *reply)
{
	struct redis *redis = node->redis;
	bool ask = weir__reply_is_error(reply, "ASK");
	struct node *target = NULL;
	size_t slot = 0;

	if (redis->slots != NULL)
		target = target_of(node, reply->text, &slot);
	if (target == NULL || awaited->n == 0)
		return false;
	if (!ask) {
		assign(redis, slot, number_of(redis, target));
		target->serves = true;
		weir__agent_timer_set(redis->desk.agent, &redis->learn, 0);
	}
	weir__redis_take_back(awaited, ask ? target : NULL);
	for (size_t i = 0; i < awaited->n; i++)
		if (++awaited->calls[i]->hops % MOST_HOPS == 0)
			weir__server_later(&target->server,
					   "its servers do not agree about who has a name");
	if (awaited->script == WEIR__LUA_POLL)
		weir__redis_poll(redis, NULL, false);
	return true;
}

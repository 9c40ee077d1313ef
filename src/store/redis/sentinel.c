/* store/redis: which server to connect to, where several hosts are named or sentinels know. See
 * redis.h.
 *
 * Each attempt to connect begins here. A host of several is tried after the other, until there is a
 * cluster's map. Sentinels are asked one after the other who the master is, each time: that is what
 * changes when it is lost. Whether it is the master is then seen from what it says of itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "store/redis/redis.h"

static const struct weir__address *seed_of(const struct redis *redis)
{
	const struct weir__address *seed = &redis->address;

	for (size_t i = 0; i < redis->seed; i++)
		seed = seed->next;
	return seed;
}

static void next_seed(struct redis *redis)
{
	redis->seed = seed_of(redis)->next != NULL ? redis->seed + 1 : 0;
}

static bool set_place(struct weir__address *address, const char *host, const char *port)
{
	char *new_host = strdup(host), *new_port = strdup(port);

	if (new_host == NULL || new_port == NULL) {
		free(new_host);
		free(new_port);
		return false;
	}
	free(address->host);
	free(address->port);
	address->host = new_host;
	address->port = new_port;
	return true;
}

/* The ear hears what its server is told, so it follows. */
static bool move_to(struct node *node, const char *host, const char *port)
{
	struct redis *redis = node->redis;

	if (strcmp(node->address.host, host) == 0 && strcmp(node->address.port, port) == 0)
		return true;
	if (!set_place(&node->address, host, port))
		return false;
	weir__address_print(&node->address, node->where, sizeof(node->where));
	if (redis->ear.state != WEIR__WIRE_DOWN) {
		weir__wire_close(&redis->ear);
		redis->listening = false;
	}
	return true;
}

void weir__redis_log_in(struct weir__wire *wire)
{
	const struct weir__address *address = wire->address;
	const char *parts[3] = { "AUTH" };
	size_t n = 1;

	if (address->user != NULL)
		parts[n++] = address->user;
	parts[n++] = address->password;
	weir__wire_send(wire, n, parts, NULL);
}

/* ---- sentinels ------------------------------------------------------------------------------- */

static struct redis *redis_of(struct weir__wire *guide)
{
	return (struct redis *)(void *)((char *)guide - offsetof(struct redis, guide));
}

static void ask_next(struct redis *redis, const char *why)
{
	struct weir__wire *mouth = &redis->nodes[0]->mouth;
	const struct weir__address *seed;

	if (redis->seeds_left == 0) {
		mouth->owner->down(mouth, -EHOSTUNREACH, why);
		return;
	}
	redis->seeds_left--;
	seed = seed_of(redis);
	if (!set_place(&redis->sentinel, seed->host, seed->port))
		mouth->owner->down(mouth, -EHOSTUNREACH, "there is no memory");
	else
		weir__wire_open(&redis->guide);
}

static void try_another(struct redis *redis, const char *why)
{
	weir__wire_close(&redis->guide);
	next_seed(redis);
	ask_next(redis, why);
}

static void guide_up(struct weir__wire *wire)
{
	struct redis *redis = redis_of(wire);
	const char *parts[] = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME", redis->address.master };

	redis->guide_logged_in = !redis->sentinel_auth || redis->address.password == NULL;
	if (!redis->guide_logged_in)
		weir__redis_log_in(wire);
	weir__wire_send(wire, 3, parts, NULL);
	weir__wire_flush(wire);
}

static void guide_reply(struct weir__wire *wire, const struct weir__reply *reply)
{
	struct redis *redis = redis_of(wire);
	struct node *node = redis->nodes[0];
	const struct weir__reply *host = weir__reply_at(reply, 0);
	const struct weir__reply *port = weir__reply_at(reply, 1);

	if (reply->type == REDIS_REPLY_ERROR) {
		try_another(redis, "its sentinels will not answer");
	} else if (!redis->guide_logged_in) {
		redis->guide_logged_in = true;
	} else if (reply->type != REDIS_REPLY_ARRAY || host->type != REDIS_REPLY_STRING ||
		   port->type != REDIS_REPLY_STRING) {
		try_another(redis, "its sentinels know no master of that name");
	} else {
		bool moved = move_to(node, host->text, port->text);

		weir__wire_close(&redis->guide);
		if (moved)
			weir__wire_open(&node->mouth);
		else
			node->mouth.owner->down(&node->mouth, -EHOSTUNREACH, "there is no memory");
	}
}

static void guide_down(struct weir__wire *wire, int error, const char *why)
{
	char text[240];

	(void)error;
	weir__format(text, sizeof(text), "no sentinel can be reached: %s", why);
	try_another(redis_of(wire), text);
}

static const struct weir__wire_owner guide = {
	.up = guide_up,
	.reply = guide_reply,
	.down = guide_down,
};

/* ---- connecting ------------------------------------------------------------------------------ */

int weir__redis_guide_init(struct redis *redis)
{
	int error = weir__address_copy(&redis->sentinel, &redis->address, redis->address.host,
				       redis->address.port);

	weir__wire_init(&redis->guide, &guide, redis->desk.agent, &redis->lock, &redis->sentinel);
	return error;
}

void weir__redis_open_mouth(struct node *node)
{
	struct redis *redis = node->redis;
	const struct weir__address *seed = seed_of(redis);

	if (redis->address.master != NULL) {
		redis->seeds_left = 1;
		for (seed = redis->address.next; seed != NULL; seed = seed->next)
			redis->seeds_left++;
		ask_next(redis, "");
		return;
	}
	if (node == redis->nodes[0] && redis->slots == NULL && redis->address.next != NULL) {
		next_seed(redis);
		(void)move_to(node, seed->host, seed->port); /* else it is tried once more */
	}
	weir__wire_open(&node->mouth);
}

/* store/redis: wires that come up and go down. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/redis.h"

enum { WHY_SIZE = 240 };

static struct node *node_of(struct weir__wire *mouth)
{
	return (struct node *)(void *)((char *)mouth - offsetof(struct node, mouth));
}

static struct redis *redis_of_ear(struct weir__wire *wire)
{
	return (struct redis *)(void *)((char *)wire - offsetof(struct redis, ear));
}

/* ---- the mouth ------------------------------------------------------------------------------- */

static void ask_for_map(struct weir__wire *wire)
{
	const char *parts[] = { "CLUSTER", "SLOTS" };

	weir__wire_send(wire, 2, parts, NULL);
}

/* What comes after that, and is to be said at all. */
static enum hello next_hello(const struct node *node, enum hello hello)
{
	if (hello == HELLO_AUTH && node->address.db != 0)
		return HELLO_SELECT;
	if (hello < HELLO_CONFIG && node->redis->durable)
		return HELLO_CONFIG;
	return hello < HELLO_INFO ? HELLO_INFO : HELLO_MAP;
}

static void say_hello(struct node *node, enum hello hello)
{
	char db[16];
	const char *select[] = { "SELECT", db };
	const char *config[] = { "CONFIG", "GET", "appendfsync" };
	const char *info[] = { "INFO" };

	weir__format(db, sizeof(db), "%u", node->address.db);
	if (hello == HELLO_AUTH)
		weir__redis_log_in(&node->mouth);
	else if (hello == HELLO_SELECT)
		weir__wire_send(&node->mouth, 2, select, NULL);
	else if (hello == HELLO_CONFIG)
		weir__wire_send(&node->mouth, 3, config, NULL);
	else if (hello == HELLO_INFO)
		weir__wire_send(&node->mouth, 1, info, NULL);
	else
		ask_for_map(&node->mouth);
}

static void mouth_up(struct weir__wire *wire)
{
	struct node *node = node_of(wire);
	enum hello last = node->redis->slots != NULL ? HELLO_MAP : HELLO_INFO;

	node->durable = false;
	node->hello = node->address.password != NULL ? HELLO_AUTH : next_hello(node, HELLO_AUTH);
	for (enum hello hello = node->hello; hello <= last; hello = next_hello(node, hello)) {
		say_hello(node, hello);
		if (hello == last)
			break;
	}
	weir__wire_flush(wire);
}

static void refuse_hello(struct node *node, const struct weir__reply *reply)
{
	char why[WHY_SIZE];

	if (weir__reply_is_error(reply, "ERR") && strstr(reply->text, "max number of clients"))
		weir__server_lost(&node->server, "it has too many clients");
	else if (weir__reply_is_error(reply, "LOADING"))
		weir__server_lost(&node->server, "it is loading its data");
	else if (weir__reply_is_error(reply, "NOAUTH"))
		weir__server_give_up(&node->server, -EHOSTUNREACH, "it wants a password");
	else if (node->hello == HELLO_AUTH) /* whose words may repeat the password */
		weir__server_give_up(&node->server, -EHOSTUNREACH,
				     "it does not accept the user and password");
	else {
		weir__format(why, sizeof(why), "it says: %.200s", reply->text);
		weir__server_give_up(&node->server, -EHOSTUNREACH, why);
	}
}

static bool is_old(const char *version)
{
	char *end;
	unsigned long major = strtoul(version, &end, 10);
	unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

	return major < 6 || (major == 6 && minor < 2);
}

/* Why this server will not do. Whether it will. */
static bool check_server(struct node *node, const char *info)
{
	char version[WEIR__INFO_WORD], policy[WEIR__INFO_WORD], why[WHY_SIZE];

	weir__info_find(info, "\nredis_version:", version);
	weir__info_find(info, "\nmaxmemory_policy:", policy);
	if (version[0] == '\0') {
		weir__server_give_up(&node->server, -EPROTO, "it is not a Redis");
		return false;
	}
	if (is_old(version)) {
		weir__format(why, sizeof(why), "it is version %s; 6.2 or newer is needed", version);
		weir__server_give_up(&node->server, -EHOSTUNREACH, why);
		return false;
	}
	if (strcmp(policy, "noeviction") != 0) {
		weir__format(why, sizeof(why),
			     "its maxmemory-policy is %s, which may throw away leases; "
			     "set it to noeviction",
			     policy);
		weir__server_give_up(&node->server, -EHOSTUNREACH, why);
		return false;
	}
	/* A cluster's says who its master is when it is asked something. */
	if (!weir__info_is_master(info) && strstr(info, "\ncluster_enabled:1") == NULL) {
		weir__server_lost(&node->server, "it is a replica; its master is needed");
		return false;
	}
	return true;
}

static void get_ready(struct node *node)
{
	struct redis *redis = node->redis;

	node->hello = HELLO_DONE;
	weir__server_found(&node->server);
	weir__redis_listen(&redis->desk);
	weir__redis_reconsider(redis);
	weir__redis_send(redis);
	if (node->server.ready)
		weir__redis_poll(redis, node, true);
}

static void greet_info(struct node *node, const struct weir__reply *reply)
{
	if (reply->type != REDIS_REPLY_STRING) {
		weir__server_give_up(&node->server, -EPROTO, "it is not a Redis");
		return;
	}
	if (!check_server(node, reply->text))
		return;
	if (node->redis->address.next != NULL && node->redis->address.master == NULL &&
	    strstr(reply->text, "\ncluster_enabled:1") == NULL) {
		weir__server_give_up(&node->server, -EHOSTUNREACH,
				     "it is no cluster, and of another server only one can be "
				     "named");
		return;
	}
	weir__redis_note(node, reply->text);
	node->durable = node->durable && node->self.logs;
	weir__redis_recognise(node, reply->text);
	if (node->redis->slots == NULL && strstr(reply->text, "\ncluster_enabled:1") == NULL) {
		get_ready(node);
		return;
	}
	if (node->redis->slots == NULL) {
		ask_for_map(&node->mouth);
		weir__wire_flush(&node->mouth);
	}
	node->hello = HELLO_MAP;
}

static void greet_map(struct node *node, const struct weir__reply *reply)
{
	int error = weir__redis_take_map(node, reply);

	if (error < 0)
		weir__server_give_up(&node->server, error,
				     "its map of the cluster is not understood");
	else
		get_ready(node);
}

static void greet_config(struct node *node, const struct weir__reply *reply)
{
	const struct weir__reply *value = weir__reply_at(reply, 1);

	node->durable = value->type == REDIS_REPLY_STRING && strcmp(value->text, "always") == 0;
}

static void greet(struct node *node, const struct weir__reply *reply)
{
	enum hello hello = node->hello;

	if (hello == HELLO_CONFIG) /* whoever may not see it cannot rely on it */
		greet_config(node, reply);
	else if (reply->type == REDIS_REPLY_ERROR)
		refuse_hello(node, reply);
	else if (hello == HELLO_INFO)
		greet_info(node, reply);
	else if (hello == HELLO_MAP)
		greet_map(node, reply);
	if (hello < HELLO_INFO && reply->type != REDIS_REPLY_ERROR)
		node->hello = next_hello(node, hello);
	else if (hello == HELLO_CONFIG)
		node->hello = HELLO_INFO;
}

static void mouth_reply(struct weir__wire *wire, const struct weir__reply *reply)
{
	struct node *node = node_of(wire);

	if (!node->server.ready) {
		greet(node, reply);
		return;
	}
	weir__redis_reply(node, reply);
	weir__redis_send(node->redis);
}

static void mouth_down(struct weir__wire *wire, int error, const char *why)
{
	struct node *node = node_of(wire);

	if (error == -EACCES)
		weir__server_give_up(&node->server, -EHOSTUNREACH, why);
	else if (error == -EPROTO && !node->server.ready)
		weir__server_give_up(&node->server, -EPROTO, why);
	else
		weir__server_lost(&node->server, why);
}

const struct weir__wire_owner weir__redis_mouth = {
	.up = mouth_up,
	.reply = mouth_reply,
	.down = mouth_down,
};

/* ---- the ear --------------------------------------------------------------------------------- */

static void ear_up(struct weir__wire *wire)
{
	struct redis *redis = redis_of_ear(wire);
	const char *parts[] = { "SUBSCRIBE", redis->channel };

	redis->listening = false;
	redis->ear_logged_in = redis->address.password == NULL;
	if (!redis->ear_logged_in)
		weir__redis_log_in(wire);
	weir__wire_send(wire, 2, parts, NULL);
	weir__wire_flush(wire);
}

/* A heartbeat finds out what it does not hear, so there is no hurry to open it again; and the mouth
 * tells everybody of what is wrong. */
static void ear_down(struct weir__wire *wire, int error, const char *why)
{
	struct redis *redis = redis_of_ear(wire);

	(void)error;
	(void)why;
	redis->listening = false;
	redis->ear_at++;
	redis->ear_pausing = true;
	weir__agent_timer_set(redis->desk.agent, &redis->ear_pause,
			      weir__boottime() + redis->desk.store->bounds.heartbeat);
}

static void ear_reply(struct weir__wire *wire, const struct weir__reply *reply)
{
	struct redis *redis = redis_of_ear(wire);

	if (reply->type == REDIS_REPLY_ERROR) {
		weir__wire_close(wire);
		ear_down(wire, 0, "");
	} else if (!redis->ear_logged_in) {
		redis->ear_logged_in = true;
	} else if (!redis->listening) {
		redis->listening = true;
		weir__redis_poll(redis, NULL, true); /* what was told before it listened */
	} else {
		weir__redis_message(redis, reply);
		weir__redis_send(redis);
	}
}

const struct weir__wire_owner weir__redis_ear = {
	.up = ear_up,
	.reply = ear_reply,
	.down = ear_down,
};

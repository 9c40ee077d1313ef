/* store/redis: wires that come up and go down. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/redis.h"

enum { WORD_SIZE = 48, WHY_SIZE = 240 };

static struct node *node_of(struct weir__wire *mouth)
{
	return (struct node *)(void *)((char *)mouth - offsetof(struct node, mouth));
}

static struct redis *redis_of_ear(struct weir__wire *wire)
{
	return (struct redis *)(void *)((char *)wire - offsetof(struct redis, ear));
}

static void log_in(struct weir__wire *wire)
{
	const struct weir__address *address = wire->address;
	const char *parts[3] = { "AUTH" };
	size_t n = 1;

	if (address->user != NULL)
		parts[n++] = address->user;
	parts[n++] = address->password;
	weir__wire_send(wire, n, parts, NULL);
}

/* ---- the mouth ------------------------------------------------------------------------------- */

static void ask_for_map(struct weir__wire *wire)
{
	const char *parts[] = { "CLUSTER", "SLOTS" };

	weir__wire_send(wire, 2, parts, NULL);
}

static void mouth_up(struct weir__wire *wire)
{
	struct node *node = node_of(wire);
	const char *info[] = { "INFO" };

	node->hello = HELLO_INFO;
	if (node->address.db != 0) {
		char db[16];
		const char *parts[] = { "SELECT", db };

		weir__format(db, sizeof(db), "%u", node->address.db);
		node->hello = HELLO_SELECT;
		if (node->address.password != NULL)
			log_in(wire);
		weir__wire_send(wire, 2, parts, NULL);
	} else if (node->address.password != NULL) {
		log_in(wire);
	}
	if (node->address.password != NULL)
		node->hello = HELLO_AUTH;
	weir__wire_send(wire, 1, info, NULL);
	if (node->redis->slots != NULL)
		ask_for_map(wire);
	weir__wire_flush(wire);
}

static void refuse_hello(struct node *node, const struct weir__reply *reply)
{
	char why[WHY_SIZE];

	if (weir__reply_is_error(reply, "ERR") && strstr(reply->text, "max number of clients"))
		weir__redis_lost(node, "it has too many clients");
	else if (weir__reply_is_error(reply, "LOADING"))
		weir__redis_lost(node, "it is loading its data");
	else if (weir__reply_is_error(reply, "NOAUTH"))
		weir__redis_give_up(node, -EHOSTUNREACH, "it wants a password");
	else if (node->hello == HELLO_AUTH) /* whose words may repeat the password */
		weir__redis_give_up(node, -EHOSTUNREACH,
				    "it does not accept the user and password");
	else {
		weir__format(why, sizeof(why), "it says: %.200s", reply->text);
		weir__redis_give_up(node, -EHOSTUNREACH, why);
	}
}

/* What follows `key` in a line of its own. */
static void find(const char *info, const char *key, char *word)
{
	const char *at = strstr(info, key);
	size_t size = 0;

	if (at != NULL) {
		at += strlen(key);
		size = strcspn(at, "\r\n");
		size = size < WORD_SIZE ? size : WORD_SIZE - 1;
		memcpy(word, at, size);
	}
	word[size] = '\0';
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
	char version[WORD_SIZE], role[WORD_SIZE], policy[WORD_SIZE], why[WHY_SIZE];

	find(info, "\nredis_version:", version);
	find(info, "\nrole:", role);
	find(info, "\nmaxmemory_policy:", policy);
	if (version[0] == '\0') {
		weir__redis_give_up(node, -EPROTO, "it is not a Redis");
		return false;
	}
	if (is_old(version)) {
		weir__format(why, sizeof(why), "it is version %s; 6.2 or newer is needed", version);
		weir__redis_give_up(node, -EHOSTUNREACH, why);
		return false;
	}
	if (strcmp(policy, "noeviction") != 0) {
		weir__format(why, sizeof(why),
			     "its maxmemory-policy is %s, which may throw away leases; "
			     "set it to noeviction",
			     policy);
		weir__redis_give_up(node, -EHOSTUNREACH, why);
		return false;
	}
	/* A cluster's says who its master is when it is asked something. */
	if (strcmp(role, "master") != 0 && strstr(info, "\ncluster_enabled:1") == NULL) {
		weir__redis_lost(node, "it is a replica; its master is needed");
		return false;
	}
	return true;
}

/* Another server, or the same one started again, may have lost what this handle was granted. */
static void recognise(struct node *node, const char *info)
{
	char identity[WORD_SIZE];

	find(info, "\nrun_id:", identity);
	if (node->identity[0] != '\0' && strcmp(node->identity, identity) != 0)
		node->cautious = weir__boottime() + node->redis->longest;
	memcpy(node->identity, identity, sizeof(node->identity));
}

static void get_ready(struct node *node)
{
	struct redis *redis = node->redis;

	node->hello = HELLO_DONE;
	node->ready = true;
	node->gave_up = false;
	weir__redis_listen(redis);
	weir__redis_unpark(node);
	weir__redis_send(redis);
	if (node->ready)
		weir__redis_poll(redis, node, true);
}

static void greet_info(struct node *node, const struct weir__reply *reply)
{
	if (reply->type != REDIS_REPLY_STRING) {
		weir__redis_give_up(node, -EPROTO, "it is not a Redis");
		return;
	}
	if (!check_server(node, reply->text))
		return;
	recognise(node, reply->text);
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
		weir__redis_give_up(node, error, "its map of the cluster is not understood");
	else
		get_ready(node);
}

static void greet(struct node *node, const struct weir__reply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR)
		refuse_hello(node, reply);
	else if (node->hello == HELLO_AUTH)
		node->hello = node->address.db != 0 ? HELLO_SELECT : HELLO_INFO;
	else if (node->hello == HELLO_SELECT)
		node->hello = HELLO_INFO;
	else if (node->hello == HELLO_INFO)
		greet_info(node, reply);
	else
		greet_map(node, reply);
}

static void mouth_reply(struct weir__wire *wire, const struct weir__reply *reply)
{
	struct node *node = node_of(wire);

	if (!node->ready) {
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
		weir__redis_give_up(node, -EHOSTUNREACH, why);
	else if (error == -EPROTO && !node->ready)
		weir__redis_give_up(node, -EPROTO, why);
	else
		weir__redis_lost(node, why);
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
		log_in(wire);
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
	weir__agent_timer_set(redis->agent, &redis->ear_pause,
			      weir__boottime() + redis->store->bounds.heartbeat);
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

/* store/redis: how things are said to the server. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/packed.h"
#include "store/redis/redis.h"

enum {
	KEYS = 2,
	KEY_SIZE = 2 * WEIR_NAME_MAX + 8,
	FIXED = 3 + KEYS + 1, /* EVALSHA hash n keys who */
	PARTS = FIXED + WEIR__POLL_AT_ONCE + 10,
	NUMBERS = 2,
	DIGITS = 24,
	WHO_SIZE = 2 * WEIR__IDENTITY + DIGITS,
	SAID_NUMBERS = 7,
	SAID_SIZE = SAID_NUMBERS * WEIR__PACKED + 4 * WEIR_NAME_MAX,
};

/* A command in the making. */
struct command {
	size_t n;
	const char *parts[PARTS];
	size_t size[PARTS];
	size_t numbers;
	char digits[NUMBERS][DIGITS];
	char keys[KEYS][KEY_SIZE];
	char match[KEY_SIZE];
	char who[WHO_SIZE];
	char said[SAID_SIZE];
};

struct command *weir__redis_command_new(void)
{
	return calloc(1, sizeof(struct command));
}

static void add_bytes(struct command *command, const void *bytes, size_t size)
{
	command->parts[command->n] = bytes;
	command->size[command->n++] = size;
}

static void add_text(struct command *command, const char *text)
{
	add_bytes(command, text, strlen(text));
}

static void add_number(struct command *command, int64_t number)
{
	char *end = command->digits[command->numbers++] + DIGITS;
	const char *at = weir__print_number(end, number);

	add_bytes(command, at, (size_t)(end - at));
}

static void add_keys(struct redis *redis, struct command *command, const char *name)
{
	static const char kinds[KEYS] = { 'h', 't' };
	char *key = command->keys[0];
	size_t space = strlen(redis->space);
	size_t size = strlen(name);

	memcpy(key, redis->space, space);
	memcpy(key + space, ":{", 2);
	memcpy(key + space + 2, name, size);
	memcpy(key + space + 2 + size, "}:", 2);
	size += space + 4;
	for (int i = 0; i < KEYS; i++) {
		if (i != 0)
			memcpy(command->keys[i], key, size);
		command->keys[i][size] = kinds[i];
		add_bytes(command, command->keys[i], size + 1);
	}
}

/* Who the server is, and more only if there is something: see prelude.lua. */
static void add_who(struct node *node, struct command *command)
{
	int64_t caution = weir__tell_caution(&node->server);

	if (caution == 0 && node->doubt[0] == '\0') {
		add_text(command, node->identity);
		return;
	}
	weir__format(command->who, sizeof(command->who), "%s %lld%s", node->identity,
		     (long long)caution, node->doubt);
	add_text(command, command->who);
}

static void begin(struct node *node, struct command *command, enum weir__script script,
		  const char *name)
{
	bool known = (node->loaded >> script & 1) != 0;

	command->n = command->numbers = 0;
	add_text(command, known ? "EVALSHA" : "EVAL");
	if (known)
		add_text(command, weir__scripts[script].hash);
	else
		add_bytes(command, weir__scripts[script].text, weir__scripts[script].size);
	add_text(command, "2");
	add_keys(node->redis, command, name);
	add_who(node, command);
}

/* Sends it; its reply will be about these calls. Whether there was memory. */
static bool finish(struct node *node, const struct command *command, enum weir__script script,
		   struct call *const *calls, size_t n)
{
	struct awaited *awaited = malloc(sizeof(*awaited) + n * sizeof(struct call *));

	if (awaited == NULL)
		return false;
	*awaited = (struct awaited){ .script = script, .sent = weir__boottime(), .n = n };
	for (size_t i = 0; i < n; i++) {
		awaited->calls[i] = calls[i];
		calls[i]->expected++;
		calls[i]->pinned = false;
		if (calls[i]->names != NULL)
			awaited->round = calls[i]->names->round;
	}
	*(node->awaited_last != NULL ? &node->awaited_last->next : &node->awaited_first) = awaited;
	node->awaited_last = awaited;
	if (script < WEIR__LUA_COUNT)
		node->loaded |= UINT32_C(1) << script; /* by the time the next one comes */
	weir__wire_send(&node->mouth, command->n, command->parts, command->size);
	return true;
}

static char *write_text(char *to, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(to, text, size);
	return to + size;
}

/* All numbers and texts of it packed into one argument, in the order of short_request.lua: each
 * argument costs the server as much as the lookup of a key. */
static void add_request(struct redis *redis, struct command *command, const struct call *call)
{
	const struct weir__op *op = call->op;
	const int64_t numbers[SAID_NUMBERS] = {
		op->limit,
		op->wait ? weir__tell_silence(&redis->desk) : 0,
		redis->desk.store->bounds.max_waiting,
		!op->private_id || call->sent_before,
		op->weight,
		weir__tell_time(op->ttl),
		weir__tell_time(op->max_hold),
	};
	char *at = command->said;

	for (size_t i = 0; i < SAID_NUMBERS; i++)
		at = weir__pack_number(at, numbers[i]);
	at = write_text(at, op->owner);
	at = write_text(at, op->private_id ? "" : op->request_id);
	at = write_text(at, redis->channel);
	add_bytes(command, command->said, (size_t)(at - command->said));
	add_bytes(command, op->token, WEIR_TOKEN_SIZE);
}

static void add_scan(struct redis *redis, struct command *command, const struct scan *scan)
{
	command->n = command->numbers = 0;
	weir__format(command->match, sizeof(command->match), "%s:{*}:h", redis->space);
	add_text(command, "SCAN");
	add_text(command, scan->cursor);
	add_text(command, "MATCH");
	add_text(command, command->match);
	add_text(command, "COUNT");
	add_text(command, "1000");
}

static void add_arguments(struct redis *redis, struct command *command, const struct call *call)
{
	const struct weir__op *op = call->op;

	switch (call->verb) {
	case CALL_ENSURE:
	case CALL_SET_LIMIT:
		add_number(command, op->limit);
		break;
	case CALL_REQUEST:
		add_request(redis, command, call);
		break;
	case CALL_WITHDRAW:
		add_text(command, op != NULL && op->give_up == -ETIMEDOUT ? "1" : "0");
		add_text(command, redis->channel);
		add_bytes(command, call->token, WEIR_TOKEN_SIZE);
		break;
	case CALL_RENEW:
		add_number(command, weir__tell_time(op->ttl));
		add_bytes(command, call->token, WEIR_TOKEN_SIZE);
		break;
	case CALL_REAP:
		add_number(command, op->max_rows - call->names->reaped);
		break;
	case CALL_RELEASE:
	case CALL_EVICT:
		add_bytes(command, call->token, WEIR_TOKEN_SIZE);
		break;
	default:
		break;
	}
}

static const enum weir__script scripts[] = {
	[CALL_ENSURE] = WEIR__LUA_ENSURE,   [CALL_SET_LIMIT] = WEIR__LUA_LIMIT,
	[CALL_REQUEST] = WEIR__LUA_REQUEST, [CALL_WITHDRAW] = WEIR__LUA_WITHDRAW,
	[CALL_RENEW] = WEIR__LUA_RENEW,     [CALL_RELEASE] = WEIR__LUA_RELEASE,
	[CALL_EVICT] = WEIR__LUA_EVICT,     [CALL_REAP] = WEIR__LUA_REAP,
	[CALL_LIST] = WEIR__LUA_LIST,
};

bool weir__redis_say(struct redis *redis, struct call *call)
{
	struct command *command = redis->command;
	struct names *names = call->names;
	struct node *node = weir__redis_node(call->server);
	enum weir__script script = scripts[call->verb];

	if (names != NULL && !names->complete) {
		script = WEIR__NO_SCRIPT;
		add_scan(redis, command, weir__redis_scan(names));
	} else {
		begin(node, command, script,
		      names != NULL ? names->name[names->asked] : call->name);
		add_arguments(redis, command, call);
	}
	if (!finish(node, command, script, &call, 1))
		return false;
	if (names != NULL && names->complete)
		names->asked++;
	return true;
}

bool weir__redis_say_poll(struct node *node, struct call *const *calls, size_t n)
{
	struct redis *redis = node->redis;
	struct command *command = redis->command;

	begin(node, command, WEIR__LUA_POLL, calls[0]->name);
	add_number(command, weir__tell_silence(&redis->desk));
	for (size_t i = 0; i < n; i++)
		add_bytes(command, calls[i]->token, WEIR_TOKEN_SIZE);
	return finish(node, command, WEIR__LUA_POLL, calls, n);
}

bool weir__redis_say_asking(struct node *node)
{
	struct command *command = node->redis->command;

	command->n = command->numbers = 0;
	add_text(command, "ASKING");
	return finish(node, command, WEIR__ASKING, NULL, 0);
}

bool weir__redis_say_map(struct node *node)
{
	struct command *command = node->redis->command;

	command->n = command->numbers = 0;
	add_text(command, "CLUSTER");
	add_text(command, "SLOTS");
	return finish(node, command, WEIR__MAP, NULL, 0);
}

bool weir__redis_say_who(struct node *node, struct node *about)
{
	struct command *command = node->redis->command;

	command->n = command->numbers = 0;
	add_text(command, "INFO");
	if (!finish(node, command, WEIR__WHO, NULL, 0))
		return false;
	node->awaited_last->about = about;
	return true;
}

bool weir__redis_say_look(struct node *node, const char *name, struct node *about)
{
	struct command *command = node->redis->command;

	command->n = command->numbers = 0;
	add_text(command, "HGET");
	add_keys(node->redis, command, name);
	command->n = 2; /* the state's alone */
	add_text(command, "h");
	if (!finish(node, command, WEIR__LOOK, NULL, 0))
		return false;
	node->awaited_last->about = about;
	return true;
}

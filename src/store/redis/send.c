/* store/redis: what is said to the server. See redis.h. */
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/redis.h"

enum {
	KEYS = 5,
	KEY_SIZE = 2 * WEIR_NAME_MAX + 8,
	FIXED = 3 + KEYS + 3,     /* EVALSHA hash n keys name identity go-on */
	MOST_AT_ONCE = 128,       /* waiters in one command */
	PARTS = FIXED + MOST_AT_ONCE + 4,
	NUMBERS = 8,
	DIGITS = 24,
	/* A waiter is dropped after this many heartbeats of silence. */
	PATIENCE = 10,
};

/* A command in the making. */
struct command {
	size_t n;
	const char *parts[PARTS];
	size_t size[PARTS];
	size_t numbers;
	char digits[NUMBERS][DIGITS];
	char keys[KEYS][KEY_SIZE];
};

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
	char *digits = command->digits[command->numbers++];

	weir__format(digits, DIGITS, "%lld", (long long)number);
	add_text(command, digits);
}

/* Up, so that a lease is never shorter than was asked for. */
static int64_t microseconds(weir_time time)
{
	return (time + WEIR_US - 1) / WEIR_US;
}

static weir_time silence(const struct redis *redis)
{
	return PATIENCE * redis->store->bounds.heartbeat;
}

static void begin(struct redis *redis, struct command *command, enum weir__script script,
		  const char *name)
{
	static const char kinds[KEYS] = { 'h', 'c', 't', 'q', 'w' };
	bool known = (redis->loaded >> script & 1) != 0;

	command->n = command->numbers = 0;
	add_text(command, known ? "EVALSHA" : "EVAL");
	if (known)
		add_text(command, weir__scripts[script].hash);
	else
		add_bytes(command, weir__scripts[script].text, weir__scripts[script].size);
	add_text(command, "5");
	for (int i = 0; i < KEYS; i++) {
		weir__format(command->keys[i], KEY_SIZE, "%s:{%s}:%c", redis->space, name, kinds[i]);
		add_text(command, command->keys[i]);
	}
	add_text(command, name);
	add_text(command, redis->identity);
	add_text(command, redis->go_on ? "1" : "0");
}

/* Sends it; its reply will be about these calls. Whether there was memory. */
static bool finish(struct redis *redis, const struct command *command, enum weir__script script,
		   struct call *const *calls, size_t n)
{
	struct awaited *awaited = malloc(sizeof(*awaited) + n * sizeof(struct call *));

	if (awaited == NULL)
		return false;
	*awaited = (struct awaited){ .script = script, .sent = weir__boottime(), .n = n };
	for (size_t i = 0; i < n; i++) {
		awaited->calls[i] = calls[i];
		calls[i]->expected++;
	}
	*(redis->awaited_last != NULL ? &redis->awaited_last->next : &redis->awaited_first) = awaited;
	redis->awaited_last = awaited;
	if (script != WEIR__NO_SCRIPT)
		redis->loaded |= UINT32_C(1) << script; /* by the time the next one comes */
	weir__link_send(&redis->mouth, command->n, command->parts, command->size);
	return true;
}

static void add_request(struct redis *redis, struct command *command, const struct weir__op *op)
{
	add_number(command, op->limit);
	add_number(command, op->weight);
	add_number(command, microseconds(op->ttl));
	add_number(command, microseconds(op->max_hold));
	add_number(command, op->wait ? microseconds(silence(redis)) : 0);
	add_number(command, redis->store->bounds.max_waiting);
	add_text(command, op->owner);
	add_text(command, op->private_id ? "" : op->request_id);
	add_text(command, redis->channel);
	add_bytes(command, op->token, WEIR_TOKEN_SIZE);
}

/* The next step of a survey of all names. */
static void add_survey(struct redis *redis, struct command *command, struct call *call)
{
	static char match[WEIR_NAME_MAX + 16];

	(void)redis;
	command->n = command->numbers = 0;
	weir__format(match, sizeof(match), "%s:{*}:h", redis->space);
	add_text(command, "SCAN");
	add_text(command, call->names->cursor);
	add_text(command, "MATCH");
	add_text(command, match);
	add_text(command, "COUNT");
	add_text(command, "1000");
}

static void build(struct redis *redis, struct command *command, struct call *call)
{
	const struct weir__op *op = call->op;

	if (call->script == WEIR__NO_SCRIPT) {
		add_survey(redis, command, call);
		return;
	}
	begin(redis, command, call->script,
	      call->names != NULL ? call->names->name[call->names->next] : op->name);
	switch (call->script) {
	case WEIR__LUA_ENSURE:
	case WEIR__LUA_LIMIT:
		add_number(command, op->limit);
		break;
	case WEIR__LUA_REQUEST:
		add_request(redis, command, op);
		break;
	case WEIR__LUA_WITHDRAW:
		add_bytes(command, op->token, WEIR_TOKEN_SIZE);
		add_number(command, 1);
		break;
	case WEIR__LUA_RENEW:
		add_bytes(command, op->token, WEIR_TOKEN_SIZE);
		add_number(command, microseconds(op->ttl));
		break;
	case WEIR__LUA_REAP:
		add_number(command, op->max_rows - call->names->reaped);
		break;
	case WEIR__LUA_RELEASE:
	case WEIR__LUA_EVICT:
		add_bytes(command, op->token, WEIR_TOKEN_SIZE);
		break;
	default:
		break;
	}
}

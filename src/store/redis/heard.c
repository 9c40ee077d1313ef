/* store/redis: what the server says. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/fault.h"
#include "store/redis/packed.h"
#include "store/redis/redis.h"

enum { WHY_SIZE = 240 };

/* ---- answers of scripts ---------------------------------------------------------------------- */

static const uint8_t *read_token(const struct weir__reply *reply)
{
	const struct weir__reply *token = weir__reply_at(reply, 1);

	return token->type == REDIS_REPLY_STRING && token->size == WEIR_TOKEN_SIZE ?
		       (const uint8_t *)token->text :
		       NULL;
}

/* A token, and numbers: lease() of whole.lua. */
static bool read_grant(struct weir__grant *grant, const char *text, size_t size)
{
	int64_t number[WEIR__HEARD_GRANT];

	if (size != WEIR_TOKEN_SIZE + WEIR__HEARD_GRANT * WEIR__PACKED)
		return false;
	for (size_t i = 0; i < WEIR__HEARD_GRANT; i++)
		number[i] = weir__packed_number(text + WEIR_TOKEN_SIZE, i);
	weir__heard_grant(grant, text, number);
	return true;
}

/* Nobody else holds, so it has the first slot, and else it is as it was asked for. */
static void take_as_asked(struct weir__grant *grant, const struct weir__op *op, long long fence)
{
	weir_time hard_left = op->max_hold != 0 ? op->max_hold : WEIR_NEVER;

	*grant = (struct weir__grant){
		.weight = op->weight,
		.fence = (uint64_t)fence,
		.left = op->ttl < hard_left ? op->ttl : hard_left,
		.hard_left = hard_left,
		.ttl = op->ttl,
	};
	memcpy(grant->token, op->token, WEIR_TOKEN_SIZE);
}

static bool read_wait(struct heard *heard, const struct weir__reply *reply)
{
	const uint8_t *token = read_token(reply);

	if (token == NULL)
		return false;
	memcpy(heard->grant.token, token, WEIR_TOKEN_SIZE);
	heard->again = weir__heard_time(weir__reply_integer(reply, 2));
	return true;
}

/* A fence is no less than the server's time in microseconds. */
static bool is_fence(long long number)
{
	return number > UINT32_MAX;
}

static int read_number(struct heard *heard, const struct call *call, long long number)
{
	if (call->verb == CALL_REQUEST && call->op != NULL && is_fence(number)) {
		take_as_asked(&heard->grant, call->op, number);
		return 0;
	}
	/* One that was withdrawn has nothing any more, or a lease. */
	if (number >= 0 && weir__call_wants_lease(call) &&
	    (number != 1 || call->verb != CALL_WITHDRAW))
		return -EPROTO;
	return weir__heard_result(number);
}

/* A number alone is a result, or the fence of a request that was granted at once; a text is a
 * lease; else it is a result and what belongs to it. */
static void take_apart(struct heard *heard, const struct call *call,
		       const struct weir__reply *reply)
{
	*heard = (struct heard){ .result = -EPROTO };
	if (reply->type == REDIS_REPLY_STRING) {
		if (read_grant(&heard->grant, reply->text, reply->size))
			heard->result = 0;
	} else if (reply->type == REDIS_REPLY_INTEGER) {
		heard->result = read_number(heard, call, reply->integer);
	} else if (reply->type == REDIS_REPLY_ARRAY) {
		heard->result = weir__heard_result(weir__reply_integer(reply, 0));
		heard->found_limit = (uint32_t)weir__reply_integer(reply, 1);
		if (heard->result == 0 || (heard->result == 1 && !read_wait(heard, reply)))
			heard->result = -EPROTO;
	}
}

static void hear_poll(const struct awaited *awaited, const struct weir__reply *reply)
{
	for (size_t i = 0; i < awaited->n; i++) {
		struct heard heard;

		take_apart(&heard, awaited->calls[i], weir__reply_at(reply, i));
		weir__call_hear_poll(awaited->calls[i], awaited->sent, &heard);
	}
}

static void hear_call(struct redis *redis, struct call *call, const struct weir__reply *reply)
{
	struct heard heard;
	int error = 0;

	if (call->names != NULL) {
		bool more = weir__redis_survey(redis, call, reply, &error);

		weir__call_hear_survey(call, more, error);
		return;
	}
	take_apart(&heard, call, reply);
	weir__call_hear(call, &heard);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The server's words, as far as they can be shown. */
static void quote(char *why, size_t size, const struct weir__reply *reply)
{
	weir__format(why, size, "it says: %s", reply->text != NULL ? reply->text : "");
	for (char *at = why; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = ' ';
}

static void refuse(struct call *call, const struct weir__reply *reply)
{
	char why[WHY_SIZE];
	bool data = weir__reply_is_error(reply, "WRONGTYPE") || weir__reply_is_error(reply, "ERR");

	quote(why, sizeof(why), reply);
	if (weir__reply_is_error(reply, "WRONGTYPE"))
		weir__format(why, sizeof(why),
			     "a key of '%s' is of a foreign type; something else uses the same "
			     "names, choose another namespace",
			     call->name);
	weir__call_refuse(call, data ? -EPROTO : -EHOSTUNREACH, why);
}

static void refuse_calls(const struct awaited *awaited, const struct weir__reply *reply)
{
	for (size_t i = 0; i < awaited->n; i++) {
		struct call *call = awaited->calls[i];

		call->polled = false;
		if (weir__call_is_live(call))
			refuse(call, reply);
	}
}

static void hear_error(struct node *node, const struct awaited *awaited,
		       const struct weir__reply *reply)
{
	struct redis *redis = node->redis;
	char why[WHY_SIZE];

	quote(why, sizeof(why), reply);
	switch (weir__fault_of(reply)) {
	case WEIR__LOAD_SCRIPT:
		node->loaded &= ~(UINT32_C(1) << awaited->script);
		weir__redis_take_back(awaited, NULL);
		if (awaited->script == WEIR__LUA_POLL)
			weir__redis_poll(redis, NULL, false);
		return;
	case WEIR__LATER:
		weir__redis_take_back(awaited, NULL);
		weir__server_later(&node->server, why);
		return;
	case WEIR__REST:
		weir__redis_rest(redis, awaited, why);
		return;
	case WEIR__ELSEWHERE:
		weir__redis_take_back(awaited, NULL);
		weir__server_lost(&node->server, why);
		return;
	case WEIR__FOLLOW:
		if (!weir__redis_redirect(node, awaited, reply))
			refuse_calls(awaited, reply);
		return;
	case WEIR__NEVER_EVER:
		refuse_calls(awaited, reply);
		return;
	}
}

/* EXDEV of prelude.lua: another server has answered last. */
static bool is_another(const struct weir__reply *reply)
{
	return reply->type == REDIS_REPLY_ARRAY && weir__reply_integer(reply, 0) == -18 &&
	       weir__reply_at(reply, 1)->type == REDIS_REPLY_STRING &&
	       weir__reply_at(reply, 1)->size < WEIR__IDENTITY;
}

static void hear(struct node *node, const struct awaited *awaited, const struct weir__reply *reply)
{
	struct call *call = awaited->calls[0];

	weir__server_heard(&node->server);
	if (is_another(reply))
		weir__redis_doubt(node, awaited, weir__reply_at(reply, 1)->text);
	else if (awaited->script == WEIR__LUA_POLL)
		hear_poll(awaited, reply);
	else if (weir__call_is_live(call))
		hear_call(node->redis, call, reply);
}

/* Of a survey that has started over since. */
static bool is_of_no_use(const struct awaited *awaited)
{
	const struct names *names = awaited->n == 1 ? awaited->calls[0]->names : NULL;

	return names != NULL && names->round != awaited->round;
}

void weir__redis_reply(struct node *node, const struct weir__reply *reply)
{
	struct awaited *awaited = node->awaited_first;

	if (awaited == NULL) {
		weir__server_lost(&node->server, "it says more than it was asked");
		return;
	}
	node->awaited_first = awaited->next;
	if (awaited->next == NULL)
		node->awaited_last = NULL;
	if (awaited->script == WEIR__MAP && reply->type != REDIS_REPLY_ERROR)
		(void)weir__redis_take_map(node, reply); /* what is missing is learnt by MOVED */
	else if (awaited->script == WEIR__WHO)
		weir__redis_hear_who(node, awaited, reply);
	else if (awaited->script == WEIR__LOOK)
		weir__redis_hear_look(node, awaited, reply);
	else if (awaited->n == 0 || is_of_no_use(awaited))
		;
	else if (reply->type == REDIS_REPLY_ERROR)
		hear_error(node, awaited, reply);
	else
		hear(node, awaited, reply);
	for (size_t i = 0; i < awaited->n; i++)
		weir__call_heard_of(awaited->calls[i]);
	free(awaited);
}

/* ---- messages -------------------------------------------------------------------------------- */

void weir__redis_message(struct redis *redis, const struct weir__reply *reply)
{
	const struct weir__reply *kind = weir__reply_at(reply, 0);
	const struct weir__reply *text = weir__reply_at(reply, 2);
	struct weir__grant grant;

	if (kind->type != REDIS_REPLY_STRING || strcmp(kind->text, "message") != 0 ||
	    text->type != REDIS_REPLY_STRING || text->size < 1 + WEIR_TOKEN_SIZE)
		return;
	if (text->text[0] == 'g' && !read_grant(&grant, text->text + 1, text->size - 1))
		return;
	weir__desk_message(&redis->desk, text->text[0], (const uint8_t *)text->text + 1, &grant);
}

/* store/redis: what the server says. See redis.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "base/print.h"
#include "store/redis/fault.h"
#include "store/redis/redis.h"

enum { WHY_SIZE = 240 };

/* ---- answers of scripts ---------------------------------------------------------------------- */

/* The numbers of prelude.lua. */
static int error_of(long long number)
{
	switch (number) {
	case -2:
		return -ENOENT;
	case -7:
		return -E2BIG;
	case -11:
		return -EAGAIN;
	case -17:
		return -EEXIST;
	case -105:
		return -ENOBUFS;
	case -116:
		return -ESTALE;
	default:
		return number >= 0 && number < INT32_MAX ? (int)number : -EPROTO;
	}
}

static weir_time time_of(long long microseconds)
{
	return microseconds < WEIR_NEVER / WEIR_US ? microseconds * WEIR_US : WEIR_NEVER;
}

/* Of six numbers: weight, slot, fence, left, hard_left, ttl. */
static void take_grant(struct redis *redis, struct weir__grant *grant, const char *token,
		       const long long *number)
{
	*grant = (struct weir__grant){
		.weight = (uint32_t)number[0],
		.slot = (uint32_t)number[1],
		.fence = (uint64_t)number[2],
		.left = time_of(number[3]),
		.hard_left = number[4] < 0 ? WEIR_NEVER : time_of(number[4]),
		.ttl = time_of(number[5]),
	};
	memcpy(grant->token, token, WEIR_TOKEN_SIZE);
	if (grant->ttl > redis->longest)
		redis->longest = grant->ttl;
}

static bool read_grant(struct redis *redis, struct weir__grant *grant,
		       const struct weir__reply *reply)
{
	const struct weir__reply *token = weir__reply_at(reply, 1);
	long long number[6];

	if (reply->size < 8 || token->type != REDIS_REPLY_STRING || token->size != WEIR_TOKEN_SIZE)
		return false;
	for (size_t i = 0; i < 6; i++)
		number[i] = weir__reply_integer(reply, i + 2);
	take_grant(redis, grant, token->text, number);
	return true;
}

static void granted(struct redis *redis, struct call *call, const struct weir__reply *reply)
{
	if (read_grant(redis, &call->op->grant, reply))
		weir__redis_answer(redis, call, 0);
	else
		weir__redis_refuse(redis, call, -EPROTO, "its answer is not understood");
}

static void waits(struct redis *redis, struct call *call, const struct weir__reply *reply)
{
	const struct weir__reply *token = weir__reply_at(reply, 1);
	long long again = weir__reply_integer(reply, 2);
	weir_time next = call->sent + redis->store->bounds.heartbeat;

	if (token->type != REDIS_REPLY_STRING || token->size != WEIR_TOKEN_SIZE) {
		weir__redis_refuse(redis, call, -EPROTO, "its answer is not understood");
		return;
	}
	if (call->early && !call->withdrawn &&
	    memcmp(call->op->grant.token, token->text, WEIR_TOKEN_SIZE) == 0) {
		weir__redis_answer(redis, call, 0);
		return;
	}
	weir__redis_set_token(redis, call, token->text);
	if (again >= 0) {
		weir_time soon = weir__boottime() + time_of(again) + WEIR_MS / 4;

		next = soon < next ? soon : next;
	}
	if (call->poll_again)
		next = 0;
	call->poll_again = false;
	call->look_again = next;
	if (call->state != CALL_WAITING)
		weir__redis_move(redis, call, CALL_WAITING);
	weir__redis_look(redis, next);
	weir__redis_listen(redis);
	if (call->withdrawn) {
		call->withdrawn = false;
		weir__redis_withdraw(redis, call->op);
	}
}

static void ask_again(struct redis *redis, struct call *call)
{
	weir__redis_set_token(redis, call, call->op->token);
	weir__redis_move(redis, call, CALL_NEXT);
	call->early = false;
	call->script = WEIR__LUA_REQUEST;
	call->sent_before = false;
}

/* What came of an orphan. */
static void hear_orphan(struct redis *redis, struct call *call, int result)
{
	if (call->script == WEIR__LUA_WITHDRAW && result == 0) {
		call->script = WEIR__LUA_RELEASE;
		weir__redis_move(redis, call, CALL_NEXT);
	} else {
		weir__redis_bury(redis, call);
	}
}

static void hear_call(struct redis *redis, struct call *call, const struct weir__reply *reply)
{
	int result = reply->type == REDIS_REPLY_ARRAY && reply->size > 0 ?
			     error_of(weir__reply_integer(reply, 0)) :
			     -EPROTO;
	bool lease = call->script == WEIR__LUA_REQUEST || call->script == WEIR__LUA_WITHDRAW ||
		     call->script == WEIR__LUA_RENEW;

	if (call->orphan) {
		hear_orphan(redis, call, result);
	} else if (lease && result == 0) {
		granted(redis, call, reply);
	} else if (call->script == WEIR__LUA_REQUEST && result == 1) {
		waits(redis, call, reply);
	} else if (call->script == WEIR__LUA_WITHDRAW) {
		weir__redis_answer(redis, call, call->op->give_up);
	} else if (result == -EPROTO) {
		weir__redis_refuse(redis, call, -EPROTO, "its answer is not understood");
	} else {
		call->op->found_limit = (uint32_t)weir__reply_integer(reply, 1);
		/* What an earlier command of this call has done is what was asked for. */
		if (result == -ESTALE && call->sent_before && call->script != WEIR__LUA_RENEW)
			result = 0;
		weir__redis_answer(redis, call, result);
	}
}

static void hear_survey(struct redis *redis, struct call *call, const struct weir__reply *reply)
{
	int error = 0;

	if (weir__redis_survey(redis, call, reply, &error)) {
		struct names *names = call->names;

		/* The rest of what was asked is on its way; then more is asked. */
		if (names->asked - names->heard == 0)
			weir__redis_move(redis, call, CALL_NEXT);
		return;
	}
	if (error == -EPROTO)
		weir__redis_refuse(redis, call, error, "its answer is not understood");
	else
		weir__redis_answer(redis, call, error < 0 ? error : (int)call->names->reaped);
}

static void hear_poll(struct redis *redis, const struct awaited *awaited,
		      const struct weir__reply *reply)
{
	for (size_t i = 0; i < awaited->n; i++) {
		struct call *call = awaited->calls[i];
		const struct weir__reply *one = weir__reply_at(reply, i);
		int result = one->type == REDIS_REPLY_ARRAY ?
				     error_of(weir__reply_integer(one, 0)) :
				     -EPROTO;

		call->polled = false;
		if (call->op == NULL || call->state != CALL_WAITING)
			continue;
		if (result == -ESTALE) {
			ask_again(redis, call);
			continue;
		}
		call->sent = awaited->sent;
		if (result == 0)
			granted(redis, call, one);
		else if (result == 1)
			waits(redis, call, one);
		else
			weir__redis_refuse(redis, call, -EPROTO, "its answer is not understood");
	}
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

static void refuse(struct redis *redis, struct call *call, const struct weir__reply *reply)
{
	char why[WHY_SIZE];
	bool data = weir__reply_is_error(reply, "WRONGTYPE") || weir__reply_is_error(reply, "ERR");

	quote(why, sizeof(why), reply);
	if (weir__reply_is_error(reply, "WRONGTYPE"))
		weir__format(why, sizeof(why),
			     "a key of '%s' is of a foreign type; something else uses the same "
			     "names, choose another namespace",
			     call->name);
	weir__redis_refuse(redis, call, data ? -EPROTO : -EHOSTUNREACH, why);
}

static void refuse_calls(struct redis *redis, const struct awaited *awaited,
			 const struct weir__reply *reply)
{
	for (size_t i = 0; i < awaited->n; i++) {
		struct call *call = awaited->calls[i];

		call->polled = false;
		if (call->op != NULL || call->orphan)
			refuse(redis, call, reply);
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
		weir__redis_take_back(redis, awaited, NULL);
		if (awaited->script == WEIR__LUA_POLL)
			weir__redis_poll(redis, NULL, false);
		return;
	case WEIR__LATER:
		weir__redis_take_back(redis, awaited, NULL);
		weir__redis_later(node, why);
		return;
	case WEIR__REST:
		weir__redis_rest(redis, awaited, why);
		return;
	case WEIR__ELSEWHERE:
		weir__redis_take_back(redis, awaited, NULL);
		weir__redis_lost(node, why);
		return;
	case WEIR__FOLLOW:
		if (!weir__redis_redirect(node, awaited, reply))
			refuse_calls(redis, awaited, reply);
		return;
	case WEIR__NEVER_EVER:
		refuse_calls(redis, awaited, reply);
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

	node->failed = 0;
	node->gave_up = false;
	if (is_another(reply))
		weir__redis_doubt(node, awaited, weir__reply_at(reply, 1)->text);
	else if (awaited->script == WEIR__LUA_POLL)
		hear_poll(node->redis, awaited, reply);
	else if (call->op != NULL && call->names != NULL)
		hear_survey(node->redis, call, reply);
	else if (call->op != NULL || call->orphan)
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
		weir__redis_lost(node, "it says more than it was asked");
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
		weir__redis_heard_of(awaited->calls[i]);
	free(awaited);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Granted, at a time after the last one when it was known to wait. Whoever was known to so long ago
 * that little would be left asks for the truth (L5). A message may overtake the reply that the
 * request waits, for they come by different wires. */
static bool hear_grant(struct redis *redis, struct call *call, const char *token,
		       const long long *number)
{
	if (call->state != CALL_WAITING) {
		take_grant(redis, &call->op->grant, token, number);
		call->early = true;
		return true;
	}
	if (weir__boottime() - call->sent > time_of(number[3]) / 4) {
		call->look_again = 0;
		call->poll_again = call->polled;
		return false;
	}
	take_grant(redis, &call->op->grant, token, number);
	weir__redis_answer(redis, call, 0);
	return true;
}

static void hear_grants(struct redis *redis, const char *token, const char *text)
{
	struct call *call = weir__redis_waiter(redis, token);
	long long number[6];
	bool sure = true;

	if (sscanf(text, "%lld %lld %lld %lld %lld %lld", &number[0], &number[1], &number[2],
		   &number[3], &number[4], &number[5]) != 6)
		return;
	while (call != NULL) {
		struct call *next = weir__redis_next_waiter(call);

		sure = hear_grant(redis, call, token, number) && sure;
		call = next;
	}
	if (!sure)
		weir__redis_poll(redis, NULL, false);
}

static void hear_too_heavy(struct redis *redis, const char *token)
{
	struct call *call = weir__redis_waiter(redis, token);

	while (call != NULL) {
		struct call *next = weir__redis_next_waiter(call);

		if (call->state == CALL_WAITING)
			ask_again(redis, call); /* and is told the limit */
		call = next;
	}
}

void weir__redis_message(struct redis *redis, const struct weir__reply *reply)
{
	const struct weir__reply *kind = weir__reply_at(reply, 0);
	const struct weir__reply *text = weir__reply_at(reply, 2);

	if (kind->type != REDIS_REPLY_STRING || strcmp(kind->text, "message") != 0 ||
	    text->type != REDIS_REPLY_STRING || text->size < 1 + WEIR_TOKEN_SIZE)
		return;
	switch (text->text[0]) {
	case 'g':
		hear_grants(redis, text->text + 1, text->text + 1 + WEIR_TOKEN_SIZE);
		break;
	case 'l':
		weir__store_lost(redis->store, (const uint8_t *)text->text + 1);
		break;
	case 'h':
		hear_too_heavy(redis, text->text + 1);
		break;
	default:
		break;
	}
}

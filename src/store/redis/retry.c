/* store/redis: connections that fail, and servers that cannot just now. See redis.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/boottime.h"
#include "base/random.h"
#include "store/redis/redis.h"

void weir__redis_connect(struct node *node)
{
	if (node->mouth.state != WEIR__WIRE_DOWN || node->pausing ||
	    node->redis->guide.state != WEIR__WIRE_DOWN)
		return;
	node->ready = false;
	node->loaded = 0;
	node->doubt[0] = '\0';
	weir__redis_open_mouth(node);
}

/* At the next node that can be talked to. */
void weir__redis_listen(struct redis *redis)
{
	if (!redis->wants_ear || redis->ear.state != WEIR__WIRE_DOWN || redis->ear_pausing)
		return;
	for (size_t i = 0; i < redis->n_nodes; i++) {
		size_t at = (redis->ear_at + i) % redis->n_nodes;

		if (!redis->nodes[at]->ready)
			continue;
		redis->ear_at = at;
		redis->ear.address = &redis->nodes[at]->address;
		weir__wire_open(&redis->ear);
		return;
	}
}

/* A survey asks again for what it has not heard of. */
static void start_over(struct call *call)
{
	if (call->names == NULL)
		return;
	call->names->asked = call->names->heard;
	call->names->round++;
}

/* Its command was sent, and nobody knows what came of it. */
static void unsend_call(struct redis *redis, struct call *call)
{
	call->sent_before = true;
	start_over(call);
	weir__redis_move(redis, call, CALL_NEXT);
}

/* Who has given up does not wait for another connection. */
static void dismiss(struct node *node)
{
	struct call *next;

	for (struct call *call = node->todo.first; call != NULL; call = next) {
		next = call->next;
		if (call->withdrawn && call->op != NULL)
			weir__redis_abandon(node->redis, call, call->op->give_up);
	}
}

void weir__redis_reconsider(struct redis *redis)
{
	for (size_t i = 0; i < redis->n_nodes; i++)
		if (redis->nodes[i]->verifying)
			weir__agent_timer_set(redis->agent, &redis->verify, 0);
}

/* What is awaited will not come. It is to do again, before what was not sent yet. */
static void unsend(struct node *node)
{
	struct awaited *awaited = node->awaited_first;
	struct calls later = node->todo;

	node->verifying = false;
	node->todo = (struct calls){ NULL, NULL };
	node->awaited_first = node->awaited_last = NULL;
	while (awaited != NULL) {
		struct awaited *next = awaited->next;

		if (awaited->about != NULL && awaited->about->witness == node)
			awaited->about->witness = NULL;
		for (size_t i = 0; i < awaited->n; i++) {
			struct call *call = awaited->calls[i];
			bool live = call->op != NULL || call->orphan;

			call->polled = false;
			call->look_again = 0;
			if (live && call->state == CALL_SENT)
				unsend_call(node->redis, call);
			weir__redis_heard_of(call);
		}
		free(awaited);
		awaited = next;
	}
	if (later.first != NULL) {
		later.first->previous = node->todo.last;
		*(node->todo.last != NULL ? &node->todo.last->next :
					    &node->todo.first) = later.first;
		node->todo.last = later.last;
	}
	dismiss(node);
	weir__redis_reconsider(node->redis);
}

void weir__redis_take_back(struct redis *redis, const struct awaited *awaited, struct node *ask)
{
	for (size_t i = 0; i < awaited->n; i++) {
		struct call *call = awaited->calls[i];

		call->polled = false;
		call->look_again = 0;
		if (call->op == NULL && !call->orphan)
			continue;
		if (call->state == CALL_SENT || call->state == CALL_WAITING)
			call->asking = ask != NULL && call->names == NULL;
		if (call->asking && call->state != CALL_NEXT)
			call->node = ask;
		if (call->state != CALL_SENT)
			continue;
		start_over(call);
		if (call->withdrawn && call->script == WEIR__LUA_REQUEST && !call->sent_before)
			weir__redis_answer(redis, call, call->op->give_up);
		else
			weir__redis_move(redis, call, CALL_NEXT);
	}
}

/* Longer each time, and never the same for two clients that were cut off together. */
weir_time weir__redis_delay(const struct redis *redis, uint32_t failed)
{
	weir_time time = redis->min_delay;
	uint16_t random = 0;

	for (uint32_t i = 1; i < failed && time < redis->max_delay; i++)
		time *= redis->multiplier;
	if (time > redis->max_delay)
		time = redis->max_delay;
	(void)weir__random(&random, sizeof(random)); /* without, it does without */
	return time / 2 + time / 2 / UINT16_MAX * random;
}

static void pause_node(struct node *node)
{
	node->pausing = true;
	weir__agent_timer_set(node->redis->agent, &node->pause,
			      weir__boottime() + weir__redis_delay(node->redis, node->failed));
}

/* Whether there may be another attempt; else all have been refused. */
static bool try_again(struct node *node, uint32_t attempts, const char *why)
{
	if (weir__gate_is_shut(node->redis->store))
		attempts = 1; /* whoever closes a store does not want to wait for it */
	if (++node->failed < attempts)
		return true;
	weir__redis_give_up(node, -EHOSTUNREACH, why);
	return false;
}

static bool has_something(const struct redis *redis)
{
	for (size_t i = 0; i < redis->n_nodes; i++)
		if (redis->nodes[i]->todo.first != NULL || redis->nodes[i]->awaited_first != NULL)
			return true;
	return redis->waiting.first != NULL || redis->resting.first != NULL;
}

void weir__redis_part(struct redis *redis)
{
	struct weir__op *goodbye = redis->goodbye;

	if (goodbye == NULL || has_something(redis))
		return;
	redis->goodbye = NULL;
	weir__agent_timer_unset(redis->agent, &redis->ear_pause);
	weir__agent_timer_unset(redis->agent, &redis->heartbeat);
	weir__agent_timer_unset(redis->agent, &redis->learn);
	weir__agent_timer_unset(redis->agent, &redis->verify);
	weir__agent_timer_unset(redis->agent, &redis->wake_up);
	for (size_t i = 0; i < redis->n_nodes; i++) {
		weir__agent_timer_unset(redis->agent, &redis->nodes[i]->pause);
		weir__agent_timer_unset(redis->agent, &redis->nodes[i]->unwritten);
		weir__wire_close(&redis->nodes[i]->mouth);
	}
	weir__wire_close(&redis->guide);
	weir__wire_close(&redis->ear);
	weir__op_answer(goodbye, 0);
}

void weir__redis_give_up(struct node *node, int error, const char *why)
{
	node->failed = 0;
	node->gave_up = true;
	node->ready = false;
	weir__wire_close(&node->mouth);
	unsend(node);
	weir__redis_refuse_all(node, error, why);
	weir__redis_part(node->redis);
}

/* Somebody else may have what this server had. */
static void learn(struct redis *redis)
{
	if (redis->slots != NULL)
		weir__agent_timer_set(redis->agent, &redis->learn, 0);
}

void weir__redis_lost(struct node *node, const char *why)
{
	struct redis *redis = node->redis;
	bool was_ready = node->ready;

	node->ready = false;
	weir__wire_close(&node->mouth);
	unsend(node);
	if (weir__redis_is_idle(node)) {
		weir__redis_part(redis);
		return;
	}
	learn(redis);
	/* One that was lost is not one that could not be made. */
	if (!try_again(node, redis->attempts + (was_ready ? 1 : 0), why))
		return;
	if (was_ready && node->failed == 1)
		weir__redis_connect(node);
	else
		pause_node(node);
}

void weir__redis_later(struct node *node, const char *why)
{
	learn(node->redis);
	if (node->pausing || !try_again(node, node->redis->attempts, why))
		return;
	pause_node(node);
}

/* store/redis: connections that fail, and servers that cannot just now. See redis.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/boottime.h"
#include "base/random.h"
#include "store/redis/redis.h"

void weir__redis_connect(struct redis *redis)
{
	if (redis->mouth.state != WEIR__WIRE_DOWN || redis->pausing)
		return;
	redis->ready = false;
	redis->loaded = 0;
	weir__wire_open(&redis->mouth);
}

void weir__redis_listen(struct redis *redis)
{
	if (redis->wants_ear && redis->ear.state == WEIR__WIRE_DOWN && !redis->ear_pausing)
		weir__wire_open(&redis->ear);
}

/* Its command was sent, and nobody knows what came of it. */
static void unsend_call(struct redis *redis, struct call *call)
{
	call->sent_before = true;
	if (call->names != NULL)
		call->names->asked = call->names->heard;
	weir__redis_move(redis, call, CALL_NEXT);
}

/* Who has given up does not wait for another connection. */
static void dismiss(struct redis *redis)
{
	struct call *next;

	for (struct call *call = redis->todo.first; call != NULL; call = next) {
		next = call->next;
		if (call->withdrawn && call->op != NULL)
			weir__redis_abandon(redis, call, call->op->give_up);
	}
}

/* What is awaited will not come. It is to do again, before what was not sent yet. */
static void unsend(struct redis *redis)
{
	struct awaited *awaited = redis->awaited_first;
	struct calls later = redis->todo;

	redis->todo = (struct calls){ NULL, NULL };
	redis->awaited_first = redis->awaited_last = NULL;
	while (awaited != NULL) {
		struct awaited *next = awaited->next;

		for (size_t i = 0; i < awaited->n; i++) {
			struct call *call = awaited->calls[i];
			bool live = call->op != NULL || call->orphan;

			call->polled = false;
			call->look_again = 0;
			weir__redis_heard_of(call);
			if (live && call->state == CALL_SENT)
				unsend_call(redis, call);
		}
		free(awaited);
		awaited = next;
	}
	if (later.first != NULL) {
		later.first->previous = redis->todo.last;
		*(redis->todo.last != NULL ? &redis->todo.last->next :
					     &redis->todo.first) = later.first;
		redis->todo.last = later.last;
	}
	dismiss(redis);
}

/* Longer each time, and never the same for two clients that were cut off together. */
static weir_time delay(const struct redis *redis)
{
	weir_time time = redis->min_delay;
	uint16_t random = 0;

	for (uint32_t i = 1; i < redis->failed && time < redis->max_delay; i++)
		time *= redis->multiplier;
	if (time > redis->max_delay)
		time = redis->max_delay;
	(void)weir__random(&random, sizeof(random)); /* without, it does without */
	return time / 2 + time / 2 / UINT16_MAX * random;
}

static void pause_for(struct redis *redis, weir_time time)
{
	redis->pausing = true;
	weir__agent_timer_set(redis->agent, &redis->pause, weir__boottime() + time);
}

static bool is_idle(const struct redis *redis)
{
	return redis->todo.first == NULL && redis->waiting.first == NULL;
}

/* Whether there may be another attempt; else all have been refused. */
static bool try_again(struct redis *redis, uint32_t attempts, const char *why)
{
	if (weir__gate_is_shut(redis->store))
		attempts = 1; /* whoever closes a store does not want to wait for it */
	if (++redis->failed < attempts)
		return true;
	weir__redis_give_up(redis, -EHOSTUNREACH, why);
	return false;
}

void weir__redis_part(struct redis *redis)
{
	struct weir__op *goodbye = redis->goodbye;

	if (goodbye == NULL || !is_idle(redis) || redis->awaited_first != NULL)
		return;
	redis->goodbye = NULL;
	weir__agent_timer_unset(redis->agent, &redis->pause);
	weir__agent_timer_unset(redis->agent, &redis->ear_pause);
	weir__agent_timer_unset(redis->agent, &redis->heartbeat);
	weir__agent_timer_unset(redis->agent, &redis->unwritten);
	weir__wire_close(&redis->mouth);
	weir__wire_close(&redis->ear);
	weir__op_answer(goodbye, 0);
}

void weir__redis_give_up(struct redis *redis, int error, const char *why)
{
	redis->failed = 0;
	redis->gave_up = true;
	redis->ready = false;
	weir__wire_close(&redis->mouth);
	unsend(redis);
	weir__redis_refuse_all(redis, error, why);
	weir__redis_part(redis);
}

void weir__redis_lost(struct redis *redis, const char *why)
{
	bool was_ready = redis->ready;

	redis->ready = false;
	weir__wire_close(&redis->mouth);
	unsend(redis);
	if (is_idle(redis)) {
		weir__redis_part(redis);
		return;
	}
	/* One that was lost is not one that could not be made. */
	if (!try_again(redis, redis->attempts + (was_ready ? 1 : 0), why))
		return;
	if (was_ready && redis->failed == 1)
		weir__redis_connect(redis);
	else
		pause_for(redis, delay(redis));
}

void weir__redis_later(struct redis *redis, const char *why)
{
	if (redis->pausing || !try_again(redis, redis->attempts, why))
		return;
	pause_for(redis, delay(redis));
}

/* store/redis: when what is said to the server. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
#include "store/redis/redis.h"

enum { SURVEY_AT_ONCE = 64 }; /* names that are asked about before one is heard of */

/* Listings ask about many names at once; a reaping must know how many it has had. */
static bool say_survey(struct redis *redis, struct call *call)
{
	struct names *names = call->names;
	size_t most = call->script == WEIR__LUA_REAP || !names->complete ? 1 : SURVEY_AT_ONCE;

	do {
		if (!weir__redis_say(redis, call))
			return false;
	} while (names->complete && names->asked < names->count &&
		 names->asked - names->heard < most);
	return true;
}

static void say(struct redis *redis, struct call *call)
{
	bool survey = call->script == WEIR__LUA_LIST || call->script == WEIR__LUA_REAP;
	bool said;

	weir__redis_move(redis, call, CALL_SENT);
	if (call->script == WEIR__HELLO) {
		weir__redis_answer(redis, call, 0);
		return;
	}
	if (survey && call->names == NULL && !weir__redis_survey_start(call)) {
		weir__redis_refuse(redis, call, -ENOMEM, "there is no memory");
		return;
	}
	if (survey && call->names->complete && call->names->count == 0) {
		weir__redis_answer(redis, call, 0);
		return;
	}
	call->sent = weir__boottime();
	said = survey ? say_survey(redis, call) : weir__redis_say(redis, call);
	if (!said)
		weir__redis_refuse(redis, call, -ENOMEM, "there is no memory");
}

void weir__redis_send(struct redis *redis)
{
	if (redis->todo.first == NULL || redis->pausing) {
		weir__redis_part(redis);
		return;
	}
	if (!redis->ready) {
		if (weir__gate_is_shut(redis->store) && redis->gave_up)
			weir__redis_give_up(redis, -EHOSTUNREACH, "it could not be reached");
		else
			weir__redis_connect(redis);
		return;
	}
	while (redis->todo.first != NULL)
		say(redis, redis->todo.first);
	weir__wire_flush(&redis->mouth);
	weir__redis_part(redis);
}

/* An asker may be a task with little stack, and TLS wants much. */
bool weir__redis_can_send_now(const struct redis *redis)
{
	return redis->ready && !redis->address.tls && redis->todo.first == NULL &&
	       !redis->pausing && WEIR__LOAD(&redis->queued, __ATOMIC_ACQUIRE) == 0;
}

void weir__redis_send_now(struct redis *redis)
{
	while (redis->todo.first != NULL)
		say(redis, redis->todo.first);
	if (!weir__wire_try_flush(&redis->mouth))
		weir__agent_timer_set(redis->agent, &redis->unwritten, 0);
}

void weir__redis_look(struct redis *redis, weir_time time)
{
	if (time >= redis->beats_at)
		return;
	redis->beats_at = time;
	weir__agent_timer_set(redis->agent, &redis->heartbeat, time);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct call *const *)a)->name, (*(struct call *const *)b)->name);
}

/* Those that are due, or nearly so: many in one command are cheaper than each in time. */
static size_t gather(struct redis *redis, struct call **due, bool all)
{
	weir_time until = weir__boottime() + redis->store->bounds.heartbeat / 8;
	weir_time next = WEIR_NEVER;
	size_t n = 0;

	for (struct call *call = redis->waiting.first; call != NULL; call = call->next) {
		if (all || call->look_again <= until) {
			if (!call->polled)
				due[n++] = call;
		} else if (call->look_again < next) {
			next = call->look_again;
		}
	}
	weir__redis_look(redis, next);
	return n;
}

static void say_polls(struct redis *redis, struct call **due, size_t n)
{
	size_t end;

	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && end - i < WEIR__REDIS_AT_ONCE; end++)
			if (strcmp(due[i]->name, due[end]->name) != 0)
				break;
		if (!weir__redis_say_poll(redis, due + i, end - i))
			return;
		for (size_t k = i; k < end; k++)
			due[k]->polled = true;
	}
}

void weir__redis_poll(struct redis *redis, bool all)
{
	struct call **due;
	size_t n = 0;

	for (struct call *call = redis->waiting.first; call != NULL; call = call->next)
		n++;
	if (n == 0)
		return;
	/* Whatever comes of this: a heartbeat from now it is tried again. */
	weir__redis_look(redis, weir__boottime() + redis->store->bounds.heartbeat);
	due = redis->ready && !redis->pausing ? malloc(n * sizeof(struct call *)) : NULL;
	if (due == NULL)
		return;
	n = gather(redis, due, all);
	qsort(due, n, sizeof(struct call *), by_name);
	say_polls(redis, due, n);
	free(due);
	weir__wire_flush(&redis->mouth);
}

/* store/redis: opening and closing, and what comes from askers. See redis.h. */
#include "store/redis/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/random.h"
#include "store/redis/redis.h"

/* ---- in the agent's thread ------------------------------------------------------------------- */

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	struct redis *redis = self;
	uint32_t n;

	weir__lock(&redis->lock);
	n = weir__desk_serve(&redis->desk, operations, withdrawn);
	(void)WEIR__SUB(&redis->queued, n, __ATOMIC_RELEASE);
	weir__redis_send(redis);
	weir__unlock(&redis->lock);
}

static const struct weir__agent_work work = { .serve = serve, .distant = true };

static void end_pause(struct weir__timer *timer)
{
	struct node *node =
		(struct node *)(void *)((char *)timer - offsetof(struct node, server.pause));
	struct redis *redis = node->redis;

	weir__lock(&redis->lock);
	node->server.pausing = false;
	if (node->server.ready) {
		weir__redis_send(redis);
		weir__redis_poll(redis, node, false);
	} else if (!weir__server_is_idle(&node->server)) {
		weir__redis_connect(&node->server);
	}
	weir__unlock(&redis->lock);
}

static void end_ear_pause(struct weir__timer *timer)
{
	struct redis *redis =
		(struct redis *)(void *)((char *)timer - offsetof(struct redis, ear_pause));

	weir__lock(&redis->lock);
	redis->ear_pausing = false;
	weir__redis_listen(&redis->desk);
	weir__unlock(&redis->lock);
}

static void write_rest(struct weir__timer *timer)
{
	struct node *node =
		(struct node *)(void *)((char *)timer - offsetof(struct node, unwritten));

	weir__lock(&node->redis->lock);
	if (node->server.ready)
		weir__wire_flush(&node->mouth);
	weir__unlock(&node->redis->lock);
}

static void beat(struct weir__timer *timer)
{
	struct redis *redis =
		(struct redis *)(void *)((char *)timer - offsetof(struct redis, desk.heartbeat));

	weir__lock(&redis->lock);
	redis->desk.beats_at = WEIR_NEVER;
	weir__redis_poll(redis, NULL, false);
	weir__unlock(&redis->lock);
}

static struct server *server_of(struct desk *desk, const struct call *call)
{
	struct redis *redis = weir__redis_of(desk);
	struct node *node = call->names != NULL ? weir__redis_survey_node(redis, call->names) :
						  weir__redis_node_of(redis, call->name);

	return &node->server;
}

static void hang_up(struct server *server)
{
	weir__wire_close(&weir__redis_node(server)->mouth);
}

static const struct desk_kind desk_kind = {
	.product = "Redis",
	.server_of = server_of,
	.prepare = weir__redis_survey_start,
	.listen = weir__redis_listen,
	.connect = weir__redis_connect,
	.hang_up = hang_up,
	.unsend = weir__redis_unsend,
	.look_elsewhere = weir__redis_look_elsewhere,
	.part = weir__redis_part,
};

static const struct node_kind kind = {
	.mouth = &weir__redis_mouth,
	.end_pause = end_pause,
	.write_rest = write_rest,
};

/* ---- options --------------------------------------------------------------------------------- */

static const char *const options[] = {
	"namespace", "connect_timeout", "timeout", "attempts",  "multiplier",
	"min_delay", "max_delay",       "ca_file", "cert_file", "key_file",
	"failover",  "sentinel_auth",   NULL,
};

static bool set_text(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	return *text != NULL && value[0] != '\0';
}

/* What a value must be, or NULL: it is. */
static const char *set_option(struct redis *redis, const char *name, const char *value)
{
	struct weir__address *address = &redis->address;
	const char *why;

	if (weir__backoff_set(&redis->desk.backoff, name, value, &why))
		return why;
	if (strcmp(name, "connect_timeout") == 0)
		return weir__backoff_set_time(&address->connect_timeout, value);
	if (strcmp(name, "timeout") == 0)
		return weir__backoff_set_time(&address->timeout, value);
	if (strcmp(name, "namespace") == 0)
		return weir_name_valid(value) && strlen(value) <= 100 &&
				       set_text(&redis->space, value) ?
			       NULL :
			       "must be 1 to 100 of A-Z a-z 0-9 - _ : / .";
	if (strcmp(name, "sentinel_auth") == 0) {
		redis->sentinel_auth = strcmp(value, "yes") == 0;
		return redis->sentinel_auth || strcmp(value, "no") == 0 ? NULL :
									  "must be yes or no";
	}
	if (strcmp(name, "failover") == 0) {
		redis->desk.go_on = strcmp(value, "continue") == 0;
		redis->durable = strcmp(value, "durable") == 0;
		return redis->desk.go_on || redis->durable || strcmp(value, "wait") == 0 ?
			       NULL :
			       "must be wait, durable or continue";
	}
	return set_text(strcmp(name, "ca_file") == 0   ? &address->ca_file :
			strcmp(name, "cert_file") == 0 ? &address->cert_file :
							 &address->key_file,
			value) ?
		       NULL :
		       "must be the path of a file";
}

static int set_options(struct redis *redis, const struct weir__url *url, char **ret_error)
{
	const char *why;

	redis->space = strdup("weir");
	if (redis->space == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < url->n_extra; i++) {
		why = set_option(redis, url->extra[i].name, url->extra[i].value);
		if (why == NULL)
			continue;
		*ret_error = weir__format_new("the store's option %s %s", url->extra[i].name, why);
		return -EINVAL;
	}
	return 0;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void free_redis(struct redis *redis)
{
	weir__agent_stop(redis->desk.agent);
	weir__desk_done(&redis->desk);
	weir__redis_nodes_free(redis);
	weir__address_done(&redis->sentinel);
	weir__address_done(&redis->address);
	free(redis->space);
	free(redis->command);
	weir__free(redis);
}

static int read_url(struct redis *redis, const struct weir__url *url, char **ret_error)
{
	const char *why = NULL;
	int error = weir__address_parse(&redis->address, url->scheme, url->rest, &why);

	if (error == -EINVAL)
		*ret_error = weir__format_new("a Redis store is named as "
					      "redis://USER:PASSWORD@HOST:PORT/DB, but here %s",
					      why);
	if (error == 0)
		error = set_options(redis, url, ret_error);
	return error;
}

static int name_channel(struct redis *redis)
{
	uint64_t random[2];
	int error = weir__random(random, sizeof(random));

	weir__format(redis->channel, sizeof(redis->channel), "%s:agent:%016llx%016llx",
		     redis->space, (unsigned long long)random[0], (unsigned long long)random[1]);
	return error;
}

static int prepare(struct redis *redis, const struct weir__url *url, char **ret_error)
{
	const char *missing = NULL;
	int error = read_url(redis, url, ret_error);

	if (error == 0)
		error = weir__redis_load(redis->address.tls, &missing);
	if (missing != NULL)
		*ret_error = weir__format_new("%s cannot be loaded; install it to use Redis",
					      missing);
	if (error == 0)
		error = name_channel(redis);
	if (error == 0)
		error = weir__agent_new(&work, redis, &redis->desk.agent);
	if (error == 0 &&
	    weir__redis_node_at(redis, redis->address.host, redis->address.port) == NULL)
		error = -ENOMEM;
	if (error == 0)
		error = weir__redis_guide_init(redis);
	return error;
}

static void say_goodbye(struct redis *redis)
{
	(void)WEIR__ADD(&redis->queued, 1, __ATOMIC_RELAXED);
	weir__desk_say_goodbye(&redis->desk);
}

static int say_hello(struct redis *redis, char **ret_error)
{
	int error;

	(void)WEIR__ADD(&redis->queued, 1, __ATOMIC_RELAXED);
	error = weir__desk_say_hello(&redis->desk, ret_error);
	if (error < 0)
		say_goodbye(redis);
	return error;
}

/* Waits until the server is known to be there and to do: what is wrong with a store is said when it
 * is opened. */
static int open_redis(struct weir_store *store, const struct weir__url *url, char **ret_error)
{
	struct redis *redis = weir__alloc(sizeof(*redis));
	int error;

	if (redis == NULL)
		return -ENOMEM;
	weir__desk_init(&redis->desk, &desk_kind, store);
	redis->kind = &kind;
	redis->ear_pause.fire = end_ear_pause;
	redis->desk.heartbeat.fire = beat;
	redis->learn.fire = weir__redis_learn;
	redis->verify.fire = weir__redis_verify;
	redis->desk.wake_up.fire = weir__redis_wake_up;
	redis->command = weir__redis_command_new();
	error = redis->command != NULL ? prepare(redis, url, ret_error) : -ENOMEM;
	weir__wire_init(&redis->ear, &weir__redis_ear, redis->desk.agent, &redis->lock,
			&redis->address);
	if (error == 0)
		error = say_hello(redis, ret_error);
	if (error < 0) {
		free_redis(redis);
		return error;
	}
	store->state = redis;
	store->agent = redis->desk.agent;
	return 0;
}

static void close_redis(struct weir_store *store)
{
	struct redis *redis = store->state;

	say_goodbye(redis);
	free_redis(redis);
}

/* Never waits for the lock: the caller may have others. */
static bool send_now(struct redis *redis, struct weir__op *op)
{
	struct node *node;
	bool now;

	if (op->verb == WEIR__LIST || op->verb == WEIR__REAP || !weir__try_lock(&redis->lock))
		return false;
	node = weir__redis_node_of(redis, op->name);
	now = weir__redis_can_send_now(redis, node);
	if (now) {
		(void)weir__desk_take(&redis->desk, op);
		weir__redis_send_now(node);
	}
	weir__unlock(&redis->lock);
	return now;
}

static void submit(struct weir_store *store, struct weir__op *op)
{
	struct redis *redis = store->state;

	if (send_now(redis, op))
		return;
	(void)WEIR__ADD(&redis->queued, 1, __ATOMIC_RELAXED);
	weir__agent_submit(store->agent, op);
}

static void withdraw(struct weir_store *store, struct weir__op *op)
{
	weir__agent_withdraw(store->agent, op);
}

#define ENGINE(scheme_)                                                                            \
	{                                                                                          \
		.scheme = (scheme_), .options = options, .open = open_redis, .close = close_redis, \
		.submit = submit, .withdraw = withdraw,                                            \
	}

const struct weir__engine weir__redis_engine = ENGINE("redis");
const struct weir__engine weir__rediss_engine = ENGINE("rediss");
const struct weir__engine weir__redis_unix_engine = ENGINE("redis+unix");
const struct weir__engine weir__redis_sentinel_engine = ENGINE("redis+sentinel");
const struct weir__engine weir__rediss_sentinel_engine = ENGINE("rediss+sentinel");

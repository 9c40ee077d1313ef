/* store/redis: looking at many names: listings and reapings. See redis.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lease/picture.h"
#include "store/redis/packed.h"
#include "store/redis/redis.h"

/* ---- which names ----------------------------------------------------------------------------- */

struct node *weir__redis_survey_node(const struct redis *redis, struct names *names)
{
	if (!names->complete)
		return redis->nodes[weir__redis_scan(names)->node];
	return names->asked < names->count ? weir__redis_node_of(redis, names->name[names->asked]) :
					     redis->nodes[0];
}

bool weir__redis_survey_start(struct call *call)
{
	struct redis *redis = weir__redis_of(call->desk);
	struct scan *scan;

	if (call->verb != CALL_LIST && call->verb != CALL_REAP)
		return true;
	scan = weir__names_new(call->op, sizeof(*scan));
	if (scan == NULL)
		return false;
	scan->cursor[0] = '0';
	scan->node = weir__redis_serving(redis, 0) % redis->n_nodes;
	call->names = &scan->names;
	return true;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Those of one node together, as far as may be. */
static int compare_slots(const void *a, const void *b)
{
	int one = weir__redis_slot(*(char *const *)a), two = weir__redis_slot(*(char *const *)b);

	return one != two ? one - two : compare(a, b);
}

/* SCAN may tell of a key more than once, and so may two nodes while it moves. */
static void sort_names(const struct redis *redis, struct names *names)
{
	size_t kept = 0;

	if (names->count != 0)
		qsort(names->name, names->count, sizeof(char *),
		      redis->slots != NULL ? compare_slots : compare);
	for (size_t i = 0; i < names->count; i++) {
		if (kept != 0 && strcmp(names->name[kept - 1], names->name[i]) == 0)
			free(names->name[i]);
		else
			names->name[kept++] = names->name[i];
	}
	names->count = kept;
	names->complete = true;
}

/* A cursor, and keys as SPACE:{NAME}:h. */
static int take_keys(struct redis *redis, struct names *names, const struct weir__reply *reply)
{
	struct scan *scan = weir__redis_scan(names);
	const struct weir__reply *cursor = weir__reply_at(reply, 0);
	const struct weir__reply *keys = weir__reply_at(reply, 1);

	if (cursor->type != REDIS_REPLY_STRING || keys->type != REDIS_REPLY_ARRAY ||
	    cursor->size == 0 || cursor->size >= sizeof(scan->cursor))
		return -EPROTO;
	memcpy(scan->cursor, cursor->text, cursor->size + 1);
	for (size_t i = 0; i < keys->size; i++) {
		const struct weir__reply *key = weir__reply_at(keys, i);
		const char *name = key->text != NULL ? strchr(key->text, '{') : NULL;
		const char *end = name != NULL ? strchr(name, '}') : NULL;

		if (end != NULL && end - name - 1 <= WEIR_NAME_MAX &&
		    !weir__names_add(names, name + 1, (size_t)(end - name) - 1))
			return -ENOMEM;
	}
	if (strcmp(scan->cursor, "0") != 0)
		return 0;
	scan->node = weir__redis_serving(redis, scan->node + 1);
	if (scan->node == redis->n_nodes)
		sort_names(redis, names);
	return 0;
}

/* ---- what they are --------------------------------------------------------------------------- */

/* The order of a packed claim; see whole.lua. */
enum field { STATE, SINCE, TICKET, FENCE, SLOT, EXPIRES, HARD_END, WEIGHT, TTL, MAX_HOLD, FIELDS };

static int64_t field_of(const char *packed, enum field field)
{
	int64_t number = weir__packed_number(packed, field);

	return number >= 0 ? number : 0;
}

static weir_time time_of(const char *packed, enum field field)
{
	return field_of(packed, field) * WEIR_US;
}

/* Points into the reply, which ends with a zero. */
static bool unpack(struct weir__claim *claim, const struct weir__reply *token,
		   const struct weir__reply *value)
{
	const char *packed = value->text;
	const char *end = packed + value->size;

	if (token->size != WEIR_TOKEN_SIZE + 1 || value->type != REDIS_REPLY_STRING ||
	    value->size < 8 * FIELDS + 2)
		return false;
	*claim = (struct weir__claim){
		.state = field_of(packed, STATE) == 2 ? WEIR__HOLDING : WEIR__WAITING,
		.weight = (uint32_t)field_of(packed, WEIGHT),
		.ttl = time_of(packed, TTL),
		.max_hold = time_of(packed, MAX_HOLD),
		.since = time_of(packed, SINCE),
		.ticket = (uint64_t)field_of(packed, TICKET),
		.fence = (uint64_t)field_of(packed, FENCE),
		.slot = (uint32_t)field_of(packed, SLOT),
		.expires = time_of(packed, EXPIRES),
		.hard_end = field_of(packed, HARD_END) != 0 ? time_of(packed, HARD_END) :
							      WEIR_NEVER,
	};
	memcpy(claim->token, token->text + 1, WEIR_TOKEN_SIZE);
	claim->owner = packed + 8 * FIELDS;
	claim->request_id = claim->owner + strlen(claim->owner) + 1;
	return claim->request_id < end;
}

static int by_ticket(const void *a, const void *b)
{
	const struct weir__claim *one = a, *two = b;

	return one->ticket < two->ticket ? -1 : one->ticket > two->ticket;
}

static int add_claims(struct weir__picture *picture, weir_time now, const struct weir__reply *all)
{
	struct weir__claim *claims = calloc(all->size / 2 + 1, sizeof(*claims));
	size_t n = 0;
	int error = claims != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; i + 1 < all->size && error == 0; i += 2) {
		const struct weir__reply *token = weir__reply_at(all, i);

		if (token->text == NULL || token->text[0] != 't')
			continue;
		if (!unpack(&claims[n++], token, weir__reply_at(all, i + 1)))
			error = -EPROTO;
	}
	if (error == 0)
		qsort(claims, n, sizeof(*claims), by_ticket);
	for (size_t i = 0; i < n && error == 0; i++)
		error = weir__picture_claim(picture, now, &claims[i], 0);
	free(claims);
	return error;
}

static void take_waits(struct weir__waits *waits, const struct weir__reply *all, weir_time longest)
{
	waits->longest = longest;
	for (size_t i = 0; i + 1 < all->size; i += 2) {
		const struct weir__reply *class = weir__reply_at(all, i);
		const struct weir__reply *count = weir__reply_at(all, i + 1);
		unsigned long at;

		if (class->text == NULL || class->text[0] != 'w' || count->text == NULL)
			continue;
		at = strtoul(class->text + 1, NULL, 10);
		if (at < WEIR__WAIT_CLASSES)
			waits->count[at] = (uint32_t)strtoul(count->text, NULL, 10);
	}
}

/* What verb_list.lua answers. */
enum {
	NOW = 1,
	LIMIT,
	HELD,
	HOLDERS,
	WAITING,
	LAST_FENCE,
	AT_ONCE,
	AFTER_WAIT,
	REFUSED,
	EXPIRED,
	RENEWALS_FAILED,
	SLOWEST,
	CLOSED,
	FIELDS_OF_ALL,
};

static int show(struct weir__picture *picture, const char *name, const struct weir__reply *reply)
{
	weir_time now = weir__reply_integer(reply, NOW) * WEIR_US;
	const struct weir__reply *all = weir__reply_at(reply, FIELDS_OF_ALL);
	struct weir__waits waits = { 0 };
	struct weir__rec rec = {
		.limit = (uint32_t)weir__reply_integer(reply, LIMIT),
		.held = (uint32_t)weir__reply_integer(reply, HELD),
		.holders = (uint32_t)weir__reply_integer(reply, HOLDERS),
		.waiting = (uint32_t)weir__reply_integer(reply, WAITING),
		.fence = (uint64_t)weir__reply_integer(reply, LAST_FENCE),
		.counters = {
			.at_once = (uint64_t)weir__reply_integer(reply, AT_ONCE),
			.after_wait = (uint64_t)weir__reply_integer(reply, AFTER_WAIT),
			.refused = (uint64_t)weir__reply_integer(reply, REFUSED),
			.expired = (uint64_t)weir__reply_integer(reply, EXPIRED),
			.renewals_failed = (uint64_t)weir__reply_integer(reply, RENEWALS_FAILED),
		},
	};
	int error;

	if (reply->size <= FIELDS_OF_ALL || all->type != REDIS_REPLY_ARRAY)
		return -EPROTO;
	take_waits(&waits, all, weir__reply_integer(reply, SLOWEST) * WEIR_US);
	error = weir__picture_add(picture, name, &rec, &waits);
	if (error < 0)
		return error;
	weir__picture_closed(picture, weir__reply_integer(reply, CLOSED) * WEIR_US);
	return add_claims(picture, now, all);
}

bool weir__redis_survey(struct redis *redis, struct call *call, const struct weir__reply *reply,
			int *ret_error)
{
	struct names *names = call->names;
	int error = 0;

	if (reply->type != REDIS_REPLY_ARRAY) {
		error = -EPROTO;
	} else if (!names->complete) {
		error = take_keys(redis, names, reply);
	} else if (call->verb == CALL_REAP) {
		names->heard++;
		names->reaped += (uint32_t)weir__reply_integer(reply, 0);
		if (names->reaped >= call->op->max_rows)
			names->heard = names->count;
	} else {
		const char *name = names->name[names->heard++];

		if (weir__reply_integer(reply, 0) == 0)
			error = show(call->op->picture, name, reply);
	}
	*ret_error = error;
	if (error == 0 && (!names->complete || names->heard < names->count))
		return true;
	if (error == 0 && call->op->remarks)
		*ret_error = weir__redis_remark(redis, call->op->picture);
	return false;
}

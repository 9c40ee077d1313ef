/* store/postgres: how things are said to the server. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hot.h"
#include "base/print.h"
#include "store/postgres/postgres.h"

enum {
	MOST_VALUES = 14,
	DIGITS = 24,
	TOKEN_TEXT = 2 * WEIR_TOKEN_SIZE,
	MOST_NUMBERS = 3,
	NAMES_AT_ONCE = 1000,
};

/* The values of a statement in the making. Text all of them: the server reads numbers in no time,
 * and nobody has to count bytes. */
struct values {
	int n;
	const char *value[MOST_VALUES];
	char digits[MOST_VALUES][DIGITS];
	char token[TOKEN_TEXT + 1];
	char tokens[WEIR__POLL_AT_ONCE * (TOKEN_TEXT + 1) + 2];
	char slots[WEIR__POLL_AT_ONCE * DIGITS + 2];
	char weights[WEIR__POLL_AT_ONCE * DIGITS + 2];
	char terms[MOST_NUMBERS * DIGITS + sizeof(((struct postgres *)NULL)->server)];
	char more[MOST_NUMBERS * DIGITS];
};

static const struct {
	const char *function;
	int values;
	bool rows; /* it returns some */
} verbs[WEIR__PG_VERBS] = {
	[WEIR__PG_ENSURE] = { "ensure", 4, false },
	[WEIR__PG_LIMIT] = { "set_limit", 4, false },
	[WEIR__PG_ACQUIRE] = { "acquire", 6, false },
	[WEIR__PG_JOIN] = { "join_in", 6, false },
	[WEIR__PG_REQUEST] = { "request", 14, false },
	[WEIR__PG_POLL] = { "poll", 5, false },
	[WEIR__PG_WITHDRAW] = { "withdraw", 6, false },
	[WEIR__PG_RENEW] = { "renew", 6, false },
	[WEIR__PG_RELEASE] = { "release", 5, false },
	[WEIR__PG_LEAVE] = { "leave", 6, false },
	[WEIR__PG_EVICT] = { "evict", 4, false },
	[WEIR__PG_REAP] = { "reap", 4, false },
	[WEIR__PG_NAMES] = { "names", 2, true },
	[WEIR__PG_LIST] = { "list", 3, true },
};

int weir__pg_write_texts(struct postgres *pg)
{
	for (int i = 0; i < WEIR__PG_VERBS; i++) {
		char values[MOST_VALUES * 5] = "$1";

		for (int k = 2; k <= verbs[i].values; k++)
			weir__format(values + strlen(values), sizeof(values) - strlen(values),
				     ",$%d", k);
		pg->text[i] = weir__format_new("SELECT %s\"%s\".%s(%s)",
					       verbs[i].rows ? "* FROM " : "", pg->schema,
					       verbs[i].function, values);
		if (pg->text[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void add_text(struct values *values, const char *text)
{
	values->value[values->n++] = text;
}

static void add_number(struct values *values, int64_t number)
{
	char *end = values->digits[values->n] + DIGITS - 1;

	*end = '\0';
	add_text(values, weir__print_number(end, number));
}

static char *write_token(char *to, const uint8_t *token)
{
	static const char hex[] = "0123456789abcdef";

	for (int i = 0; i < WEIR_TOKEN_SIZE; i++) {
		*to++ = hex[token[i] >> 4];
		*to++ = hex[token[i] & 15];
	}
	*to = '\0';
	return to;
}

static void add_token(struct values *values, const uint8_t *token)
{
	(void)write_token(values->token, token);
	add_text(values, values->token);
}

static void add_tokens(struct values *values, const struct question *question)
{
	char *at = values->tokens;

	*at++ = '{';
	for (size_t i = 0; i < question->n; i++) {
		at = write_token(at, question->calls[i]->token);
		*at++ = ',';
	}
	at[-1] = '}';
	*at = '\0';
	add_text(values, values->tokens);
}

static int64_t tell_silence(struct postgres *pg, const struct weir__op *op)
{
	return op->wait ? weir__tell_silence(&pg->desk) : 0;
}

static void add_request(struct postgres *pg, struct values *values, const struct call *call)
{
	const struct weir__op *op = call->op;

	add_number(values, op->limit);
	add_number(values, op->weight);
	add_number(values, weir__tell_time(op->ttl));
	add_number(values, weir__tell_time(op->max_hold));
	add_number(values, tell_silence(pg, op));
	add_number(values, pg->desk.store->bounds.max_waiting);
	add_text(values, op->owner);
	add_text(values, op->private_id ? NULL : op->request_id);
	add_text(values, pg->channel);
	add_token(values, op->token);
	add_number(values, call->sent_before ? weir__tell_time(2 * pg->address.timeout) : 0);
}

/* A number and what is to come behind it; where that ends. */
static char *write_number(char *to, int64_t number, char behind)
{
	char digits[DIGITS];
	char *end = digits + DIGITS;
	char *from = weir__print_number(end, number);

	memcpy(to, from, (size_t)(end - from));
	to += end - from;
	*to++ = behind;
	return to;
}

/* Three numbers, with blanks between; where they end. */
static char *write_three(char *to, int64_t first, int64_t second, int64_t third)
{
	to = write_number(to, first, ' ');
	to = write_number(to, second, ' ');
	return write_number(to, third, '\0') - 1;
}

/* See short.sql. Who is behind a pooler may be another one each time, so then no server is named.
 */
static void add_acquire(struct postgres *pg, struct values *values, const struct question *question)
{
	const struct weir__op *op = question->calls[0]->op;
	char *end = write_three(values->terms, op->limit, op->weight, weir__tell_time(op->ttl));

	*end++ = ' ';
	strcpy(end, pg->pooled ? "" : pg->server);
	(void)write_three(values->more, weir__tell_caution(&pg->primary), tell_silence(pg, op),
			  pg->desk.store->bounds.max_waiting);
	add_text(values, values->terms);
	if (question->verb == WEIR__PG_JOIN)
		add_tokens(values, question);
	else
		add_token(values, op->token);
	add_text(values, op->owner);
	add_text(values, pg->channel);
	add_text(values, values->more);
}

static int64_t weight_of(const struct call *call)
{
	return call->op != NULL ? call->op->weight : 0;
}

static void add_leave(struct postgres *pg, struct values *values, const struct question *question)
{
	char *slot = values->slots;
	char *weight = values->weights;

	*slot++ = '{';
	*weight++ = '{';
	for (size_t i = 0; i < question->n; i++) {
		char behind = i + 1 < question->n ? ',' : '}';

		slot = write_number(slot, weir__pg_slot_of(question->calls[i]), behind);
		weight = write_number(weight, weight_of(question->calls[i]), behind);
	}
	*slot = '\0';
	*weight = '\0';
	add_text(values, pg->pooled ? NULL : pg->server);
	add_tokens(values, question);
	add_text(values, values->slots);
	add_text(values, values->weights);
	add_number(values, weir__tell_caution(&pg->primary));
}

static void add_release(struct postgres *pg, struct values *values, const struct call *call)
{
	(void)write_three(values->more, weir__pg_slot_of(call), weight_of(call),
			  weir__tell_caution(&pg->primary));
	add_text(values, pg->pooled ? NULL : pg->server);
	add_token(values, call->token);
	add_text(values, values->more);
	add_text(values, strcmp(call->name, pg->handed) == 0 ? "t" : "f");
}

int64_t weir__pg_slot_of(const struct call *call)
{
	return call->op != NULL && call->op->slot_hint != 0 && !call->alone ?
		       (int64_t)call->op->slot_hint - 1 :
		       INT32_MAX;
}

static void add_rest(struct postgres *pg, struct values *values, const struct question *question)
{
	const struct call *call = question->calls[0];
	const struct weir__op *op = call->op;

	switch (question->verb) {
	case WEIR__PG_ENSURE:
	case WEIR__PG_LIMIT:
		add_number(values, op->limit);
		break;
	case WEIR__PG_REQUEST:
		add_request(pg, values, call);
		break;
	case WEIR__PG_POLL:
		add_number(values, weir__tell_silence(&pg->desk));
		add_tokens(values, question);
		break;
	case WEIR__PG_WITHDRAW:
		add_token(values, call->token);
		add_number(values, op != NULL && op->give_up == -ETIMEDOUT);
		add_text(values, pg->channel);
		break;
	case WEIR__PG_RENEW:
		add_token(values, call->token);
		add_number(values, weir__pg_slot_of(call));
		add_number(values, weir__tell_time(op->ttl));
		break;
	case WEIR__PG_EVICT:
		add_token(values, call->token);
		break;
	case WEIR__PG_REAP:
		add_number(values, op->max_rows);
		add_number(values,
			   op == &pg->reaping ? weir__tell_time(pg->reaper_cadence / 2) : 0);
		break;
	default:
		break;
	}
}

static void add_values(struct postgres *pg, struct values *values, const struct question *question)
{
	values->n = 0;
	if (question->verb != WEIR__PG_REAP)
		add_text(values, question->name);
	switch (question->verb) {
	case WEIR__PG_NAMES:
		add_number(values, NAMES_AT_ONCE);
		break;
	case WEIR__PG_ACQUIRE:
	case WEIR__PG_JOIN:
		add_acquire(pg, values, question);
		break;
	case WEIR__PG_RELEASE:
		add_release(pg, values, question->calls[0]);
		break;
	case WEIR__PG_LEAVE:
		add_leave(pg, values, question);
		break;
	default:
		add_text(values, pg->pooled ? NULL : pg->server);
		add_number(values, weir__tell_caution(&pg->primary));
		add_rest(pg, values, question);
		break;
	}
}

/* A statement is prepared in a transaction of its own: it must be there whatever becomes of the
 * batch that needs it. */
static bool prepare(struct postgres *pg, enum weir__pg_verb verb)
{
	if (pg->pooled || (pg->prepared >> verb & 1) != 0)
		return true;
	pg->prepared |= UINT32_C(1) << verb;
	pg->preparing++;
	return weir__pq.PQsendPrepare(pg->mouth.conn, verbs[verb].function, pg->text[verb], 0,
				      NULL) == 1 &&
	       weir__pq.PQpipelineSync(pg->mouth.conn) == 1;
}

/* Before the first question whose asker may have to be told something later, so that nothing is
 * missed. */
static bool listen(struct postgres *pg)
{
	if (pg->pooled || pg->hears || !pg->desk.wants_ear)
		return true;
	pg->hears = pg->beginning_to_hear = true;
	pg->preparing++;
	return weir__pq.PQsendQueryParams(pg->mouth.conn, pg->listen, 0, NULL, NULL, NULL, NULL,
					  0) == 1 &&
	       weir__pq.PQpipelineSync(pg->mouth.conn) == 1;
}

bool weir__pg_prepare(struct postgres *pg, const struct question *questions)
{
	if (!listen(pg))
		return false;
	for (; questions != NULL; questions = questions->next)
		if (!prepare(pg, questions->verb))
			return false;
	return true;
}

bool weir__pg_send_settings(struct postgres *pg)
{
	return weir__pq.PQsendQueryParams(pg->mouth.conn, pg->pooled_settings, 0, NULL, NULL, NULL,
					  NULL, 0) == 1;
}

bool weir__pg_send_question(struct postgres *pg, const struct question *question)
{
	struct values values WEIR__UNSET; /* most has room for many, and is not used */

	add_values(pg, &values, question);
	if (pg->pooled)
		return weir__pq.PQsendQueryParams(pg->mouth.conn, pg->text[question->verb],
						  values.n, NULL, values.value, NULL, NULL, 0) == 1;
	return weir__pq.PQsendQueryPrepared(pg->mouth.conn, verbs[question->verb].function,
					    values.n, values.value, NULL, NULL, 0) == 1;
}

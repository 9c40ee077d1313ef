/* store/postgres: how things are said to the server. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "store/postgres/postgres.h"

enum {
	MOST_VALUES = 14,
	DIGITS = 24,
	TOKEN_TEXT = 2 * WEIR_TOKEN_SIZE,
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
};

static const struct {
	const char *function;
	int values;
	bool rows; /* it returns some */
} verbs[WEIR__PG_VERBS] = {
	[WEIR__PG_ENSURE] = { "ensure", 4, false },
	[WEIR__PG_LIMIT] = { "set_limit", 4, false },
	[WEIR__PG_ACQUIRE] = { "acquire", 11, false },
	[WEIR__PG_REQUEST] = { "request", 14, false },
	[WEIR__PG_POLL] = { "poll", 5, false },
	[WEIR__PG_WITHDRAW] = { "withdraw", 6, false },
	[WEIR__PG_RENEW] = { "renew", 6, false },
	[WEIR__PG_RELEASE] = { "release", 6, false },
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

static void add_request(struct postgres *pg, struct values *values, const struct call *call,
			bool short_way)
{
	const struct weir__op *op = call->op;

	if (short_way && op->limit == 0)
		add_text(values, NULL);
	else
		add_number(values, op->limit);
	add_number(values, op->weight);
	add_number(values, weir__tell_time(op->ttl));
	if (!short_way)
		add_number(values, weir__tell_time(op->max_hold));
	add_number(values, op->wait ? weir__tell_silence(&pg->desk) : 0);
	add_number(values, pg->desk.store->bounds.max_waiting);
	add_text(values, op->owner);
	if (!short_way)
		add_text(values, op->private_id ? NULL : op->request_id);
	add_text(values, pg->channel);
	add_token(values, op->token);
	if (!short_way)
		add_number(values,
			   call->sent_before ? weir__tell_time(2 * pg->address.timeout) : 0);
}

/* The slot of a lease, or a number that no slot has: the asker does not know it, or has been wrong.
 */
static int64_t slot_of(const struct call *call)
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
	case WEIR__PG_ACQUIRE:
	case WEIR__PG_REQUEST:
		add_request(pg, values, call, question->verb == WEIR__PG_ACQUIRE);
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
		add_number(values, slot_of(call));
		add_number(values, weir__tell_time(op->ttl));
		break;
	case WEIR__PG_RELEASE:
		add_token(values, call->token);
		add_number(values, slot_of(call));
		add_number(values, op != NULL ? op->weight : 0);
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
	if (question->verb == WEIR__PG_NAMES) {
		add_text(values, question->name);
		add_number(values, NAMES_AT_ONCE);
		return;
	}
	if (question->verb != WEIR__PG_REAP)
		add_text(values, question->name);
	/* Who is behind a pooler may be another one each time. */
	add_text(values, pg->pooled ? NULL : pg->server);
	add_number(values, weir__tell_caution(&pg->primary));
	add_rest(pg, values, question);
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

bool weir__pg_prepare(struct postgres *pg, const struct question *questions)
{
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
	struct values values;

	add_values(pg, &values, question);
	if (pg->pooled)
		return weir__pq.PQsendQueryParams(pg->mouth.conn, pg->text[question->verb],
						  values.n, NULL, values.value, NULL, NULL, 0) == 1;
	return weir__pq.PQsendQueryPrepared(pg->mouth.conn, verbs[question->verb].function,
					    values.n, values.value, NULL, NULL, 0) == 1;
}

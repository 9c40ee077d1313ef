/* store/postgres: what the server says. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "store/postgres/fault.h"
#include "store/postgres/postgres.h"

enum {
	WHY_SIZE = 400,
	POLL_WIDTH = 10, /* numbers about one waiter */
	MOST_NUMBERS = 9,
	NUMBERS_OF_LEASE = 7,
	NUMBERS_OF_SHORT_WAY = 3, /* slot and fence; the rest is as asked */
};

/* ---- numbers --------------------------------------------------------------------------------- */

/* Numbers of an array as the server writes them, {1,2,3}, beginning after the brace or the comma.
 * How many there were, up to `most`; *ret_rest is behind the last one's comma. */
static size_t read_numbers(const char *text, size_t most, int64_t *ret_numbers,
			   const char **ret_rest)
{
	size_t n = 0;

	while (n < most) {
		char *end;

		ret_numbers[n] = strtoll(text, &end, 10);
		if (end == text)
			break;
		n++;
		text = end;
		if (*text != ',' && *text != ' ')
			break;
		text++;
	}
	*ret_rest = text;
	return n;
}

static void read_token(uint8_t *token, const int64_t *halves)
{
	for (int i = 0; i < WEIR_TOKEN_SIZE; i++)
		token[i] = (uint8_t)((uint64_t)halves[i / 8] >> (56 - i % 8 * 8));
}

/* ---- answers --------------------------------------------------------------------------------- */

/* `n` numbers; two more than a lease has are another's token. */
static bool read_grant(struct weir__grant *grant, const struct call *call, const int64_t *number,
		       size_t n)
{
	if (n == NUMBERS_OF_SHORT_WAY) {
		*grant = (struct weir__grant){
			.weight = call->op->weight,
			.slot = (uint32_t)number[1],
			.fence = (uint64_t)number[2],
			.left = call->op->ttl,
			.hard_left = WEIR_NEVER,
			.ttl = call->op->ttl,
		};
		memcpy(grant->token, call->token, WEIR_TOKEN_SIZE);
		return true;
	}
	if (n < NUMBERS_OF_LEASE)
		return false;
	weir__heard_grant(grant, call->token, number + 1);
	if (n >= NUMBERS_OF_LEASE + 2)
		read_token(grant->token, number + NUMBERS_OF_LEASE);
	return true;
}

/* Numbers: 1, ticket, when to look again, and perhaps another's token. */
static bool read_wait(struct heard *heard, const struct call *call, const int64_t *number, size_t n)
{
	if (n < 3)
		return false;
	heard->again = weir__heard_time(number[2]);
	memcpy(heard->grant.token, call->token, WEIR_TOKEN_SIZE);
	if (n >= 5)
		read_token(heard->grant.token, number + 3);
	return true;
}

static void take_apart(struct heard *heard, const struct call *call, const int64_t *number,
		       size_t n)
{
	heard->result = n != 0 ? weir__heard_result(number[0]) : -EPROTO;
	heard->found_limit = n > 1 ? (uint32_t)number[1] : 0;
	if ((heard->result == 0 && weir__call_wants_lease(call) &&
	     !read_grant(&heard->grant, call, number, n)) ||
	    (heard->result == 1 && weir__call_may_wait(call) && !read_wait(heard, call, number, n)))
		heard->result = -EPROTO;
}

/* The shortest ways say less: acquire the fence of the sole lease, release nothing, or 1 if
 * somebody was handed it. */
static size_t read_shortest(const char *text, int64_t *number)
{
	const char *rest;
	size_t n = read_numbers(text, 1, number + 2, &rest);

	number[0] = 0;
	number[1] = 0;
	return *rest != '\0' ? 0 : n == 1 ? NUMBERS_OF_SHORT_WAY : 1;
}

static size_t read_answer(const char *text, int64_t *number)
{
	const char *rest;
	size_t n = read_numbers(text + 1, MOST_NUMBERS, number, &rest);

	return text[0] == '{' && *rest == '}' ? n : 0;
}

/* Whether it was so under this name the last time; only one name is remembered. */
static void note(char (*noted)[WEIR_NAME_MAX + 1], const char *name, bool is_so)
{
	if (is_so)
		weir__format(*noted, sizeof(*noted), "%s", name);
	else if (strcmp(*noted, name) == 0)
		(*noted)[0] = '\0';
}

static void hear_call(struct postgres *pg, const struct question *question, const char *text)
{
	struct call *call = question->calls[0];
	bool short_way = question->verb == WEIR__PG_ACQUIRE || question->verb == WEIR__PG_RELEASE;
	int64_t number[MOST_NUMBERS];
	size_t n = short_way && text[0] != '{' ? read_shortest(text, number) :
						 read_answer(text, number);
	struct heard heard;

	take_apart(&heard, call, number, n);
	if (question->verb == WEIR__PG_ACQUIRE && heard.result == 0)
		note(&pg->shared, question->name, text[0] == '{' && n == NUMBERS_OF_SHORT_WAY);
	if (question->verb == WEIR__PG_RELEASE)
		note(&pg->handed, question->name, text[0] == '1');
	weir__call_hear(call, &heard);
}

/* For each call how many numbers there are, and these; of LEAVE, one each, or nothing at all if all
 * is well. */
static size_t read_next(bool counted, const char **text, int64_t *number)
{
	int64_t count = 1;

	if (**text == '\0' && !counted) {
		number[0] = 0;
		return 1;
	}
	if ((counted && read_numbers(*text, 1, &count, text) == 0) || count < 1 ||
	    count > MOST_NUMBERS)
		return 0;
	return read_numbers(*text, (size_t)count, number, text);
}

static void hear_each(struct postgres *pg, const struct question *question, const char *text)
{
	bool joins = question->verb == WEIR__PG_JOIN;
	const char *rest = text[0] == '{' ? text + 1 : text;

	for (size_t i = 0; i < question->n; i++) {
		struct call *call = question->calls[i];
		int64_t number[MOST_NUMBERS];
		size_t n = read_next(joins, &rest, number);
		struct heard heard;

		if (!weir__call_is_live(call))
			continue;
		take_apart(&heard, call, number, n);
		if (joins && heard.result == 0)
			note(&pg->shared, question->name, n == NUMBERS_OF_SHORT_WAY);
		weir__call_hear(call, &heard);
	}
}

static void hear_survey(struct call *call, const struct question *question)
{
	int error = 0;

	if (call->op != NULL) {
		bool more = weir__pg_survey(call, question, &error);

		weir__call_hear_survey(call, more, error);
	}
}

static void hear_poll(const struct postgres *pg, const struct question *question, const char *text)
{
	const char *rest = text[0] == '{' ? text + 1 : text;

	for (size_t i = 0; i < question->n; i++) {
		struct call *call = question->calls[i];
		int64_t number[POLL_WIDTH] = { 0 };
		size_t n = read_numbers(rest, POLL_WIDTH, number, &rest);
		size_t used = number[0] == 0 ? NUMBERS_OF_LEASE : 3;
		struct heard heard;

		take_apart(&heard, call, number, n == POLL_WIDTH ? used : 0);
		weir__call_hear_poll(call, pg->sent, &heard);
	}
}

static void hear(struct postgres *pg, const struct question *question)
{
	struct call *call = question->calls[0];
	const PGresult *result = question->result;
	const char *text = "?";

	if (question->verb == WEIR__PG_LIST || question->verb == WEIR__PG_NAMES) {
		hear_survey(call, question);
		return;
	}
	if (weir__pq.PQntuples(result) == 1 && weir__pq.PQnfields(result) == 1)
		text = weir__pq.PQgetvalue(result, 0, 0);
	if (question->verb == WEIR__PG_POLL)
		hear_poll(pg, question, text);
	else if (question->verb == WEIR__PG_JOIN || question->verb == WEIR__PG_LEAVE)
		hear_each(pg, question, text);
	else if (weir__call_is_live(call))
		hear_call(pg, question, text);
}

/* ---- errors ---------------------------------------------------------------------------------- */

void weir__pg_quote(struct postgres *pg, const PGresult *result, char *why, size_t size)
{
	const char *text = weir__pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *code = weir__pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);

	weir__format(why, size, "it says: %s (%s)", text != NULL ? text : "nothing",
		     code != NULL ? code : "no code");
	weir__pg_redact(&pg->address, why);
}

/* The transaction has done nothing, so its calls are to do again, perhaps each alone, or asked
 * about again. */
static void take_back(struct postgres *pg, bool alone)
{
	struct calls later = weir__calls_aside(&pg->primary.todo);

	for (struct question *question = pg->asked; question != NULL; question = question->next) {
		for (size_t i = 0; i < question->n; i++) {
			struct call *call = question->calls[i];

			call->alone = call->alone || (alone && call->state == CALL_SENT);
			weir__call_take_back(call);
		}
	}
	weir__calls_behind(&pg->primary.todo, later);
	weir__desk_look(&pg->desk, 0);
}

static void ask_apart(struct postgres *pg)
{
	take_back(pg, true);
	weir__pg_free_batch(pg);
}

/* The others of the batch have nothing to do with it. */
static void ask_without(struct postgres *pg, const struct question *culprit, const char *why)
{
	weir__server_heard(&pg->primary);
	take_back(pg, false);
	weir__pg_rest(pg, culprit, why);
	pg->held_up = true;
	weir__pg_free_batch(pg);
}

static void refuse(struct postgres *pg, int error, const char *why)
{
	struct question *batch = pg->asked;

	for (struct question *question = batch; question != NULL; question = question->next) {
		for (size_t i = 0; i < question->n; i++) {
			struct call *call = question->calls[i];

			call->polled = false;
			if (weir__call_is_live(call))
				weir__call_refuse(call, error, why);
		}
	}
	weir__pg_free_batch(pg);
}

/* It was let in, but not everywhere, or not any more. */
static void forbid(struct postgres *pg, const char *why)
{
	char *remedy = weir__pg_remedy(pg);
	char *sentence = remedy != NULL ? weir__format_new("%s; its owner runs: %s", why, remedy) :
					  NULL;

	refuse(pg, -EHOSTUNREACH, sentence != NULL ? sentence : why);
	weir__free(sentence);
	weir__free(remedy);
}

/* The first error of a batch; *why* is what the server says. */
static void hear_error(struct postgres *pg, const char *code, const char *why)
{
	enum weir__pg_fault fault = weir__pg_fault_of(code);
	const struct question *culprit = pg->asked->next == NULL ? pg->asked : pg->culprit;

	if (fault == WEIR__PG_ELSEWHERE) {
		weir__server_lost(&pg->primary, why);
	} else if (fault == WEIR__PG_IN_USE && culprit != NULL) {
		ask_without(pg, culprit, why);
	} else if (fault == WEIR__PG_IN_USE || fault == WEIR__PG_LATER) {
		ask_apart(pg);
		weir__server_later(&pg->primary, why);
	} else if (fault == WEIR__PG_AT_ONCE_AGAIN || pg->asked->next != NULL) {
		ask_apart(pg);
	} else if (fault == WEIR__PG_FORBIDDEN) {
		forbid(pg, why);
	} else {
		refuse(pg, -EPROTO, why);
	}
}

/* ---- batches --------------------------------------------------------------------------------- */

static void finish_batch(struct postgres *pg)
{
	weir__pg_wire_rest(&pg->mouth);
	if (pg->error_code[0] != '\0') {
		char code[sizeof(pg->error_code)];

		memcpy(code, pg->error_code, sizeof(code)); /* it goes with the batch */
		hear_error(pg, code, pg->error);
		return;
	}
	weir__server_heard(&pg->primary);
	for (struct question *question = pg->asked; question != NULL; question = question->next)
		hear(pg, question);
	weir__pg_free_batch(pg);
}

static void note_error(struct postgres *pg, const PGresult *result)
{
	const char *code = weir__pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (pg->error_code[0] != '\0')
		return;
	weir__format(pg->error_code, sizeof(pg->error_code), "%s", code != NULL ? code : "08006");
	pg->culprit = pg->preparing == 0 && !pg->settling ? pg->hearing : NULL;
	weir__pg_quote(pg, result, pg->error, sizeof(pg->error));
}

/* An answer to one question, or its end. */
static void hear_result(struct postgres *pg, PGresult *result)
{
	if (result == NULL) {
		if (pg->preparing != 0)
			return;
		if (pg->settling)
			pg->settling = false;
		else if (pg->hearing != NULL)
			pg->hearing = pg->hearing->next;
		return;
	}
	switch (weir__pq.PQresultStatus(result)) {
	case PGRES_TUPLES_OK:
		if (pg->hearing != NULL && !pg->settling) {
			weir__pq.PQclear(pg->hearing->result);
			pg->hearing->result = result;
			return;
		}
		break;
	case PGRES_FATAL_ERROR:
		/* That nothing will be heard does not concern what was asked; it is tried again. */
		if (pg->beginning_to_hear)
			pg->hears = false;
		else
			note_error(pg, result);
		break;
	case PGRES_PIPELINE_SYNC:
		pg->beginning_to_hear = false;
		if (pg->preparing != 0)
			pg->preparing--;
		else
			finish_batch(pg);
		break;
	default:
		break;
	}
	weir__pq.PQclear(result);
}

/* ---- notifications --------------------------------------------------------------------------- */

static int hex(char digit)
{
	return digit >= '0' && digit <= '9' ? digit - '0' :
	       digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 :
					      -1;
}

static bool parse_token(uint8_t *token, const char *text)
{
	for (int i = 0; i < WEIR_TOKEN_SIZE; i++) {
		int high = hex(text[2 * i]), low = high >= 0 ? hex(text[2 * i + 1]) : -1;

		if (low < 0)
			return false;
		token[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static void hear_notification(struct postgres *pg, const char *text)
{
	uint8_t token[WEIR_TOKEN_SIZE];
	int64_t number[NUMBERS_OF_LEASE];
	struct weir__grant grant;
	const char *rest;

	if (text[0] == '\0' || !parse_token(token, text + 1))
		return;
	rest = text + 1 + 2 * WEIR_TOKEN_SIZE;
	if (text[0] == 'g') {
		if (*rest != ' ' ||
		    read_numbers(rest + 1, NUMBERS_OF_LEASE, number, &rest) != NUMBERS_OF_LEASE)
			return;
		weir__heard_grant(&grant, token, number + 1);
	}
	weir__desk_message(&pg->desk, text[0], token, &grant);
}

void weir__pg_notifications(struct postgres *pg, const struct weir__pg_wire *wire)
{
	PGnotify *notify;

	while (wire->conn != NULL && (notify = weir__pq.PQnotifies(wire->conn)) != NULL) {
		hear_notification(pg, notify->extra);
		weir__pq.PQfreemem(notify);
	}
}

/* ---- all that comes -------------------------------------------------------------------------- */

void weir__pg_input(struct postgres *pg)
{
	/* Of a connection that is lost, libpq says "no more" again and again. */
	while (pg->asked != NULL && pg->mouth.conn != NULL && !weir__pq.PQisBusy(pg->mouth.conn) &&
	       weir__pq.PQstatus(pg->mouth.conn) != CONNECTION_BAD)
		hear_result(pg, weir__pq.PQgetResult(pg->mouth.conn));
	weir__pg_notifications(pg, &pg->mouth);
	if (pg->primary.ready && pg->asked == NULL)
		weir__pg_send(pg);
}

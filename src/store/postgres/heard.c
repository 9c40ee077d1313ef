/* store/postgres: what the server says. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/boottime.h"
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

static const char nonsense[] = "its answer is not understood";

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

/* The numbers of verbs.sql. */
static int error_of(int64_t number)
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

static weir_time time_of(int64_t microseconds)
{
	return microseconds < WEIR_NEVER / WEIR_US ? microseconds * WEIR_US : WEIR_NEVER;
}

static void read_token(uint8_t *token, const int64_t *halves)
{
	for (int i = 0; i < WEIR_TOKEN_SIZE; i++)
		token[i] = (uint8_t)((uint64_t)halves[i / 8] >> (56 - i % 8 * 8));
}

/* Of seven numbers, the first of which is 0: see lease() in rules.sql. */
static void take_grant(struct weir__grant *grant, const uint8_t *token, const int64_t *number)
{
	*grant = (struct weir__grant){
		.weight = (uint32_t)number[1],
		.slot = (uint32_t)number[2],
		.fence = (uint64_t)number[3],
		.left = time_of(number[4]),
		.hard_left = number[5] < 0 ? WEIR_NEVER : time_of(number[5]),
		.ttl = time_of(number[6]),
	};
	memcpy(grant->token, token, WEIR_TOKEN_SIZE);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* `n` numbers; two more than a lease has are another's token. */
static void granted(struct postgres *pg, struct call *call, const int64_t *number, size_t n)
{
	uint8_t token[WEIR_TOKEN_SIZE];

	memcpy(token, call->token, sizeof(token));
	if (n >= NUMBERS_OF_LEASE + 2)
		read_token(token, number + NUMBERS_OF_LEASE);
	if (n == NUMBERS_OF_SHORT_WAY) {
		const struct weir__op *op = call->op;
		const int64_t all[NUMBERS_OF_LEASE] = { 0, op->weight, number[1], number[2] };

		take_grant(&call->op->grant, token, all);
		call->op->grant.left = call->op->grant.ttl = op->ttl;
		call->op->grant.hard_left = WEIR_NEVER;
	} else if (n >= NUMBERS_OF_LEASE) {
		take_grant(&call->op->grant, token, number);
	} else {
		weir__pg_refuse(pg, call, -EPROTO, nonsense);
		return;
	}
	if (call->op->grant.ttl > pg->longest)
		pg->longest = call->op->grant.ttl;
	weir__pg_answer(pg, call, 0);
}

/* Numbers: 1, ticket, when to look again, and perhaps another's token. */
static void waits(struct postgres *pg, struct call *call, const int64_t *number, size_t n)
{
	uint8_t token[WEIR_TOKEN_SIZE];
	weir_time next = call->sent + pg->store->bounds.heartbeat;

	memcpy(token, call->token, sizeof(token));
	if (n >= 5)
		read_token(token, number + 3);
	if (n < 3) {
		weir__pg_refuse(pg, call, -EPROTO, nonsense);
		return;
	}
	if (call->early && !call->withdrawn &&
	    memcmp(call->op->grant.token, token, WEIR_TOKEN_SIZE) == 0) {
		weir__pg_answer(pg, call, 0);
		return;
	}
	weir__pg_set_token(pg, call, token);
	if (number[2] >= 0) {
		weir_time soon = weir__boottime() + time_of(number[2]) + WEIR_MS / 4;

		next = soon < next ? soon : next;
	}
	if (call->poll_again)
		next = 0;
	call->poll_again = false;
	call->look_again = next;
	if (call->state != CALL_WAITING)
		weir__pg_move(pg, call, CALL_WAITING);
	weir__pg_look(pg, next);
	weir__pg_listen(pg);
	if (call->withdrawn) {
		call->withdrawn = false;
		weir__pg_withdraw(pg, call->op);
	}
}

static void ask_again(struct postgres *pg, struct call *call)
{
	weir__pg_set_token(pg, call, call->op->token);
	weir__pg_move(pg, call, CALL_NEXT);
	call->early = false;
	call->verb = WEIR__PG_REQUEST;
	call->sent_before = false;
}

/* What came of an orphan. */
static void hear_orphan(struct postgres *pg, struct call *call, int result)
{
	if (call->verb == WEIR__PG_WITHDRAW && result == 0) {
		call->verb = WEIR__PG_RELEASE;
		weir__pg_move(pg, call, CALL_NEXT);
	} else {
		weir__pg_bury(pg, call);
	}
}

static void hear_call(struct postgres *pg, struct call *call, const char *text)
{
	int64_t number[MOST_NUMBERS] = { 0 };
	const char *rest;
	size_t n = read_numbers(text[0] == '{' ? text + 1 : text, MOST_NUMBERS, number, &rest);
	int result = n != 0 && *rest == '}' ? error_of(number[0]) : -EPROTO;
	bool lease = call->verb == WEIR__PG_REQUEST || call->verb == WEIR__PG_WITHDRAW ||
		     call->verb == WEIR__PG_RENEW;

	if (call->orphan) {
		hear_orphan(pg, call, result);
	} else if (lease && result == 0) {
		granted(pg, call, number, n);
	} else if (call->verb == WEIR__PG_REQUEST && result == 1) {
		waits(pg, call, number, n);
	} else if (call->verb == WEIR__PG_WITHDRAW) {
		weir__pg_answer(pg, call, call->op->give_up);
	} else if (result == -EPROTO) {
		weir__pg_refuse(pg, call, -EPROTO, nonsense);
	} else {
		call->op->found_limit = (uint32_t)number[1];
		/* What an earlier question of this call has done is what was asked for. */
		if (result == -ESTALE && call->sent_before && call->verb != WEIR__PG_RENEW)
			result = 0;
		weir__pg_answer(pg, call, result);
	}
}

static void hear_survey(struct postgres *pg, struct call *call, const struct question *question)
{
	int error = 0;

	if (call->op == NULL)
		return;
	if (weir__pg_survey(call, question, &error)) {
		/* The rest of what was asked is in this batch; then more is asked. */
		if (call->names->asked == call->names->heard)
			weir__pg_move(pg, call, CALL_NEXT);
		return;
	}
	if (error == -EPROTO)
		weir__pg_refuse(pg, call, error, nonsense);
	else
		weir__pg_answer(pg, call, error);
}

static void hear_poll(struct postgres *pg, const struct question *question, const char *text)
{
	const char *rest = text[0] == '{' ? text + 1 : text;

	for (size_t i = 0; i < question->n; i++) {
		struct call *call = question->calls[i];
		int64_t number[POLL_WIDTH];
		size_t n = read_numbers(rest, POLL_WIDTH, number, &rest);
		int result = n == POLL_WIDTH ? error_of(number[0]) : -EPROTO;

		call->polled = false;
		if (call->op == NULL || call->state != CALL_WAITING)
			continue;
		if (result == -ESTALE) {
			ask_again(pg, call);
			continue;
		}
		call->sent = pg->sent;
		if (result == 0)
			granted(pg, call, number, NUMBERS_OF_LEASE);
		else if (result == 1)
			waits(pg, call, number, 3);
		else
			weir__pg_refuse(pg, call, -EPROTO, nonsense);
	}
}

static void hear(struct postgres *pg, const struct question *question)
{
	struct call *call = question->calls[0];
	const PGresult *result = question->result;
	const char *text = "";

	if (question->verb == WEIR__PG_LIST || question->verb == WEIR__PG_NAMES) {
		hear_survey(pg, call, question);
		return;
	}
	if (weir__pq.PQntuples(result) == 1 && weir__pq.PQnfields(result) == 1)
		text = weir__pq.PQgetvalue(result, 0, 0);
	if (question->verb == WEIR__PG_POLL)
		hear_poll(pg, question, text);
	else if (call->op != NULL || call->orphan)
		hear_call(pg, call, text);
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

/* The transaction has done nothing, so its calls are to do again, each alone, or asked about again.
 */
static void take_back(struct postgres *pg)
{
	struct calls later = pg->todo;

	pg->todo = (struct calls){ NULL, NULL };
	for (struct question *question = pg->asked; question != NULL; question = question->next) {
		for (size_t i = 0; i < question->n; i++) {
			struct call *call = question->calls[i];

			call->polled = false;
			call->look_again = 0;
			if ((call->op == NULL && !call->orphan) || call->state != CALL_SENT)
				continue;
			call->alone = true;
			if (call->names != NULL)
				call->names->asked = call->names->heard;
			if (call->withdrawn && call->verb == WEIR__PG_REQUEST && !call->sent_before)
				weir__pg_answer(pg, call, call->op->give_up);
			else
				weir__pg_move(pg, call, CALL_NEXT);
		}
	}
	if (later.first != NULL) {
		later.first->previous = pg->todo.last;
		*(pg->todo.last != NULL ? &pg->todo.last->next : &pg->todo.first) = later.first;
		pg->todo.last = later.last;
	}
	weir__pg_free_batch(pg);
	weir__pg_look(pg, 0);
}

static void refuse(struct postgres *pg, int error, const char *why)
{
	struct question *batch = pg->asked;

	for (struct question *question = batch; question != NULL; question = question->next) {
		for (size_t i = 0; i < question->n; i++) {
			struct call *call = question->calls[i];

			call->polled = false;
			if (call->op != NULL || call->orphan)
				weir__pg_refuse(pg, call, error, why);
		}
	}
	weir__pg_free_batch(pg);
}

/* The first error of a batch; *why* is what the server says. */
static void hear_error(struct postgres *pg, const char *code, const char *why)
{
	enum weir__pg_fault fault = weir__pg_fault_of(code);

	if (fault == WEIR__PG_ELSEWHERE) {
		weir__pg_lost(pg, why);
	} else if (fault == WEIR__PG_LATER) {
		take_back(pg);
		weir__pg_later(pg, why);
	} else if (fault == WEIR__PG_AT_ONCE_AGAIN || pg->asked->next != NULL) {
		take_back(pg);
	} else {
		refuse(pg, fault == WEIR__PG_FORBIDDEN ? -EHOSTUNREACH : -EPROTO, why);
	}
}

/* ---- batches --------------------------------------------------------------------------------- */

static void finish_batch(struct postgres *pg)
{
	weir__pg_wire_rest(&pg->mouth);
	if (pg->error_code[0] != '\0') {
		char code[sizeof(pg->error_code)];

		memcpy(code, pg->error_code, sizeof(code));
		pg->error_code[0] = '\0';
		hear_error(pg, code, pg->error);
		return;
	}
	pg->failed = 0;
	pg->gave_up = false;
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
		note_error(pg, result);
		break;
	case PGRES_PIPELINE_SYNC:
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

void weir__pg_input(struct postgres *pg)
{
	/* Of a connection that is lost, libpq says "no more" again and again. */
	while (pg->asked != NULL && pg->mouth.conn != NULL && !weir__pq.PQisBusy(pg->mouth.conn) &&
	       weir__pq.PQstatus(pg->mouth.conn) != CONNECTION_BAD)
		hear_result(pg, weir__pq.PQgetResult(pg->mouth.conn));
	if (pg->ready && pg->asked == NULL)
		weir__pg_send(pg);
}

/* ---- notifications --------------------------------------------------------------------------- */

/* Granted, at a time after the last one when it was known to wait. Whoever was known to so long ago
 * that little would be left asks for the truth (L5). A notification may overtake the answer that
 * the request waits, for they come by different wires. */
static void hear_grant(struct postgres *pg, struct call *call, const uint8_t *token,
		       const int64_t *number)
{
	if (call->state != CALL_WAITING) {
		take_grant(&call->op->grant, token, number);
		call->early = true;
		return;
	}
	if (weir__boottime() - call->sent > time_of(number[4]) / 4) {
		call->look_again = 0;
		call->poll_again = call->polled;
		weir__pg_look(pg, 0);
		return;
	}
	granted(pg, call, number, NUMBERS_OF_LEASE);
}

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

void weir__pg_notification(struct postgres *pg, const char *text)
{
	uint8_t token[WEIR_TOKEN_SIZE];
	int64_t number[NUMBERS_OF_LEASE];
	const char *rest = text;
	struct call *next;

	if (text[0] == '\0' || !parse_token(token, text + 1))
		return;
	if (text[0] == 'l') {
		weir__store_lost(pg->store, token);
		return;
	}
	rest = text + 1 + 2 * WEIR_TOKEN_SIZE;
	if (text[0] == 'g' && (*rest != ' ' || read_numbers(rest + 1, NUMBERS_OF_LEASE, number,
							    &rest) != NUMBERS_OF_LEASE))
		return;
	for (struct call *call = weir__pg_waiter(pg, token); call != NULL; call = next) {
		next = weir__pg_next_waiter(call);
		if (text[0] == 'g')
			hear_grant(pg, call, token, number);
		else if (text[0] == 'h' && call->state == CALL_WAITING)
			ask_again(pg, call); /* and is told the limit */
	}
}

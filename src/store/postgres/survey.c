/* store/postgres: looking at many names. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lease/picture.h"
#include "store/postgres/postgres.h"

/* ---- which names ----------------------------------------------------------------------------- */

bool weir__pg_survey_start(struct call *call)
{
	if (call->verb != CALL_LIST)
		return true;
	call->names = weir__names_new(call->op, sizeof(*call->names));
	return call->names != NULL;
}

static int take_names(struct names *names, const PGresult *result)
{
	int n = weir__pq.PQntuples(result);

	if (n > 0 && weir__pq.PQnfields(result) != 1)
		return -EPROTO;
	names->complete = n == 0;
	for (int i = 0; i < n; i++) {
		const char *name = weir__pq.PQgetvalue(result, i, 0);
		size_t size = strlen(name);

		if (size <= WEIR_NAME_MAX && !weir__names_add(names, name, size))
			return -ENOMEM;
	}
	return 0;
}

/* ---- what they are --------------------------------------------------------------------------- */

/* What list() of verbs.sql returns. */
enum { KIND, NUMBERS, TOKEN, OWNER, REQUEST, COLUMNS };
enum { SEMAPHORE, WAITED, HOLDER, WAITER };
enum { MOST = 13 };

/* The numbers of a row. Missing ones are 0. */
static void read_row(const PGresult *result, int row, int64_t *ret_numbers)
{
	const char *at = weir__pq.PQgetvalue(result, row, NUMBERS);

	for (int i = 0; i < MOST; i++) {
		char *end;

		ret_numbers[i] = *at != '\0' ? strtoll(at + 1, &end, 10) : 0;
		at = *at != '\0' ? end : at;
	}
}

static int add_semaphore(struct weir__picture *picture, const char *name, const int64_t *number,
			 struct weir__waits *waits)
{
	int error;
	struct weir__rec rec = {
		.limit = (uint32_t)number[1],
		.held = (uint32_t)number[2],
		.holders = (uint32_t)number[3],
		.waiting = (uint32_t)number[4],
		.fence = (uint64_t)number[5],
		.counters = {
			.at_once = (uint64_t)number[6],
			.after_wait = (uint64_t)number[7],
			.refused = (uint64_t)number[8],
			.expired = (uint64_t)number[9],
			.renewals_failed = (uint64_t)number[10],
		},
	};

	waits->longest = number[11] * WEIR_US;
	error = weir__picture_add(picture, name, &rec, waits);
	if (error == 0)
		weir__picture_closed(picture, number[12] * WEIR_US);
	return error;
}

static bool read_token(uint8_t *token, const char *text)
{
	int digits = 0;

	for (; *text != '\0' && digits < 2 * WEIR_TOKEN_SIZE; text++) {
		const char *hex = "0123456789abcdef";
		const char *found = strchr(hex, *text);

		if (*text == '-')
			continue;
		if (found == NULL)
			return false;
		token[digits / 2] = (uint8_t)(token[digits / 2] << 4 | (found - hex));
		digits++;
	}
	return digits == 2 * WEIR_TOKEN_SIZE;
}

static int add_claim(struct weir__picture *picture, weir_time now, const PGresult *result, int row,
		     const int64_t *number, bool holds)
{
	struct weir__claim claim = {
		.state = holds ? WEIR__HOLDING : WEIR__WAITING,
		.weight = (uint32_t)number[0],
		.owner = weir__pq.PQgetvalue(result, row, OWNER),
		.request_id = weir__pq.PQgetvalue(result, row, REQUEST),
		.since = number[holds ? 3 : 2] * WEIR_US,
	};

	if (holds) {
		claim.slot = (uint32_t)number[1];
		claim.fence = (uint64_t)number[2];
		claim.expires = number[4] * WEIR_US;
	}
	if (!read_token(claim.token, weir__pq.PQgetvalue(result, row, TOKEN)))
		return -EPROTO;
	return weir__picture_claim(picture, now, &claim, 0);
}

static int show(struct weir__picture *picture, const char *name, const PGresult *result)
{
	struct weir__waits waits = { 0 };
	int64_t number[MOST], head[MOST];
	int n = weir__pq.PQntuples(result), error = 0;

	if (weir__pq.PQnfields(result) != COLUMNS)
		return -EPROTO;
	if (n == 0)
		return 0; /* there is no such semaphore */
	read_row(result, 0, head);
	for (int i = 1; i < n; i++) {
		read_row(result, i, number);
		if (atoi(weir__pq.PQgetvalue(result, i, KIND)) == WAITED && number[0] >= 0 &&
		    number[0] < WEIR__WAIT_CLASSES)
			waits.count[number[0]] = (uint32_t)number[1];
	}
	error = add_semaphore(picture, name, head, &waits);
	for (int i = 1; i < n && error == 0; i++) {
		int kind = atoi(weir__pq.PQgetvalue(result, i, KIND));

		read_row(result, i, number);
		if (kind == HOLDER || kind == WAITER)
			error = add_claim(picture, head[0] * WEIR_US, result, i, number,
					  kind == HOLDER);
	}
	return error;
}

bool weir__pg_survey(struct call *call, const struct question *question, int *ret_error)
{
	struct names *names = call->names;

	if (question->verb == WEIR__PG_NAMES) {
		*ret_error = take_names(names, question->result);
	} else {
		names->heard++;
		*ret_error = show(call->op->picture, question->name, question->result);
	}
	if (*ret_error == 0 && (!names->complete || names->heard < names->count))
		return true;
	if (*ret_error == 0 && call->op->remarks)
		*ret_error = weir__pg_remark(weir__pg_of(call->desk), call->op->picture);
	return false;
}

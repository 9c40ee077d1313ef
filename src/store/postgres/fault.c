/* store/postgres: errors that a server answers. See fault.h. */
#include "store/postgres/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A code, or the class that is its first two letters. The first that fits. */
static const struct {
	const char *code;
	enum weir__pg_fault fault;
} known[] = {
	{ "08", WEIR__PG_ELSEWHERE },    /* the connection */
	{ "25006", WEIR__PG_ELSEWHERE }, /* read only: it has become a replica */
	{ "26000", WEIR__PG_ELSEWHERE }, /* no such statement: somebody has changed the session */
	{ "0A000", WEIR__PG_ELSEWHERE }, /* a plan must not change its result: the schema was
					    migrated */
	{ "28", WEIR__PG_FORBIDDEN },    /* not let in: a wrong password, no such user */
	{ "3D000", WEIR__PG_MISSING },   /* no such database */
	{ "3F000", WEIR__PG_MISSING },   /* no such schema */
	{ "40", WEIR__PG_IN_USE },       /* serialization failure, deadlock */
	{ "42501", WEIR__PG_FORBIDDEN },
	{ "42883", WEIR__PG_MISSING },       /* no such function */
	{ "42P01", WEIR__PG_MISSING },       /* no such table */
	{ "53", WEIR__PG_LATER },            /* too many connections, no memory, no disk */
	{ "54000", WEIR__PG_LATER },         /* the queue of notifications is full */
	{ "55P03", WEIR__PG_IN_USE },        /* the lock could not be had in time */
	{ "57014", WEIR__PG_IN_USE },        /* cancelled, or it took too long */
	{ "WE001", WEIR__PG_AT_ONCE_AGAIN }, /* of release() in short.sql */
	{ "57", WEIR__PG_ELSEWHERE },        /* it is being shut down, has crashed, is starting */
};

enum weir__pg_fault weir__pg_fault_of(const char *code)
{
	if (code == NULL)
		return WEIR__PG_ELSEWHERE;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(code, known[i].code, strlen(known[i].code)) == 0)
			return known[i].fault;
	return WEIR__PG_NEVER_EVER;
}

enum { CODE_LENGTH = 5 };

static bool is_code(const char *at)
{
	for (int i = 0; i < CODE_LENGTH; i++)
		if (!('0' <= at[i] && at[i] <= '9') && !('A' <= at[i] && at[i] <= 'Z'))
			return false;
	return at[CODE_LENGTH] == ':' && at[CODE_LENGTH + 1] == ' ';
}

/* Where a line has one; or its end. */
static const char *find_code(const char *line, const char *end)
{
	const char *at = line;

	while ((at = memmem(at, (size_t)(end - at), ":  ", 3)) != NULL)
		if (is_code(at += 3))
			return at;
	return end;
}

/* "LOCATION:  auth_failed, auth.c:338", in whatever language. */
static bool is_place(const char *line, const char *end)
{
	const char *digits = end;

	while (digits > line && '0' <= digits[-1] && digits[-1] <= '9')
		digits--;
	return digits < end && digits - line > 3 && memcmp(digits - 3, ".c:", 3) == 0;
}

enum weir__pg_fault weir__pg_fault_said(char *said)
{
	char code[CODE_LENGTH + 1] = "";
	char *to = said;
	const char *line = said, *next;

	for (; *line != '\0'; line = next) {
		const char *end = line + strcspn(line, "\n");
		const char *at = find_code(line, end);

		next = *end == '\n' ? end + 1 : end;
		if (is_place(line, end))
			continue;
		memmove(to, line, (size_t)(at - line));
		to += at - line;
		if (at < end) {
			memcpy(code, at, CODE_LENGTH);
			at += CODE_LENGTH + 2;
		}
		memmove(to, at, (size_t)(next - at));
		to += next - at;
	}
	*to = '\0';
	return weir__pg_fault_of(code[0] != '\0' ? code : NULL);
}

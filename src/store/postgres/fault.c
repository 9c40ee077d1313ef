/* store/postgres: errors that a server answers. See fault.h. */
#include "store/postgres/fault.h"

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
	{ "3F000", WEIR__PG_MISSING },   /* no such schema */
	{ "40", WEIR__PG_IN_USE },       /* serialization failure, deadlock */
	{ "42501", WEIR__PG_FORBIDDEN },
	{ "42883", WEIR__PG_MISSING },       /* no such function */
	{ "42P01", WEIR__PG_MISSING },       /* no such table */
	{ "53", WEIR__PG_LATER },            /* too many connections, no memory, no disk */
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

/* store/postgres: what to do about an error that the server answered. */
#ifndef WEIR_STORE_POSTGRES_FAULT_H
#define WEIR_STORE_POSTGRES_FAULT_H

enum weir__pg_fault {
	WEIR__PG_AT_ONCE_AGAIN, /* what we believed was wrong: ask again without */
	WEIR__PG_IN_USE,        /* not of that name now: ask again later, of others meanwhile */
	WEIR__PG_LATER,         /* it cannot now: ask again, on the same connection */
	WEIR__PG_ELSEWHERE,     /* it is not the one to ask any more: connect anew */
	WEIR__PG_FORBIDDEN,     /* the user may not */
	WEIR__PG_MISSING,       /* the schema, or something of it, is not there */
	WEIR__PG_NEVER_EVER,    /* asking again will not help */
};

/* By the five letters of SQLSTATE; NULL: the connection was lost. */
enum weir__pg_fault weir__pg_fault_of(const char *code);

/* While a connection is made there is no code but in the sentence, if libpq was asked for all that
 * there is: "FATAL:  28P01: no such luck". Takes it out of *said*, and the line that says where in
 * its sources the server said so. */
enum weir__pg_fault weir__pg_fault_said(char *said);

#endif

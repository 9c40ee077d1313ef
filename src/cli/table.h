/* cli: tables for people. Columns are as wide as what is in them; numbers to the right. On a
 * terminal that is too narrow for that, one of them gives way. */
#ifndef WEIR_CLI_TABLE_H
#define WEIR_CLI_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#define TABLE_COLUMNS 8

struct table {
	const char *heads[TABLE_COLUMNS]; /* one that begins with > is set to the right */
	size_t n_columns;
	size_t gives_way; /* the column that is cut where a terminal is too narrow */
	char **cells;
	size_t n_cells, room;
	bool failed; /* out of memory */
};

/* The next cell, row by row. What would do something to a terminal is replaced. Without memory the
 * table has failed. */
__attribute__((format(printf, 2, 3))) void table_add(struct table *table, const char *format, ...);
/* Prints and empties it. False: it has failed, and nothing was printed. */
bool table_print(struct table *table, FILE *stream, bool colour);

/* Whether people look at it who like colours. */
bool wants_colour(FILE *stream);

#endif

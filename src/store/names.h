/* store: the names that a listing or a reaping looks at. */
#ifndef WEIR_STORE_NAMES_H
#define WEIR_STORE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir__op;

struct names {
	char **name;
	size_t count, room;
	size_t asked, heard; /* how many */
	uint32_t round;      /* answers to what was asked in an earlier one are of no use */
	uint32_t reaped;
	bool complete; /* all names are there */
};

/* Those of an operation, if it names any; else they are to be found. Gives a LIST its picture. The
 * result is the first part of `size` zeroed bytes. NULL: there is no memory. */
void *weir__names_new(struct weir__op *op, size_t size);
bool weir__names_add(struct names *names, const char *name, size_t size);
/* What was asked about and not heard of is to be asked about again. */
void weir__names_start_over(struct names *names);
void weir__names_free(struct names *names);

#endif

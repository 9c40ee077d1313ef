/* base: a hash table of links that live in what they find.
 *
 * Adding never fails: when there is no memory to grow, chains get longer. Links of equal hash come
 * newest first. Not synchronised. */
#ifndef WEIR_BASE_TABLE_H
#define WEIR_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct weir__link {
	struct weir__link *next;
	uint64_t hash;
};

/* All zero is an empty table. */
struct weir__table {
	struct weir__link **buckets; /* NULL: there is only one */
	struct weir__link *only;
	size_t size; /* of buckets, a power of two */
	size_t count;
};

void weir__table_add(struct weir__table *table, struct weir__link *link, uint64_t hash);
/* The link must be in the table. */
void weir__table_remove(struct weir__table *table, struct weir__link *link);

/* The newest link of that hash, and the next one of the same; NULL: none. */
struct weir__link *weir__table_find(const struct weir__table *table, uint64_t hash);
struct weir__link *weir__table_again(const struct weir__link *link);

/* All of them, in no order: the first with link NULL; the table must not change in between, but the
 * link itself may be removed if `next` was asked for before. */
struct weir__link *weir__table_next(const struct weir__table *table, const struct weir__link *link);

/* Frees the table's own memory. */
void weir__table_done(struct weir__table *table);

/* The hash of some bytes; a `seed` that nobody knows keeps others from choosing collisions. */
uint64_t weir__hash(const void *bytes, size_t size, uint64_t seed);

/* The hash of a number that is random already, or counted up: all bits of it matter in all bits. */
static inline uint64_t weir__hash_number(uint64_t number)
{
	number *= UINT64_C(0x9e3779b97f4a7c15);
	return number ^ number >> 32;
}

#endif

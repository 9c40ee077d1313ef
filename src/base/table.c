/* base: the hash table. */
#include "base/table.h"

#include "base/alloc.h"

#include <string.h>

enum { FIRST_SIZE = 16 };

static size_t size_of(const struct weir__table *table)
{
	return table->buckets != NULL ? table->size : 1;
}

static struct weir__link **bucket_of(const struct weir__table *table, uint64_t hash)
{
	/* The only bucket is in the table itself, which a reader does not change. */
	return table->buckets != NULL ? &table->buckets[hash & (table->size - 1)] :
					(struct weir__link **)(uintptr_t)&table->only;
}

/* The order of links in a chain is kept: they are moved one by one to the ends of the new ones. */
static void grow(struct weir__table *table)
{
	size_t old_size = size_of(table);
	size_t size = old_size < FIRST_SIZE ? FIRST_SIZE : 2 * old_size;
	struct weir__link **buckets = weir__alloc(size * sizeof(*buckets));

	if (buckets == NULL)
		return;
	for (size_t i = 0; i < old_size; i++) {
		struct weir__link *link = table->buckets != NULL ? table->buckets[i] : table->only;

		while (link != NULL) {
			struct weir__link *next = link->next;
			struct weir__link **end = &buckets[link->hash & (size - 1)];

			while (*end != NULL)
				end = &(*end)->next;
			link->next = NULL;
			*end = link;
			link = next;
		}
	}
	weir__free(table->buckets);
	table->buckets = buckets;
	table->only = NULL;
	table->size = size;
}

void weir__table_add(struct weir__table *table, struct weir__link *link, uint64_t hash)
{
	struct weir__link **bucket;

	if (table->count >= size_of(table))
		grow(table);
	bucket = bucket_of(table, hash);
	link->hash = hash;
	link->next = *bucket;
	*bucket = link;
	table->count++;
}

void weir__table_remove(struct weir__table *table, struct weir__link *link)
{
	struct weir__link **at = bucket_of(table, link->hash);

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	table->count--;
}

static struct weir__link *same(struct weir__link *link, uint64_t hash)
{
	while (link != NULL && link->hash != hash)
		link = link->next;
	return link;
}

struct weir__link *weir__table_find(const struct weir__table *table, uint64_t hash)
{
	return same(*bucket_of(table, hash), hash);
}

struct weir__link *weir__table_again(const struct weir__link *link)
{
	return same(link->next, link->hash);
}

struct weir__link *weir__table_next(const struct weir__table *table, const struct weir__link *link)
{
	size_t bucket = 0;

	if (link != NULL) {
		if (link->next != NULL)
			return link->next;
		bucket = (link->hash & (size_of(table) - 1)) + 1;
	}
	for (; bucket < size_of(table); bucket++) {
		if (*bucket_of(table, bucket) != NULL)
			return *bucket_of(table, bucket);
	}
	return NULL;
}

void weir__table_done(struct weir__table *table)
{
	weir__free(table->buckets);
	*table = (struct weir__table){ 0 };
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t weir__hash(const void *bytes, size_t size, uint64_t seed)
{
	static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	const char *at = bytes;
	uint64_t hash = mix(seed ^ odd, size ^ UINT64_C(0xd6e8feb86659fd93));

	for (; size > 0;) {
		uint64_t word = 0;
		size_t part = size < sizeof(word) ? size : sizeof(word);

		memcpy(&word, at, part);
		hash = mix(hash ^ word, odd);
		at += part;
		size -= part;
	}
	return hash;
}

/* model: recognising states.
 *
 * A state is the world and the stacks of the threads that still run: registers that matter are on
 * the stacks. What is left over there from calls that returned was poisoned, so that equal states
 * mostly look equal; when they do not, the search only visits one twice. Two different states with
 * one hash would be taken for the same; with 64 bits and some 10^7 states that is a chance of one
 * in 10^5. */
#include "model/memory.h"
#include "model/search.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { LANES = 4 };

struct hash {
	uint64_t lanes[LANES];
};

static inline uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	value = (value ^ (value >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return value ^ (value >> 32);
}

/* Several lanes, so that the processor need not wait for one multiplication to do the next. */
static void add_words(struct hash *hash, const void *p, size_t size)
{
	const uint64_t *words = p;
	size_t count = size / sizeof(*words);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		for (int k = 0; k < LANES; k++) {
			uint64_t lane = (hash->lanes[k] ^ words[i + (size_t)k]) *
					UINT64_C(0x9e3779b97f4a7c15);

			hash->lanes[k] = lane ^ (lane >> 29);
		}
	}
	for (; i < count; i++)
		hash->lanes[0] = mix(hash->lanes[0] ^ words[i]);
}

uint64_t state_hash(uint64_t seed)
{
	struct hash hash = { { seed, 1, 2, 3 } };
	uint64_t result = 0;

	add_words(&hash, &world, offsetof(struct world, arena) + (size_t)world.granules * GRANULE);
	add_words(&hash, world.threads, (size_t)engine.threads * sizeof(world.threads[0]));
	add_words(&hash, __start_weir_global, (size_t)(__stop_weir_global - __start_weir_global));
	for (int i = 0; i < MAX_STRANDS; i++) {
		const struct strand *strand = &world.strands[i];

		if (!strand->live)
			continue;
		add_words(&hash, strand, sizeof(*strand));
		add_words(&hash, strand->sp, (size_t)(memory_stack_top(i) - strand->sp));
	}
	for (int k = 0; k < LANES; k++)
		result = mix(result ^ hash.lanes[k]);
	return result;
}

/* Open addressing; 0 marks an empty place. */
enum { TABLE_BITS = 25 };

static struct {
	uint64_t *places;
	size_t used;
} table;

bool state_is_new(uint64_t hash)
{
	const size_t size = (size_t)1 << TABLE_BITS;
	size_t place = (size_t)(hash >> (64 - TABLE_BITS));

	if (!table.places || table.used > size / 4 * 3) {
		if (table.places)
			(void)munmap(table.places, size * sizeof(*table.places));
		table.places = mmap(NULL, size * sizeof(*table.places), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		table.used = 0;
	}
	hash |= 1;
	while (table.places[place] != 0) {
		if (table.places[place] == hash)
			return false;
		place = (place + 1) & (size - 1);
	}
	table.places[place] = hash;
	table.used++;
	return true;
}

/* task: slabs of stacks.
 *
 * A slab is aligned to its own size, so that a stack's slab is found by its address. The place of
 * its first stack holds the slab's own record. */
#include "task/stack.h"

#include "base/alloc.h"
#include "base/hot.h"
#include "base/pages.h"

#include <errno.h>
#include <string.h>
#include <weir/base.h>

enum { SLAB_MOST = 512, SLAB_LEAST = 2, WARM_ROOM_LEAST = 512 };

/* How many stacks beforehand one is fetched, and how many cache lines of it: as many as a new task
 * writes that does nothing but wait. */
enum { AHEAD = 8, LINES = 4 };

static const size_t size_most = (size_t)1 << 30;

struct weir__slab {
	struct weir__slab *next;
	struct weir__slab *next_with_room;
	unsigned used;                 /* stacks from here on have never been given out */
	unsigned mappings;             /* of their guards */
	unsigned cold_count;           /* of the others, those that are free and hold no memory, */
	uint64_t cold[SLAB_MOST / 64]; /* one bit each */
};

int weir__stacks_init(struct weir__stacks *stacks, size_t size, size_t warm_most)
{
	size_t whole = 2 * weir__page_size();

	if (size > size_most)
		return -EINVAL;
	while (whole < size + WEIR__COLOUR_MOST + weir__page_size())
		whole *= 2;
	*stacks = (struct weir__stacks){
		.size = whole,
		.slab_stacks = SLAB_MOST,
		.colours = WEIR__COLOURS - 1,
		.warm_most = warm_most,
	};
	return 0;
}

static size_t slab_size(const struct weir__stacks *stacks)
{
	return stacks->size * stacks->slab_stacks;
}

void weir__stacks_done(struct weir__stacks *stacks)
{
	struct weir__slab *next;

	for (struct weir__slab *slab = stacks->slabs; slab; slab = next) {
		next = slab->next;
		weir__page_guards_gone(slab->mappings);
		weir__pages_unmap(slab, slab_size(stacks));
	}
	stacks->slabs = NULL;
	weir__free(stacks->warm);
	stacks->warm = NULL;
}

/* Where a process may not have so many addresses, the first slab is smaller, and then all are. */
static struct weir__slab *slab_new(struct weir__stacks *stacks)
{
	struct weir__slab *slab = weir__pages_map(slab_size(stacks));

	while (!slab && !stacks->slabs && stacks->slab_stacks > SLAB_LEAST) {
		stacks->slab_stacks /= 2;
		slab = weir__pages_map(slab_size(stacks));
	}
	if (!slab)
		return NULL;
	slab->used = 1;
	stacks->room += stacks->slab_stacks - 1;
	slab->next = stacks->slabs;
	stacks->slabs = slab;
	slab->next_with_room = stacks->with_room;
	stacks->with_room = slab;
	return slab;
}

static unsigned take_cold(struct weir__slab *slab)
{
	unsigned word = 0;
	unsigned bit;

	while (slab->cold[word] == 0)
		word++;
	bit = (unsigned)__builtin_ctzll(slab->cold[word]);
	slab->cold[word] &= slab->cold[word] - 1;
	slab->cold_count--;
	return word * 64 + bit;
}

static void *slab_get(struct weir__stacks *stacks, struct weir__slab *slab)
{
	unsigned index;

	if (slab->cold_count > 0) {
		index = take_cold(slab);
	} else {
		index = slab->used++;
		if (weir__page_guard((char *)slab + stacks->size * index))
			slab->mappings++;
	}
	if (slab->used == stacks->slab_stacks && slab->cold_count == 0)
		stacks->with_room = slab->next_with_room;
	return (char *)slab + stacks->size * (index + 1);
}

WEIR__HOT bool weir__stack_promise(struct weir__stacks *stacks)
{
	if (WEIR__UNLIKELY(stacks->promised == stacks->room) && !slab_new(stacks))
		return false;
	stacks->promised++;
	return true;
}

static inline const char *lowest_line(const struct weir__stacks *stacks, size_t place)
{
	const char *end = stacks->warm[place];

	return end - stack_colour(stacks, end) - 64 * LINES;
}

/* Before all lines of one, one line of each of several at once: where their pages are must be
 * looked up in tables that are in memory, too, and a processor does that for several at a time if
 * it is asked for all of them together. */
WEIR__HOT void weir__stack_expect(const struct weir__stacks *stacks)
{
	size_t count = stacks->warm_count;

	if (count <= 3 * AHEAD)
		return;
	if (count % AHEAD == 0)
		for (size_t i = 0; i < AHEAD; i++)
			expect_lines(lowest_line(stacks, count - 2 - AHEAD - i), 1);
	expect_lines(lowest_line(stacks, count - 1 - AHEAD), LINES);
}

void *weir__stack_get(struct weir__stacks *stacks)
{
	return stacks->warm_count > 0 ? stack_get(stacks) : slab_get(stacks, stacks->with_room);
}

static WEIR__COLD bool more_room(struct weir__stacks *stacks)
{
	size_t room = stacks->warm_room ? 2 * stacks->warm_room : WARM_ROOM_LEAST;
	void **warm = weir__alloc(room * sizeof(*warm));

	if (!warm)
		return false;
	if (stacks->warm_count > 0)
		memcpy(warm, stacks->warm, stacks->warm_count * sizeof(*warm));
	weir__free(stacks->warm);
	stacks->warm = warm;
	stacks->warm_room = room;
	return true;
}

static bool keep_warm(struct weir__stacks *stacks, void *end)
{
	if (stacks->warm_count == stacks->warm_room && !more_room(stacks))
		return false;
	stacks->warm[stacks->warm_count++] = end;
	return true;
}

void weir__stack_put(struct weir__stacks *stacks, void *end)
{
	char *stack = (char *)end - stacks->size;
	struct weir__slab *slab;
	unsigned index;

	stacks->promised--;
	if (stacks->warm_count < stacks->warm_most && keep_warm(stacks, end))
		return;
	/* If the kernel will not take the pages back, the stack stays warm. Without room for that,
	 * too, its memory is merely not given back before the next time. */
	if (!weir__pages_discard(stack + weir__page_size(), stacks->size - weir__page_size()) &&
	    keep_warm(stacks, end))
		return;
	slab = (struct weir__slab *)((uintptr_t)stack & ~(slab_size(stacks) - 1));
	index = (unsigned)((size_t)(stack - (char *)slab) / stacks->size);
	if (slab->used == stacks->slab_stacks && slab->cold_count == 0) {
		slab->next_with_room = stacks->with_room;
		stacks->with_room = slab;
	}
	slab->cold[index / 64] |= UINT64_C(1) << (index % 64);
	slab->cold_count++;
}

size_t weir__stack_usable(const struct weir__stacks *stacks)
{
	return stacks->size - WEIR__COLOUR_MOST - weir__page_size();
}

void *weir__stack_low(const struct weir__stacks *stacks, void *end)
{
	return (char *)end - stacks->size + weir__page_size();
}

size_t weir__stack_past(const struct weir__stacks *stacks, const void *end, const void *address)
{
	uintptr_t guard = (uintptr_t)end - stacks->size;
	uintptr_t low = guard + weir__page_size();

	return (uintptr_t)address >= guard && (uintptr_t)address < low ? low - (uintptr_t)address :
									 0;
}

bool weir__stacks_contain(const struct weir__stacks *stacks, const void *address)
{
	const struct weir__slab *slab = stacks->slabs;

	while (slab && (uintptr_t)address - (uintptr_t)slab >= slab_size(stacks))
		slab = slab->next;
	return slab != NULL;
}

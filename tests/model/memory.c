/* model: arena, stacks and poison. */
#include "model/memory.h"

#include "model/context.h"
#include "model/engine.h"
#include "model/oracle.h"

#include <string.h>
#include <sys/mman.h>

/* A pointer made of it is no address at all. */
#define POISON UINT64_C(0xd5d5d5d5d5d5d5d5)

enum {
	PAGE = 4096,
	GRAVE = 512, /* how far below the stack pointer: more than any frame of an operation */
	SLACK = 2048,
};

static char stacks[MAX_STRANDS][THREAD_STACK] __attribute__((aligned(PAGE)));

void memory_init(void)
{
	for (int i = 0; i < MAX_STRANDS; i++) {
		(void)mprotect(stacks[i], PAGE, PROT_NONE);
		engine.lowest[i] = stacks[i] + PAGE;
	}
}

char *memory_stack_top(int strand)
{
	return stacks[strand] + THREAD_STACK;
}

static char *stack_clamp(int strand, char *low)
{
	char *bottom = stacks[strand] + PAGE;

	return low > bottom ? low : bottom;
}

void memory_reset(void)
{
	for (int i = 0; i < MAX_STRANDS; i++) {
		if (engine.lowest[i] < memory_stack_top(i))
			memory_bury_all(i);
	}
}

void memory_bury_all(int strand)
{
	char *top = memory_stack_top(strand);
	char *low = stack_clamp(strand, engine.lowest[strand] - SLACK);

	memset(low, (int)(POISON & 0xff), (size_t)(top - low));
	engine.lowest[strand] = top;
}

static bool is_poison(const void *p, size_t size)
{
	const uint64_t *words = p;
	uint64_t differences = 0;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		differences |= words[i] ^ POISON;
	return differences == 0;
}

void *memory_alloc(size_t size)
{
	uint8_t length = (uint8_t)((size + GRANULE - 1) / GRANULE);
	uint8_t first = world.granules;

	engine.footprint.everything = true; /* the next block will be elsewhere */
	if (first + length > ARENA_GRANULES) {
		fail("the model needs more memory than the arena has");
		return NULL;
	}
	world.granules = (uint8_t)(first + length);
	world.block[first] = length;
	memset(&world.granule[first], GRANULE_LIVE, length);
	return &world.arena[first * GRANULE / 8];
}

static int granule_of(const void *p)
{
	uintptr_t offset = (uintptr_t)p - (uintptr_t)world.arena;

	return offset < sizeof(world.arena) ? (int)(offset / GRANULE) : -1;
}

bool memory_is_shared(const void *p)
{
	return granule_of(p) >= 0;
}

void memory_free(void *block)
{
	int first = granule_of(block);

	engine.footprint.everything = true;
	if (first < 0 || world.block[first] == 0 || world.granule[first] != GRANULE_LIVE) {
		fail("P6: memory was freed that is not in use");
		return;
	}
	if (engine.current)
		engine_drain(engine.current);
	oracle_gone(block, (size_t)world.block[first] * GRANULE);
	memset(&world.granule[first], GRANULE_FREED, world.block[first]);
	memset(block, (int)(POISON & 0xff), (size_t)world.block[first] * GRANULE);
	world.freed = (uint8_t)(world.freed + world.block[first]);
}

int memory_stack_of(const void *p)
{
	uintptr_t offset = (uintptr_t)p - (uintptr_t)stacks;

	return offset < sizeof(stacks) ? (int)(offset / THREAD_STACK) : -1;
}

const char *memory_fault(const void *p, size_t size)
{
	int granule = granule_of(p);
	int stack = memory_stack_of(p);

	if (granule >= 0) {
		int last = granule_of((const char *)p + size - 1);

		if (last < 0 || world.granule[granule] == GRANULE_UNUSED)
			return "memory that was never given out";
		if (world.granule[granule] == GRANULE_FREED || world.granule[last] == GRANULE_FREED)
			return "freed memory";
	}
	if (stack >= 0) {
		const struct strand *strand = &world.strands[stack];
		const char *here = __builtin_frame_address(0);
		const char *sp = memory_stack_of(here) == stack ? here : strand->sp;

		if (!strand->live || (const char *)p < sp)
			return "the stack of a function that has returned";
	}
	if ((uintptr_t)p < PAGE || (uintptr_t)p >> 47)
		return "no memory at all";
	return NULL;
}

__attribute__((noinline)) void memory_scrub(void)
{
	char below[GRAVE];

	memset(below, (int)(POISON & 0xff), sizeof(below));
	__asm__ volatile("" : : "r"(below) : "memory");
}

void memory_bury(int strand)
{
	char *sp = world.strands[strand].sp;
	char *low = stack_clamp(strand, sp - GRAVE);

	memset(low, (int)(POISON & 0xff), (size_t)(sp - low));
	if (sp < engine.lowest[strand])
		engine.lowest[strand] = sp;
}

void memory_check_stack(int strand)
{
	char *sp = world.strands[strand].sp;
	char *low = stack_clamp(strand, sp - GRAVE);

	if (!is_poison(low, (size_t)(sp - low)))
		fail("P6: somebody wrote to a stack of T%d where a function had returned",
		     strand_thread(strand));
}

void memory_check_arena(void)
{
	if (world.freed == 0)
		return;
	for (int i = 0; i < world.granules; i++) {
		if (world.granule[i] == GRANULE_FREED &&
		    !is_poison(&world.arena[i * GRANULE / 8], GRANULE))
			fail("P6: somebody wrote to memory that had been freed");
	}
}

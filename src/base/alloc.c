/* base: memory from the C library. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

void *weir__alloc(size_t size)
{
	size_t whole = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	void *memory = aligned_alloc(CACHE_LINE, whole);

	return memory ? memset(memory, 0, whole) : NULL;
}

void *weir__alloc_small(size_t size)
{
	return malloc(size);
}

void weir__free(void *memory)
{
	free(memory);
}

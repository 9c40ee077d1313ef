/* base: memory from the C library. */
#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

void *weir__alloc(size_t size)
{
	size_t whole = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	int saved = errno;
	void *memory = aligned_alloc(CACHE_LINE, whole);

	errno = saved;
	return memory ? memset(memory, 0, whole) : NULL;
}

void *weir__alloc_small(size_t size)
{
	int saved = errno;
	void *memory = malloc(size);

	errno = saved;
	return memory ? memset(memory, 0, size) : NULL;
}

void weir__free(void *memory)
{
	free(memory);
}

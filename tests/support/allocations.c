/* support: counts every allocation of the whole process.
 *
 * The functions below take the place of the C library's in the program they are linked into. Where
 * a sanitizer has taken that place already, it offers a hook instead; ThreadSanitizer's misses what
 * aligned_alloc gives. */
#include "support/allocations.h"

#include "support/sanitizers.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t made;
static uint64_t freed;

static void count(uint64_t *counter)
{
	(void)__atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
}

uint64_t allocations_made(void)
{
	return __atomic_load_n(&made, __ATOMIC_SEQ_CST);
}

uint64_t allocations_freed(void)
{
	return __atomic_load_n(&freed, __ATOMIC_SEQ_CST);
}

#if UNDER_ASAN || UNDER_TSAN

int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *));

static void on_malloc(const volatile void *memory, size_t size)
{
	(void)memory;
	(void)size;
	count(&made);
}

static void on_free(const volatile void *memory)
{
	if (memory)
		count(&freed);
}

void allocations_start(void)
{
	if (!__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free))
		abort();
}

#else

void allocations_start(void)
{
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

void *malloc(size_t size)
{
	count(&made);
	return __libc_malloc(size);
}

void *calloc(size_t members, size_t size)
{
	count(&made);
	return __libc_calloc(members, size);
}

void *realloc(void *memory, size_t size)
{
	count(&made);
	return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
	count(&made);
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *memory = memalign(alignment, size);

	if (!memory)
		return ENOMEM;
	*ret = memory;
	return 0;
}

void free(void *memory)
{
	if (memory)
		count(&freed);
	__libc_free(memory);
}

#endif

/* base: mmap and madvise. */
#include "base/pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weir/base.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

enum { GUARDS_BY_MAPPING_MOST = 16384 };

static unsigned guards_by_mapping;

size_t weir__page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Twice as much is mapped, and the ends are cut off. */
void *weir__pages_map(size_t size)
{
	int saved = errno;
	char *pages = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	size_t before;

	if (pages == MAP_FAILED) {
		errno = saved;
		return NULL;
	}
	before = (size - (uintptr_t)pages % size) % size;
	if (before > 0)
		(void)munmap(pages, before);
	(void)munmap(pages + before + size, size - before);
	/* With huge pages the first touch anywhere would cost 2 MiB. Not all kernels have them. */
	(void)madvise(pages + before, size, MADV_NOHUGEPAGE);
	errno = saved;
	return pages + before;
}

void weir__pages_unmap(void *pages, size_t size)
{
	(void)munmap(pages, size);
}

static bool guard_by_mapping(void *page)
{
	if (WEIR__ADD(&guards_by_mapping, 1, __ATOMIC_RELAXED) <= GUARDS_BY_MAPPING_MOST &&
	    mprotect(page, weir__page_size(), PROT_NONE) == 0)
		return true;
	weir__page_guards_gone(1);
	return false;
}

bool weir__page_guard(void *page)
{
	int saved = errno;
	bool by_mapping = madvise(page, weir__page_size(), MADV_GUARD_INSTALL) < 0 &&
			  guard_by_mapping(page);

	errno = saved;
	return by_mapping;
}

void weir__page_guards_gone(unsigned count)
{
	(void)WEIR__SUB(&guards_by_mapping, count, __ATOMIC_RELAXED);
}

bool weir__pages_discard(void *pages, size_t size)
{
	int saved = errno;
	bool taken = madvise(pages, size, MADV_DONTNEED) == 0;

	errno = saved;
	return taken;
}

size_t weir__pages_untouched(void *pages, size_t size)
{
	int saved = errno;
	size_t page = weir__page_size();
	size_t untouched = 0;
	unsigned char resident = 0;

	/* One by one: those that were touched lie at the other end, and this is for debugging. */
	while (untouched + page <= size &&
	       mincore((char *)pages + untouched, page, &resident) == 0 && !(resident & 1))
		untouched += page;
	errno = saved;
	return untouched;
}

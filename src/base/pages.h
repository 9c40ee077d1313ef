/* base: memory in pages, straight from the kernel. */
#ifndef WEIR_BASE_PAGES_H
#define WEIR_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

size_t weir__page_size(void);

/* `size` bytes, all zero, at a multiple of `size`, which is a power of two. Pages cost memory when
 * they are first touched, one by one. NULL when there is no room. */
void *weir__pages_map(size_t size);
void weir__pages_unmap(void *pages, size_t size);

/* Makes one page fault from now on, whoever touches it. Done without a mapping of its own where the
 * kernel can (MADV_GUARD_INSTALL, Linux 6.13). Elsewhere each costs one of the process's 65,530
 * mappings: 16,384 are made, the rest are not, for memory without a guard is still memory. Whether
 * it cost one; the caller counts those and reports them when they are unmapped. */
bool weir__page_guard(void *page);
void weir__page_guards_gone(unsigned count);

/* Gives the memory of pages back; they read as zero again. Whether the kernel took it. */
bool weir__pages_discard(void *pages, size_t size);

/* How many of the first bytes lie in pages that hold no memory, in whole pages. */
size_t weir__pages_untouched(void *pages, size_t size);

#endif

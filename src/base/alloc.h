/* base: the only way to the heap. */
#ifndef WEIR_BASE_ALLOC_H
#define WEIR_BASE_ALLOC_H

#include <stddef.h>

/* `size` bytes, all zero, on a cache line of their own; NULL when there is no memory. */
void *weir__alloc(size_t size);

/* The same, but sharing lines with others: several times cheaper, for small things by the million.
 */
void *weir__alloc_small(size_t size);

/* Either of them. NULL is fine. */
void weir__free(void *memory);

#endif

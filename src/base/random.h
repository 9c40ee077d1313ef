/* base: the only source of randomness. */
#ifndef WEIR_BASE_RANDOM_H
#define WEIR_BASE_RANDOM_H

#include <stddef.h>

/* Fills `size` bytes from the kernel. Nothing is buffered in the process, so a fork or a cloned
 * machine never repeats them. 0 or a negative errno; on failure the bytes must not be used. */
int weir__random(void *bytes, size_t size);

#endif

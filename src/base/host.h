/* base: which machine and which process this is. */
#ifndef WEIR_BASE_HOST_H
#define WEIR_BASE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* The machine's name, cut off where it does not fit. */
void weir__host_name(char *text, size_t size);

/* The calling process. */
int64_t weir__process(void);

#endif

/* copy: temporary names, which nobody can guess and no two entries share. */
#include "copy/engine.h"

#include <stdio.h>

void weir__temp_name(struct engine *engine, char *name, size_t size)
{
	uint64_t n = __atomic_add_fetch(&engine->temp_names, 1, __ATOMIC_RELAXED);

	(void)snprintf(name, size, ".weir-%016llx.tmp",
		       (unsigned long long)(engine->random + n * UINT64_C(0x9e3779b97f4a7c15)));
}

/* store/postgres: loading libpq. See library.h. */
#include "store/postgres/library.h"

#include <dlfcn.h>

#include "base/lock.h"

struct weir__pq weir__pq;

static struct weir__lock lock;
static bool have;

/* A function's address is not an object's to the language, but is to dlsym. */
static bool find(void *library, const char *name, void *ret_function)
{
	*(void **)ret_function = dlsym(library, name);
	return *(void **)ret_function != NULL;
}

#define FIND(function) &&find(library, #function, &weir__pq.function)

bool weir__pq_load(void)
{
	bool loaded;

	weir__lock(&lock);
	if (!have) {
		void *library = dlopen(WEIR_PQ_SONAME, RTLD_NOW | RTLD_LOCAL);

		have = library != NULL WEIR__PQ_FUNCTIONS(FIND);
	}
	loaded = have;
	weir__unlock(&lock);
	return loaded;
}

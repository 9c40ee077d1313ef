/* store/redis: loading libraries. See library.h. */
#include "store/redis/library.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/lock.h"

struct weir__hiredis weir__hiredis;
struct weir__tls weir__tls;

static struct weir__lock lock;
static bool have_hiredis;
static bool have_tls;

/* A function's address is not an object's to the language, but is to dlsym. */
static bool find(void *library, const char *name, void *ret_function)
{
	*(void **)ret_function = dlsym(library, name);
	return *(void **)ret_function != NULL;
}

#define FIND(function) &&find(library, #function, &TABLE.function)

static bool load_hiredis(void)
{
	void *library = dlopen(WEIR_HIREDIS_SONAME, RTLD_NOW | RTLD_LOCAL);

#define TABLE weir__hiredis
	return library != NULL WEIR__HIREDIS_FUNCTIONS(FIND);
#undef TABLE
}

static bool load_tls(void)
{
	void *library = dlopen(WEIR_CRYPTO_SONAME, RTLD_NOW | RTLD_LOCAL);

#define TABLE weir__tls
	if (!(library != NULL WEIR__CRYPTO_FUNCTIONS(FIND)))
		return false;
	library = dlopen(WEIR_SSL_SONAME, RTLD_NOW | RTLD_LOCAL);
	return library != NULL WEIR__SSL_FUNCTIONS(FIND);
#undef TABLE
}

int weir__redis_load(bool tls, const char **ret_missing)
{
	int result = 0;

	weir__lock(&lock);
	if (!have_hiredis)
		have_hiredis = load_hiredis();
	if (tls && !have_tls)
		have_tls = load_tls();
	if (!have_hiredis || (tls && !have_tls)) {
		*ret_missing = have_hiredis ? WEIR_SSL_SONAME : WEIR_HIREDIS_SONAME;
		result = -EHOSTUNREACH;
	}
	weir__unlock(&lock);
	return result;
}

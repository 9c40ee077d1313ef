/* store: which engines there are. */
#include <weir/store.h>

#include "lease/engine.h"
#include "store/memory.h"
#ifdef WEIR_HAVE_POSTGRES
#include "store/postgres/engine.h"
#endif
#ifdef WEIR_HAVE_REDIS
#include "store/redis/engine.h"
#endif
#ifdef WEIR_HAVE_SQLITE
#include "store/sqlite/engine.h"
#endif

static const struct weir__engine *const engines[] = {
	&weir__memory_engine,
#ifdef WEIR_HAVE_SQLITE
	&weir__sqlite_engine,
#endif
#ifdef WEIR_HAVE_REDIS
	&weir__redis_engine,
	&weir__rediss_engine,
	&weir__redis_unix_engine,
	&weir__redis_sentinel_engine,
	&weir__rediss_sentinel_engine,
#endif
#ifdef WEIR_HAVE_POSTGRES
	&weir__postgres_engine,
	&weir__postgresql_engine,
#endif
	NULL,
};

int weir_store_open(const char *url, struct weir_store **ret_store)
{
	return weir__store_open(url, engines, ret_store);
}

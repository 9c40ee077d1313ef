/* store: which engines there are. */
#include <weir/store.h>

#include "lease/engine.h"
#include "store/memory.h"
#ifdef WEIR_HAVE_SQLITE
#include "store/sqlite/engine.h"
#endif

static const struct weir__engine *const engines[] = {
	&weir__memory_engine,
#ifdef WEIR_HAVE_SQLITE
	&weir__sqlite_engine,
#endif
	NULL,
};

int weir_store_open(const char *url, struct weir_store **ret_store)
{
	return weir__store_open(url, engines, ret_store);
}

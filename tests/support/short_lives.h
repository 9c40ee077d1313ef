/* support: a store in memory for each test, in which leases may be short. */
#ifndef TESTS_SUPPORT_SHORT_LIVES_H
#define TESTS_SUPPORT_SHORT_LIVES_H

#include "support/leases.h"

#define STORE "memory:?min_ttl=10ms&max_ttl=1h"

static struct weir_store *store;

static int start(void **state)
{
	(void)state;
	store = open_store(STORE);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

#endif

/* support: what nearly every test of leases says.
 *
 * Times are short by the store's options, and a test waits for the event it is about: being
 * granted, being told. */
#ifndef TESTS_SUPPORT_LEASES_H
#define TESTS_SUPPORT_LEASES_H

#include "support/unit.h"

#include <errno.h>
#include <string.h>
#include <weir/lease.h>

static inline struct weir_store *open_store(const char *url)
{
	struct weir_store *store = NULL;

	assert_int_equal(weir_store_open(url, &store), 0);
	assert_non_null(store);
	return store;
}

static inline struct weir_lease *acquire(struct weir_store *store,
					 const struct weir_request *request)
{
	struct weir_lease *lease = NULL;
	int error = weir_acquire(store, request, &lease);

	if (error < 0)
		print_error("%s\n", weir_store_error(store));
	assert_int_equal(error, 0);
	assert_non_null(lease);
	return lease;
}

/* One that must fail, and leave the output alone. */
static inline void assert_refused(struct weir_store *store, const struct weir_request *request,
				  int error)
{
	struct weir_lease *lease = NULL;

	assert_int_equal(weir_acquire(store, request, &lease), error);
	assert_null(lease);
	assert_true(strlen(weir_store_error(store)) > 0);
}

static inline struct weir_lease_info info_of(const struct weir_lease *lease)
{
	struct weir_lease_info info;

	weir_lease_get(lease, &info);
	return info;
}

static inline void release(struct weir_lease *lease)
{
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
}

/* A semaphore's account. */
static inline int note_info(void *arg, const struct weir_sem_info *info)
{
	*(struct weir_sem_info *)arg = *info;
	return 0;
}

static inline struct weir_sem_info look(struct weir_store *store, const char *name)
{
	static const struct weir_visitor visitor = { .semaphore = note_info };
	struct weir_sem_info info = { 0 };

	assert_int_equal(weir_list(store, &name, 1, &visitor, &info), 0);
	info.name = name;
	return info;
}

#define assert_account(store, name, held_, waiting_)                   \
	do {                                                           \
		struct weir_sem_info account_ = look((store), (name)); \
		assert_int_equal(account_.held, (held_));              \
		assert_int_equal(account_.waiting, (waiting_));        \
	} while (0)

/* Waits until so many wait, by letting others run. */
static inline void until_waiting(struct weir_store *store, const char *name, uint32_t waiting)
{
	while (look(store, name).waiting != waiting)
		assert_int_equal(weir_sleep(WEIR_MS), 0);
}

#endif

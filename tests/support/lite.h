/* support: a directory for a store in a file, other processes that use it, and a look inside. */
#ifndef TESTS_SUPPORT_LITE_H
#define TESTS_SUPPORT_LITE_H

#include "support/unit.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/lease.h>

static char lite_dir[64];
static char lite_path[128];
static char lite_url[192];

static inline int lite_setup(void **state)
{
	(void)state;
	strcpy(lite_dir, "/tmp/weir-test-XXXXXX");
	if (mkdtemp(lite_dir) == NULL)
		return -1;
	snprintf(lite_path, sizeof(lite_path), "%s/weir.db", lite_dir);
	snprintf(lite_url, sizeof(lite_url), "sqlite:%s?min_ttl=20ms", lite_path);
	return 0;
}

static inline int lite_teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", lite_dir);
	return system(command) == 0 ? 0 : -1;
}

#define LITE_TEST(name) cmocka_unit_test_setup_teardown(name, lite_setup, lite_teardown)

static inline struct weir_store *lite_open(void)
{
	struct weir_store *store = NULL;
	int error = weir_store_open(lite_url, &store);

	if (error < 0)
		fail_msg("%s", weir_store_error(NULL));
	return store;
}

static inline struct weir_lease *lite_acquire(struct weir_store *store, const char *name,
					      uint32_t limit, weir_time deadline)
{
	struct weir_request request = { .name = name, .limit = limit, .deadline = deadline };
	struct weir_lease *lease = NULL;
	int error = weir_acquire(store, &request, &lease);

	if (error < 0)
		fail_msg("%s: %s", name, weir_store_error(store));
	return lease;
}

static inline int lite_try(struct weir_store *store, const char *name, struct weir_lease **lease)
{
	return weir_acquire(store, &(struct weir_request){ .name = name }, lease);
}

static inline void lite_release(struct weir_lease *lease)
{
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
}

static inline struct weir_lease_info lite_info(const struct weir_lease *lease)
{
	struct weir_lease_info info;

	weir_lease_get(lease, &info);
	return info;
}

/* Runs SQL in the file, as another program would. Returns the first column of the first row. */
static inline long long lite_sql(const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *statement;
	long long number = 0;

	assert_int_equal(sqlite3_open(lite_path, &db), SQLITE_OK);
	/* Or else the last one to close takes the log away. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	if (sqlite3_step(statement) == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
	sqlite3_close(db);
	return number;
}

/* Waits until the file says so; what waits elsewhere is seen in no other way. */
static inline void lite_await(const char *sql, long long number)
{
	for (int i = 0; i < 10000 && lite_sql(sql) != number; i++)
		usleep(1000);
	assert_int_equal(lite_sql(sql), number);
}

#endif

/* store/sqlite: creating the tables, migrating them, and what a new boot means.
 *
 * A claim is of one boot: its times are on that boot's clock, and its processes have ended with it.
 * So a file that was last used in another boot has no claims any more.
 *
 * FENCES ACROSS BOOTS. A commit is not forced to the disk, so a loss of power may take back the
 * last ones, and with them the highest fences. Therefore a fence has an epoch in its upper half,
 * and the epoch is raised, and forced to the disk, before anything is granted in a new boot
 * (CHECKLIST 76).
 */
#include <errno.h>
#include <fcntl.h>
#include <schema.sql.h> /* made of schema.sql */
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "store/sqlite/lite.h"

#define APPLICATION 0x77656972 /* "weir" */

/* What leads from each version to the next. */
static const char *const migrations[] = { weir__lite_schema_sql };

enum { VERSION = sizeof(migrations) / sizeof(migrations[0]) };

static int64_t number_of(struct weir__lite *lite, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t number = 0;
	int result = sqlite3_prepare_v2(lite->db, sql, -1, &statement, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	else if (result != SQLITE_DONE)
		weir__lite_fail(lite, result);
	(void)sqlite3_finalize(statement);
	return number;
}

static void run(struct weir__lite *lite, const char *sql)
{
	int result;

	if (lite->failed != SQLITE_OK)
		return;
	result = sqlite3_exec(lite->db, sql, NULL, NULL, NULL);
	if (result != SQLITE_OK)
		weir__lite_fail(lite, result);
}

static int failure(struct weir__lite *lite, char **ret_error)
{
	return lite->failed != SQLITE_OK ? weir__lite_error(lite, lite->failed, ret_error) : 0;
}

/* ---- the boot -------------------------------------------------------------------------------- */

static int read_boot(char boot[64])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, boot, 63) : -1;

	if (fd >= 0)
		close(fd);
	if (size <= 0)
		return -1;
	boot[size] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	return 0;
}

static void new_boot(struct weir__lite *lite, const char *boot)
{
	sqlite3_stmt *statement = weir__lite_use(lite, WEIR__SQL_EPOCH);

	lite->epoch++;
	sqlite3_bind_int64(statement, 1, (int64_t)lite->epoch);
	sqlite3_bind_text(statement, 2, boot, -1, SQLITE_STATIC);
	weir__lite_run(lite, statement);
	run(lite, "DELETE FROM claim");
	run(lite, "UPDATE semaphore SET held = 0, holders = 0, waiting = 0, slots = 0,"
		  " next_expiry = 9223372036854775807, next_silence = 9223372036854775807"
		  " WHERE holders <> 0 OR waiting <> 0");
	lite->must_sync = true;
}

/* In a transaction. */
static void enter_boot(struct weir__lite *lite, const char *boot)
{
	sqlite3_stmt *row = weir__lite_use(lite, WEIR__SQL_STORE);
	bool same = false;

	if (weir__lite_row(lite, row)) {
		const char *stored = (const char *)sqlite3_column_text(row, 0);

		same = stored != NULL && strcmp(stored, boot) == 0;
		lite->epoch = (uint64_t)sqlite3_column_int64(row, 1);
		(void)sqlite3_reset(row);
	} else if (lite->failed == SQLITE_OK) {
		weir__lite_fail(lite, SQLITE_CORRUPT);
	}
	if (lite->failed != SQLITE_OK)
		return;
	if (!same)
		new_boot(lite, boot);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static int create(struct weir__lite *lite, char **ret_error)
{
	/* Before there is a table. Small pages: what an operation changes is small, and is written
	 * whole. */
	run(lite, "PRAGMA page_size = 1024");
	run(lite, "PRAGMA journal_mode = WAL");
	return failure(lite, ret_error);
}

static int migrate(struct weir__lite *lite, int64_t version)
{
	for (; version < VERSION && lite->failed == SQLITE_OK; version++) {
		char set[64];

		run(lite, migrations[version]);
		weir__format(set, sizeof(set), "PRAGMA user_version = %d", (int)version + 1);
		run(lite, set);
	}
	weir__lite_sync(lite);
	return 0;
}

static void found(struct weir__lite *lite)
{
	char set[64];

	weir__format(set, sizeof(set), "PRAGMA application_id = %d", APPLICATION);
	run(lite, set);
	(void)migrate(lite, 0);
	run(lite, "INSERT INTO store (id, boot, epoch) VALUES (1, '', 0)");
}

static int check_version(struct weir__lite *lite, int64_t version, char **ret_error)
{
	if (number_of(lite, "PRAGMA application_id") != APPLICATION) {
		*ret_error = weir__format_new("%s is a database of another program: name another "
					      "file",
					      lite->path);
		return -EPROTO;
	}
	if (version > VERSION) {
		*ret_error = weir__format_new("%s was made by a newer weir (its tables are of "
					      "version %lld, this one knows %d): upgrade weir",
					      lite->path, (long long)version, VERSION);
		return -EPROTO;
	}
	return 0;
}

int weir__lite_schema(struct weir__lite *lite, char **ret_error)
{
	char boot[64];
	bool empty = number_of(lite, "SELECT count(*) FROM sqlite_schema") == 0;
	int64_t version = number_of(lite, "PRAGMA user_version");
	int error = failure(lite, ret_error);

	if (error == 0)
		error = empty && version == 0 ? create(lite, ret_error) :
						check_version(lite, version, ret_error);
	if (error < 0)
		return error;
	if (read_boot(boot) < 0) {
		*ret_error = weir__format_new(
			"cannot read the boot id below /proc, without which "
			"leases of before a restart are not known from others");
		return -EHOSTUNREACH;
	}
	run(lite, "PRAGMA synchronous = NORMAL");
	run(lite, "PRAGMA cell_size_check = ON");
	/* The lock is ours already, so this is not begun as others are. */
	run(lite, "BEGIN IMMEDIATE");
	lite->sent = weir__lite_clock(lite) + lite->boot_offset;
	lite->now = lite->sent - lite->boot_offset;
	if (empty)
		found(lite);
	else if (version < VERSION)
		(void)migrate(lite, version);
	enter_boot(lite, boot);
	run(lite, "COMMIT");
	(void)weir__lite_sweep(lite);
	error = failure(lite, ret_error);
	if (error == 0 && lite->must_sync)
		weir__lite_sync(lite);
	lite->must_sync = false;
	return error;
}

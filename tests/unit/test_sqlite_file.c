/* store/sqlite: files that are refused, damaged, taken away, full, or of another boot. */
#include "support/lite.h"

#include <fcntl.h>
#include <sys/mount.h>

static void assert_refused(int error, const char *words)
{
	struct weir_store *store = NULL;

	assert_int_equal(weir_store_open(lite_url, &store), error);
	if (strstr(weir_store_error(NULL), words) == NULL)
		fail_msg("\"%s\" says nothing of \"%s\"", weir_store_error(NULL), words);
	assert_null(store);
}

static void make_store(void)
{
	struct weir_store *store = lite_open();

	assert_int_equal(weir_ensure(store, "a", 3), 1);
	weir_store_close(store);
}

static mode_t mode_of(const char *suffix)
{
	char path[256];
	struct stat status;

	snprintf(path, sizeof(path), "%s%s", lite_path, suffix);
	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 07777;
}

TEST(modes_are_tight_whatever_the_umask_CHECKLIST_78)
{
	static const mode_t masks[] = { 0, 0777, 022 };

	for (size_t i = 0; i < 3; i++) {
		mode_t old = umask(masks[i]);
		struct weir_store *store;
		struct weir_lease *lease;

		snprintf(lite_path, sizeof(lite_path), "%s/new%zu/deep/weir.db", lite_dir, i);
		snprintf(lite_url, sizeof(lite_url), "sqlite:%s", lite_path);
		store = lite_open();
		lease = lite_acquire(store, "a", 1, 0);
		assert_true(weir_lease_bind_fd(lease) >= 0);
		assert_int_equal(mode_of(""), 0600);
		assert_int_equal(mode_of("-wal"), 0600);
		assert_int_equal(mode_of("-shm"), 0600);
		assert_int_equal(mode_of("-live"), 0700);
		*strrchr(lite_path, '/') = '\0';
		assert_int_equal(mode_of(""), 0700);
		weir_lease_unref(lease);
		weir_store_close(store);
		umask(old);
	}
}

TEST(no_path)
{
	strcpy(lite_url, "sqlite:");
	assert_refused(-EINVAL, "needs the path");
	strcpy(lite_url, "sqlite:/tmp/");
	assert_refused(-EINVAL, "needs the path");
}

TEST(a_file_in_the_place_of_the_directory)
{
	make_store();
	snprintf(lite_url, sizeof(lite_url), "sqlite:%s/weir.db", lite_path);
	assert_refused(-EHOSTUNREACH, "weir.db is not a directory");
}

TEST(a_file_of_another_user)
{
	make_store();
	if (chown(lite_path, 1234, (gid_t)-1) != 0)
		skip();
	assert_refused(-EHOSTUNREACH, "another user");
}

TEST(a_file_that_others_may_use)
{
	make_store();
	assert_int_equal(chmod(lite_path, 0640), 0);
	assert_refused(-EHOSTUNREACH, "chmod 600");
}

TEST(a_symbolic_link)
{
	char path[160];

	make_store();
	snprintf(path, sizeof(path), "%s/link", lite_dir);
	assert_int_equal(symlink(lite_path, path), 0);
	snprintf(lite_url, sizeof(lite_url), "sqlite:%s", path);
	assert_refused(-EHOSTUNREACH, "symbolic link");
}

TEST(a_directory_that_anybody_may_write)
{
	assert_int_equal(chmod(lite_dir, 0777), 0);
	assert_refused(-EHOSTUNREACH, "anybody may replace");
	assert_int_equal(chmod(lite_dir, 01777), 0);
	make_store();
}

TEST(a_directory_instead_of_a_file)
{
	assert_int_equal(mkdir(lite_path, 0700), 0);
	assert_refused(-EHOSTUNREACH, "not a file");
}

TEST(a_newer_schema)
{
	make_store();
	(void)lite_sql("PRAGMA user_version = 9");
	assert_refused(-EPROTO, "newer weir");
}

TEST(a_database_of_another_program)
{
	int fd = open(lite_path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	close(fd);
	(void)lite_sql("CREATE TABLE t (x)");
	assert_refused(-EPROTO, "another program");
}

static void write_file(off_t offset, const char *byte, size_t size, size_t times)
{
	int fd = open(lite_path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	for (size_t i = 0; i < times; i++)
		assert_int_equal(pwrite(fd, byte, size, offset + (off_t)(i * size)), size);
	close(fd);
}

TEST(not_a_database)
{
	write_file(0, "text", 4, 2000);
	assert_refused(-EPROTO, "not a database");
}

static void fold_in(void)
{
	(void)lite_sql("PRAGMA wal_checkpoint(TRUNCATE)");
}

TEST(a_damaged_file_CHECKLIST_security_9)
{
	for (off_t page = 1; page < 8; page++) {
		struct weir_store *store = NULL;
		struct weir_lease *lease = NULL;
		int error;

		make_store();
		fold_in();
		write_file(page * 4096, "\xa5\x5a", 2, 2048);
		error = weir_store_open(lite_url, &store);
		if (error == 0) {
			struct weir_request request = { .name = "a", .request_id = "x" };

			error = weir_acquire(store, &request, &lease);
			assert_true(error == 0 || error == -EPROTO || error == -ENOENT);
			weir_lease_unref(lease);
			weir_store_close(store);
		} else {
			assert_int_equal(error, -EPROTO);
		}
		(void)lite_teardown(NULL);
		(void)lite_setup(NULL);
	}
}

TEST(a_truncated_file)
{
	make_store();
	fold_in();
	assert_int_equal(truncate(lite_path, 5000), 0);
	assert_refused(-EPROTO, "damaged");
}

TEST(a_record_that_contradicts_itself)
{
	static const char *const lies[] = {
		"UPDATE semaphore SET slots = 7",
		"UPDATE semaphore SET holders = -1",
		"UPDATE semaphore SET held = 0, holders = 1",
		"UPDATE semaphore SET slots = x'00'",
		"UPDATE claim SET slot = 77",
		"UPDATE claim SET weight = 5",
		"UPDATE claim SET token = x'00'",
		"UPDATE claim SET state = 7",
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct weir_store *store = lite_open();
		struct weir_lease *lease = lite_acquire(store, "a", 3, 0);
		int error;

		(void)lite_sql(lies[i]);
		error = weir_release(lease);
		/* A state that is none is one that no index finds. */
		assert_true(error == -EPROTO || error == -ESTALE);
		weir_lease_unref(lease);
		weir_store_close(store);
		(void)lite_teardown(NULL);
		(void)lite_setup(NULL);
	}
}

TEST(a_file_that_is_taken_away_is_noticed_CHECKLIST_77)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, 0);
	struct weir_lease *another;
	char path[160];

	snprintf(path, sizeof(path), "%s.old", lite_path);
	assert_int_equal(rename(lite_path, path), 0);
	assert_int_equal(lite_try(store, "a", &another), -EHOSTUNREACH);
	assert_non_null(strstr(weir_store_error(store), "deleted or replaced"));
	write_file(0, "", 1, 1);
	assert_int_equal(weir_release(lease), -EHOSTUNREACH);
	weir_lease_unref(lease);
	weir_store_close(store);
}

TEST(a_lock_by_another_program_is_waited_for_but_not_for_ever_CHECKLIST_72)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease;
	sqlite3 *db;

	make_store();
	assert_int_equal(sqlite3_open(lite_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(lite_try(store, "a", &lease), -EHOSTUNREACH);
	assert_non_null(strstr(weir_store_error(store), "locked by another program"));
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(lite_try(store, "a", &lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
	sqlite3_close(db);
}

/* CHECKLIST 76, 79. Commits that a loss of power took back are simulated by an older fence. */
TEST(another_boot_voids_leases_and_raises_fences_L2)
{
	struct weir_store *store = lite_open();
	struct weir_request request = { .name = "a", .limit = 2, .detached = true };
	struct weir_lease *lease;
	uint64_t fence;

	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	fence = lite_info(lease).fence;
	weir_lease_unref(lease);
	weir_store_close(store);
	(void)lite_sql("UPDATE store SET boot = 'another'");
	(void)lite_sql("UPDATE semaphore SET fence = 0");
	store = lite_open();
	assert_int_equal(lite_sql("SELECT count(*) FROM claim"), 0);
	lease = lite_acquire(store, "a", 2, 0);
	assert_true(lite_info(lease).fence > fence);
	assert_int_equal(lite_info(lease).slot, 0);
	weir_lease_unref(lease);
	weir_store_close(store);
	assert_int_equal(lite_sql("SELECT permits FROM semaphore"), 2);
}

TEST(fences_that_run_out_of_an_epoch_take_the_next)
{
	struct weir_store *store;
	struct weir_lease *lease;

	make_store();
	(void)lite_sql("UPDATE semaphore SET fence = (7 << 32) - 1");
	store = lite_open();
	lease = lite_acquire(store, "a", 3, 0);
	assert_true(lite_info(lease).fence == UINT64_C(7) << 32);
	weir_lease_unref(lease);
	weir_store_close(store);
	assert_int_equal(lite_sql("SELECT epoch FROM store"), 7);
}

/* ---- a real full disk ------------------------------------------------------------------------ */

static int disk_setup(void **state)
{
	int error = lite_setup(state);

	if (error == 0 && mount("none", lite_dir, "tmpfs", 0, "size=2m,mode=0700") != 0)
		lite_dir[0] = '\0';
	return error;
}

static int disk_teardown(void **state)
{
	if (lite_dir[0] == '\0')
		return 0;
	(void)umount2(lite_dir, MNT_DETACH);
	return lite_teardown(state);
}

static void fill_disk(void)
{
	char path[160];
	char block[4096] = { 1 };
	int fd;

	snprintf(path, sizeof(path), "%s/filler", lite_dir);
	fd = open(path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof(block)) > 0) {
	}
	close(fd);
}

TEST(a_full_disk_lets_releases_through_CHECKLIST_75)
{
	enum { N = 100 };
	struct weir_store *store;
	struct weir_lease *leases[N];
	struct weir_lease *lease;
	char path[160];
	int error = 0;

	if (lite_dir[0] == '\0')
		skip();
	store = lite_open();
	for (int i = 0; i < N; i++)
		leases[i] = lite_acquire(store, "a", 1000, 0);
	fill_disk();
	for (int i = 0; i < 500 && error == 0; i++) { /* until the log must grow */
		error = lite_try(store, "a", &lease);
		if (error == 0)
			weir_lease_unref(lease);
	}
	assert_int_equal(error, -EHOSTUNREACH);
	assert_non_null(strstr(weir_store_error(store), "full"));
	fill_disk();
	for (int i = 0; i < N; i++) {
		error = weir_release(leases[i]);
		if (error != 0)
			fail_msg("release %d: %d %s", i, error, weir_store_error(store));
		weir_lease_unref(leases[i]);
	}
	assert_int_equal(lite_try(store, "a", &lease), -EHOSTUNREACH);
	snprintf(path, sizeof(path), "%s/filler", lite_dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(lite_try(store, "a", &lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

TEST(a_read_only_filesystem)
{
	struct weir_store *store;
	struct weir_lease *lease;

	if (lite_dir[0] == '\0')
		skip();
	make_store();
	store = lite_open();
	assert_int_equal(lite_try(store, "a", &lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
	assert_int_equal(mount("none", lite_dir, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=2m"), 0);
	assert_refused(-EHOSTUNREACH, "weir.db");
	assert_int_equal(mount("none", lite_dir, "tmpfs", MS_REMOUNT, "size=2m"), 0);
}

#define DISK_TEST(name) cmocka_unit_test_setup_teardown(name, disk_setup, disk_teardown)

/* How often the log has been begun anew, as its head says. */
static uint32_t log_turns(const char *path)
{
	uint8_t turns[4] = { 0 };
	FILE *log = fopen(path, "rb");

	assert_non_null(log);
	assert_int_equal(fseek(log, 12, SEEK_SET), 0);
	assert_int_equal(fread(turns, sizeof(turns), 1, log), 1);
	fclose(log);
	return (uint32_t)turns[0] << 24 | (uint32_t)turns[1] << 16 | (uint32_t)turns[2] << 8 |
	       turns[3];
}

/* Also when the asking thread does the work: the agent is woken up for this. It copies beside those
 * who write, and so may have to try again; but where eight times as much has come meanwhile, they
 * wait for it. */
TEST(the_log_does_not_grow_for_ever_CHECKLIST_80)
{
	const off_t most = (off_t)9 * 16000 * (1024 + 24);
	struct weir_store *store = lite_open();
	char path[256];
	struct stat status;
	uint32_t turns;

	assert_int_equal(weir_ensure(store, "a", 3), 1);
	snprintf(path, sizeof(path), "%s-wal", lite_path);
	turns = log_turns(path);
	do {
		for (int i = 0; i < 100; i++) {
			struct weir_lease *lease;

			assert_int_equal(lite_try(store, "a", &lease), 0);
			assert_int_equal(weir_release(lease), 0);
			weir_lease_unref(lease);
		}
		assert_int_equal(stat(path, &status), 0);
		assert_in_range(status.st_size, 1, most);
	} while (log_turns(path) == turns);
	weir_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LITE_TEST(the_log_does_not_grow_for_ever_CHECKLIST_80),
		LITE_TEST(modes_are_tight_whatever_the_umask_CHECKLIST_78),
		LITE_TEST(no_path),
		LITE_TEST(a_file_in_the_place_of_the_directory),
		LITE_TEST(a_file_of_another_user),
		LITE_TEST(a_file_that_others_may_use),
		LITE_TEST(a_symbolic_link),
		LITE_TEST(a_directory_that_anybody_may_write),
		LITE_TEST(a_directory_instead_of_a_file),
		LITE_TEST(a_newer_schema),
		LITE_TEST(a_database_of_another_program),
		LITE_TEST(not_a_database),
		LITE_TEST(a_damaged_file_CHECKLIST_security_9),
		LITE_TEST(a_truncated_file),
		LITE_TEST(a_record_that_contradicts_itself),
		LITE_TEST(a_file_that_is_taken_away_is_noticed_CHECKLIST_77),
		LITE_TEST(a_lock_by_another_program_is_waited_for_but_not_for_ever_CHECKLIST_72),
		LITE_TEST(another_boot_voids_leases_and_raises_fences_L2),
		LITE_TEST(fences_that_run_out_of_an_epoch_take_the_next),
		DISK_TEST(a_full_disk_lets_releases_through_CHECKLIST_75),
		DISK_TEST(a_read_only_filesystem),
	};

	return RUN_TESTS(tests);
}

/* fuzz: a file that says it is a store. Opening and using it succeeds or fails; it does not crash,
 * hang or leak. The bytes are written over a good file, from a place that they name, so that most
 * of them get past the first look; or they are the file. */
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/lease.h>

static char directory[] = "/tmp/weir-fuzz-XXXXXX";
static char url[100], path[80], other[100];
static uint8_t good[1 << 20];
static size_t good_size;

static void use(void)
{
	struct weir_request request = { .name = "n", .limit = 2, .deadline = 0 };
	struct weir_visitor visitor = { 0 };
	struct weir_lease *lease;
	struct weir_store *store;

	if (weir_store_open(url, &store) < 0)
		return;
	if (weir_acquire(store, &request, &lease) == 0) {
		(void)weir_renew(lease, 0);
		(void)weir_release(lease);
		weir_lease_unref(lease);
	}
	(void)weir_list(store, NULL, 0, &visitor, NULL);
	(void)weir_set_limit(store, "n", 3);
	(void)weir_reap(store, 10);
	weir_store_close(store);
}

static void clear(void)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		(void)snprintf(other, sizeof(other), "%s%s", path, ends[i]);
		(void)unlink(other);
	}
}

static void remove_all(void)
{
	(void)snprintf(other, sizeof(other), "rm -rf %s", directory);
	if (system(other) != 0)
		abort();
}

/* A store that was used and closed, with all of it in the file. */
static void make_good(void)
{
	char command[200];
	int fd;
	ssize_t got;

	REQUIRE(mkdtemp(directory) != NULL && atexit(remove_all) == 0);
	(void)snprintf(path, sizeof(path), "%s/weir.db", directory);
	(void)snprintf(url, sizeof(url), "sqlite:%s", path);
	use();
	(void)snprintf(command, sizeof(command),
		       "sqlite3 %s 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null 2>&1", path);
	(void)!system(command);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	got = read(fd, good, sizeof(good));
	REQUIRE(got > 0);
	good_size = (size_t)got;
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (good_size == 0)
		make_good();
	clear();
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	if (size > 3 && data[0] % 8 != 0) {
		size_t at = ((size_t)data[1] << 8 | data[2]) % good_size;

		REQUIRE(write(fd, good, good_size) == (ssize_t)good_size);
		REQUIRE(pwrite(fd, data + 3, size - 3, (off_t)at) == (ssize_t)(size - 3));
	} else {
		REQUIRE(write(fd, data, size) == (ssize_t)size);
	}
	(void)close(fd);
	use();
	return 0;
}

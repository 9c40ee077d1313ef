/* support: other processes that use the same store in a file, and can be killed.
 *
 * A test starts one, waits for its word, and lets it go on. */
#ifndef TESTS_SUPPORT_OTHER_H
#define TESTS_SUPPORT_OTHER_H

#include "support/lite.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>

struct other {
	pid_t pid;
	int to, from; /* pipes: bytes that say "go on" */
};

static inline void other_says(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(9);
}

static inline void other_hears(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(8);
}

typedef void other_fn(int from, int to);

/* What other processes may be asked to do; the test's. Ends with NULL. */
extern other_fn *const other_parts[];

/* Runs `part` in a process of its own. It is executed anew, and not just forked, because sanitizers
 * cannot follow threads that a fork leaves behind. It ends with the test, also with one that has
 * failed: whoever waits for the end of the test's output would wait for it, too. */
static inline struct other other_start(other_fn *part)
{
	struct other other;
	char number[16], from[16], to[16];
	int down[2], up[2], i = 0;

	assert_int_equal(pipe2(down, O_CLOEXEC), 0);
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	while (other_parts[i] != part)
		i++;
	snprintf(number, sizeof(number), "%d", i);
	snprintf(from, sizeof(from), "%d", down[0]);
	snprintf(to, sizeof(to), "%d", up[1]);
	other.pid = fork();
	assert_true(other.pid >= 0);
	if (other.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)fcntl(down[0], F_SETFD, 0);
		(void)fcntl(up[1], F_SETFD, 0);
		execl("/proc/self/exe", "other", number, from, to, lite_path, lite_url, NULL);
		_exit(6);
	}
	close(down[0]);
	close(up[1]);
	other.to = down[1];
	other.from = up[0];
	return other;
}

/* For main(): whether this is such a process; then it does not return. */
static inline void other_run(int argc, char **argv)
{
	if (argc != 6)
		return;
	strcpy(lite_path, argv[4]);
	strcpy(lite_url, argv[5]);
	other_parts[atoi(argv[1])](atoi(argv[2]), atoi(argv[3]));
	_exit(0);
}

static inline void other_await(const struct other *other)
{
	char byte;

	assert_int_equal(read(other->from, &byte, 1), 1);
}

static inline void other_go_on(const struct other *other)
{
	assert_int_equal(write(other->to, "", 1), 1);
}

static inline int other_end(struct other *other)
{
	int status;

	assert_int_equal(waitpid(other->pid, &status, 0), other->pid);
	close(other->to);
	close(other->from);
	return status;
}

static inline void other_kill(struct other *other)
{
	kill(other->pid, SIGKILL);
	(void)other_end(other);
}

/* Stops it, but not inside a transaction, where it would hold up everybody: while the lock is ours
 * it can only wait for it, and one that is stopped does not wait. */
static inline void other_stop(const struct other *other)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	char path[160];
	int fd, status;

	snprintf(path, sizeof(path), "%s-live/lock", lite_path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLKW, &lock), 0);
	kill(other->pid, SIGSTOP);
	assert_int_equal(waitpid(other->pid, &status, WUNTRACED), other->pid);
	assert_true(WIFSTOPPED(status));
	close(fd);
}

static inline void other_finish(struct other *other)
{
	other_await(other);
	other_go_on(other);
	assert_int_equal(other_end(other), 0);
}

/* ---- what many of them do -------------------------------------------------------------------- */

/* Longer than any machine is busy; shorter than a heartbeat and a TTL of these tests, so that
 * whoever had to wait for one of those fails. */
#define OTHER_LONG weir_after(60 * WEIR_SECOND)

/* The heartbeat is as rare as can be, and longer than some machines have been up: whoever is told
 * to ask must not wait until it could have been asking for that long. */
static inline int other_setup(void **state)
{
	int error = lite_setup(state);

	strcat(lite_url, "&heartbeat=1h&default_ttl=10m");
	return error;
}

#define OTHER_TEST(name) cmocka_unit_test_setup_teardown(name, other_setup, lite_teardown)

static inline void other_holds(int from, int to)
{
	struct weir_store *store = lite_open();

	(void)lite_acquire(store, "a", 1, OTHER_LONG);
	other_says(to);
	other_hears(from);
	weir_store_close(store);
}

static inline void other_waits(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, OTHER_LONG);

	other_says(to);
	other_hears(from);
	if (weir_release(lease) != 0)
		_exit(7);
	weir_lease_unref(lease);
	weir_store_close(store);
}

/* Two of them, lock and reserve, are always there. */
static inline int files_in_live(void)
{
	char path[160];
	DIR *directory;
	int count = 0;

	snprintf(path, sizeof(path), "%s-live", lite_path);
	directory = opendir(path);
	assert_non_null(directory);
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count - 2;
}

#endif

/* store/sqlite: how processes hear of each other, where that is made difficult; and descriptors,
 * which are scarce. */
#include "support/other.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>

/* Longer than any machine is busy; shorter than a heartbeat and a TTL of these tests, so that
 * whoever had to wait for one of those fails. */
#define LONG weir_after(60 * WEIR_SECOND)

static int setup(void **state)
{
	int error = lite_setup(state);

	strcat(lite_url, "&heartbeat=2m&default_ttl=10m");
	return error;
}

#define MESSAGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, lite_teardown)

static void wait_then_say(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, LONG);

	other_says(to);
	other_hears(from);
	weir_lease_unref(lease);
	weir_store_close(store);
}

/* A lease of "a" is held, and another process waits for it, and has it when it is released. */
static void await_grant_elsewhere(struct weir_store *store, struct weir_lease *lease,
				  void (*waits)(int from, int to))
{
	struct other other = other_start(waits);

	lite_await("SELECT waiting FROM semaphore WHERE name = 'a'", 1);
	assert_int_equal(weir_release(lease), 0);
	other_await(&other);
	other_go_on(&other);
	assert_int_equal(other_end(&other), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

/* An address of a socket has 107 bytes. */
TEST(a_long_path_is_no_obstacle_L8)
{
	static const char far[] = "/a-directory-whose-name-is-so-long-that-the-address-of-a-"
				  "socket-has-no-room-for-it";
	struct weir_store *store;

	strcat(strcat(strcpy(lite_path, lite_dir), far), "/weir.db");
	snprintf(lite_url, sizeof(lite_url), "sqlite:%s?heartbeat=1h&default_ttl=10m", lite_path);
	assert_true(strlen(lite_path) > 100);
	store = lite_open();
	await_grant_elsewhere(store, lite_acquire(store, "a", 1, 0), wait_then_say);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int lowest_free(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static struct rlimit no_more_descriptors(void)
{
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)lowest_free();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(dup(0), -1);
	return before;
}

static void wait_without_descriptors(int from, int to)
{
	struct weir_store *store = lite_open();
	struct rlimit before = no_more_descriptors();
	struct weir_lease *lease;

	weir_lease_unref(lite_acquire(store, "b", 1, 0));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	lease = lite_acquire(store, "a", 1, LONG);
	other_says(to);
	other_hears(from);
	weir_lease_unref(lease);
	weir_store_close(store);
}

/* Leases are granted all the same, and as soon as there are descriptors again there is news. */
TEST(who_had_no_descriptors_hears_later)
{
	struct weir_store *store = lite_open();

	await_grant_elsewhere(store, lite_acquire(store, "a", 1, 0), wait_without_descriptors);
}

/* How many descriptors of a process lead to `what`. */
static int count_open(pid_t pid, const char *what)
{
	char path[300], target[300];
	struct dirent *entry;
	DIR *directory;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", (int)pid, entry->d_name);
		length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		count += strstr(target, what) != NULL;
	}
	closedir(directory);
	return count;
}

static void await_open(pid_t pid, const char *what, int count)
{
	while (count_open(pid, what) != count)
		usleep(1000);
}

static int open_locks(void)
{
	return count_open(getpid(), "-live/lock");
}

/* However many stores there are: a child would keep the lock of a parent that dies inside. */
TEST(a_child_has_none_of_many_locks_CHECKLIST_73)
{
	enum { STORES = 80 };
	struct weir_store *stores[STORES];
	pid_t child;
	int status;

	for (int i = 0; i < STORES; i++)
		stores[i] = lite_open();
	assert_int_equal(open_locks(), STORES);
	child = fork();
	if (child == 0)
		_exit(open_locks());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (int i = 0; i < STORES; i++)
		weir_store_close(stores[i]);
	assert_int_equal(open_locks(), 0);
}

/* What was watched meanwhile is let go in the background. */
TEST(who_has_waited_watches_nobody_any_more)
{
	struct weir_store *store;
	struct weir_lease *lease;
	struct other other;

	strcat(lite_url, "&heartbeat=50ms");
	store = lite_open();
	lease = lite_acquire(store, "a", 1, 0);
	other = other_start(wait_then_say);
	await_open(other.pid, "pidfd", 1);
	assert_int_equal(weir_release(lease), 0);
	other_await(&other);
	await_open(other.pid, "pidfd", 0);
	other_go_on(&other);
	assert_int_equal(other_end(&other), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

static void hold_two(int from, int to)
{
	struct weir_store *store = lite_open();

	(void)lite_acquire(store, "a", 1, 0);
	(void)lite_acquire(store, "b", 1, 0);
	other_says(to);
	other_hears(from);
}

static void *wait_in_thread(void *store)
{
	lite_release(lite_acquire(store, "a", 1, LONG));
	return NULL;
}

/* Who waits for one thing has the holder watched, and hears of its end a little later; who tries
 * another meanwhile is not turned away because of the dead. */
TEST(a_try_sees_a_death_before_the_news_of_it_L11)
{
	struct weir_store *store = lite_open();

	for (int i = 0; i < 20; i++) {
		struct other holder = other_start(hold_two);
		struct weir_lease *lease;
		pthread_t thread;

		other_await(&holder);
		assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, store), 0);
		await_open(getpid(), "pidfd", 1);
		other_kill(&holder);
		assert_int_equal(lite_try(store, "b", &lease), 0);
		lite_release(lease);
		assert_int_equal(pthread_join(thread, NULL), 0);
		await_open(getpid(), "pidfd", 0);
	}
	weir_store_close(store);
}

other_fn *const other_parts[] = { wait_then_say, wait_without_descriptors, hold_two, NULL };

int main(int argc, char **argv)
{
	other_run(argc, argv);

	const struct CMUnitTest tests[] = {
		MESSAGE_TEST(a_long_path_is_no_obstacle_L8),
		MESSAGE_TEST(who_had_no_descriptors_hears_later),
		MESSAGE_TEST(a_child_has_none_of_many_locks_CHECKLIST_73),
		LITE_TEST(a_try_sees_a_death_before_the_news_of_it_L11),
		LITE_TEST(who_has_waited_watches_nobody_any_more),
	};

	return RUN_TESTS(tests);
}

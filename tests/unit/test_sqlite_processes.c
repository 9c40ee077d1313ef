/* store/sqlite: several processes, some of which die (L8, L11, CHECKLIST 94). */
#include "support/other.h"
#include "support/sanitizers.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>

#include "store/sqlite/lite.h"

/* Longer than any machine is busy; shorter than a heartbeat and a TTL of these tests, so that
 * whoever had to wait for one of those fails. */
#define LONG weir_after(60 * WEIR_SECOND)

static int processes_setup(void **state)
{
	int error = lite_setup(state);

	strcat(lite_url, "&heartbeat=2m&default_ttl=10m");
	return error;
}

#define SLOW_TEST(name) cmocka_unit_test_setup_teardown(name, processes_setup, lite_teardown)

static void hold(int from, int to)
{
	struct weir_store *store = lite_open();

	(void)lite_acquire(store, "a", 1, LONG);
	other_says(to);
	other_hears(from);
	weir_store_close(store);
}

static void wait_then_say(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, LONG);

	other_says(to);
	other_hears(from);
	if (weir_release(lease) != 0)
		_exit(7);
	weir_lease_unref(lease);
	weir_store_close(store);
}

static int files_in_live(void)
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

TEST(a_release_here_grants_there_L8)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, 0);
	struct other other = other_start(wait_then_say);

	lite_await("SELECT waiting FROM semaphore", 1);
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	other_await(&other);
	assert_int_equal(lite_try(store, "a", &lease), -EAGAIN);
	other_go_on(&other);
	assert_int_equal(other_end(&other), 0);
	assert_int_equal(lite_try(store, "a", &lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
	assert_int_equal(files_in_live(), 2); /* lock and reserve */
}

TEST(a_killed_holder_is_seen_by_who_waits_L11)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold);
	struct other waiter;

	other_await(&holder);
	waiter = other_start(wait_then_say);
	lite_await("SELECT waiting FROM semaphore", 1);
	other_kill(&holder);
	other_await(&waiter);
	other_go_on(&waiter);
	assert_int_equal(other_end(&waiter), 0);
	weir_store_close(store);
}

TEST(a_killed_holder_does_not_turn_a_try_away_L11)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold);
	struct weir_lease *lease;

	other_await(&holder);
	assert_int_equal(lite_try(store, "a", &lease), -EAGAIN);
	other_kill(&holder);
	assert_int_equal(lite_try(store, "a", &lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

/* The head dies; the one behind it has watched it, and is the next to watch the holder. */
TEST(a_killed_waiter_is_passed_over_CHECKLIST_94)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold);
	struct other first, second;

	other_await(&holder);
	first = other_start(wait_then_say);
	lite_await("SELECT waiting FROM semaphore", 1);
	second = other_start(wait_then_say);
	lite_await("SELECT waiting FROM semaphore", 2);
	other_kill(&first);
	lite_await("SELECT waiting FROM semaphore", 1);
	other_kill(&holder);
	other_await(&second);
	other_go_on(&second);
	assert_int_equal(other_end(&second), 0);
	weir_store_close(store);
}

/* Both at once, and several in between: nobody is left to tell anybody. */
TEST(many_die_at_once_L11)
{
	struct weir_store *store = lite_open();
	struct other others[6];
	struct other last;

	others[0] = other_start(hold);
	other_await(&others[0]);
	for (int i = 1; i < 6; i++) {
		others[i] = other_start(wait_then_say);
		lite_await("SELECT waiting FROM semaphore", i);
	}
	last = other_start(wait_then_say);
	lite_await("SELECT waiting FROM semaphore", 6);
	for (int i = 5; i >= 0; i--)
		kill(others[i].pid, SIGKILL);
	other_await(&last);
	other_go_on(&last);
	assert_int_equal(other_end(&last), 0);
	for (int i = 0; i < 6; i++)
		(void)other_end(&others[i]);
	assert_int_equal(lite_sql("SELECT count(*) FROM claim"), 0);
	assert_int_equal(lite_sql("SELECT held + waiting FROM semaphore"), 0);
	weir_store_close(store);
}

static void ask_too_much(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_request request = { .name = "a", .weight = 2, .deadline = LONG };
	struct weir_lease *lease;

	(void)from;
	if (weir_acquire(store, &request, &lease) != -E2BIG)
		_exit(2);
	other_says(to);
	weir_store_close(store);
}

/* It is told, and does not learn it from a heartbeat. */
TEST(a_waiter_that_became_too_heavy_is_told_CHECKLIST_18)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 2, 0);
	struct other waiter = other_start(ask_too_much);

	lite_await("SELECT waiting FROM semaphore", 1);
	assert_int_equal(weir_set_limit(store, "a", 1), 0);
	other_await(&waiter);
	assert_int_equal(other_end(&waiter), 0);
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

/* A lower fence cannot come back: the stopped process wakes up and is told. */
static void hold_shortly(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_request request = { .name = "a", .limit = 1, .ttl = 100 * WEIR_MS };
	struct weir_lease *lease;

	if (weir_acquire(store, &request, &lease) != 0)
		_exit(2);
	other_says(to);
	other_hears(from);
	if (weir_lease_held(lease))
		_exit(3);
	_exit(weir_release(lease) == -ESTALE ? 0 : 4);
}

TEST(a_stopped_holder_loses_its_lease_CHECKLIST_35)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold_shortly);
	struct weir_lease *lease;

	other_await(&holder);
	other_stop(&holder);
	lease = lite_acquire(store, "a", 1, LONG);
	kill(holder.pid, SIGCONT);
	other_go_on(&holder);
	assert_int_equal(other_end(&holder), 0);
	assert_true(weir_lease_held(lease));
	weir_lease_unref(lease);
	weir_store_close(store);
}

TEST(a_pid_that_was_given_again_is_another_process)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold);
	struct weir_lease *lease;

	other_await(&holder);
	assert_int_equal(lite_try(store, "a", &lease), -EAGAIN);
	(void)lite_sql("UPDATE claim SET start = start - 1");
	assert_int_equal(lite_try(store, "a", &lease), 0);
	weir_lease_unref(lease);
	other_kill(&holder);
	weir_store_close(store);
}

/* Of a process in another namespace only its socket is seen. */
TEST(a_process_elsewhere_lives_while_its_socket_does)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold);
	struct weir_lease *lease;

	other_await(&holder);
	(void)lite_sql("UPDATE claim SET space = space + 1, pid = 999999");
	assert_int_equal(lite_try(store, "a", &lease), -EAGAIN);
	other_kill(&holder);
	assert_int_equal(lite_try(store, "a", &lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

static void remove_sockets(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -f %s-live/s*", lite_path);
	assert_int_equal(system(command), 0);
}

/* With an ordinary heartbeat: what no message tells, asking does. */
TEST(lost_messages_cost_a_heartbeat_CHECKLIST_55)
{
	struct weir_store *store;
	struct weir_lease *lease;
	struct other waiter;

	strcat(lite_url, "&heartbeat=50ms");
	store = lite_open();
	lease = lite_acquire(store, "a", 1, 0);
	waiter = other_start(wait_then_say);
	lite_await("SELECT waiting FROM semaphore", 1);
	remove_sockets();
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	other_await(&waiter);
	other_go_on(&waiter);
	assert_int_equal(other_end(&waiter), 0);
	weir_store_close(store);
}

static void wait_long(int from, int to)
{
	strcpy(strstr(lite_url, "?"), "?heartbeat=20ms");
	wait_then_say(from, to);
}

/* It is stopped until it is taken for dead, comes back, and queues again. */
TEST(a_silent_waiter_asks_again_CHECKLIST_37)
{
	struct weir_store *store;
	struct weir_lease *lease;
	struct other waiter;

	strcpy(strstr(lite_url, "?"), "?heartbeat=20ms");
	store = lite_open();
	lease = lite_acquire(store, "a", 1, 0);
	waiter = other_start(wait_long);
	lite_await("SELECT waiting FROM semaphore", 1);
	other_stop(&waiter);
	for (int i = 0; i < 1000 && lite_sql("SELECT waiting FROM semaphore") != 0; i++) {
		usleep(10000);
		(void)weir_reap(store, 1);
	}
	assert_int_equal(lite_sql("SELECT waiting FROM semaphore"), 0);
	kill(waiter.pid, SIGCONT);
	lite_await("SELECT waiting FROM semaphore", 1);
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	other_await(&waiter);
	other_go_on(&waiter);
	assert_int_equal(other_end(&waiter), 0);
	weir_store_close(store);
}

/* ---- bound leases ---------------------------------------------------------------------------- */

static void hold_bound(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_request request = { .name = "a", .limit = 1, .ttl = 50 * WEIR_MS };
	struct weir_lease *lease;
	int fd;

	do { /* until it is bound before it expires, on a busy machine */
		if (weir_acquire(store, &request, &lease) != 0)
			_exit(2);
		fd = weir_lease_bind_fd(lease);
		if (fd < 0)
			weir_lease_unref(lease);
	} while (fd == -ESTALE);
	if (fd < 0)
		_exit(3);
	if (fork() == 0) { /* the command: it has the descriptor, and outlives its parent */
		other_says(to);
		other_hears(from);
		_exit(0);
	}
	pause();
}

TEST(a_bound_lease_is_kept_by_the_family_CHECKLIST_90)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold_bound);
	struct other waiter;
	struct weir_lease *lease;

	other_await(&holder);
	kill(holder.pid, SIGKILL);
	assert_int_equal(waitpid(holder.pid, NULL, 0), holder.pid);
	usleep(60000); /* beyond its TTL */
	assert_int_equal(lite_try(store, "a", &lease), -EAGAIN);
	waiter = other_start(wait_then_say);
	lite_await("SELECT waiting FROM semaphore", 1);
	usleep(60000);
	assert_int_equal(lite_try(store, "a", &lease), -EAGAIN);
	other_go_on(&holder); /* the last one with the descriptor ends */
	other_await(&waiter);
	other_go_on(&waiter);
	assert_int_equal(other_end(&waiter), 0);
	close(holder.to);
	close(holder.from);
	weir_store_close(store);
	assert_int_equal(files_in_live(), 2);
}

TEST(a_release_ends_the_binding)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, 0);
	int fd = weir_lease_bind_fd(lease);

	assert_true(fd >= 0);
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
	assert_int_equal(files_in_live(), 2);
}

/* ---- detached -------------------------------------------------------------------------------- */

static void hold_detached(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_request request = { .name = "a", .limit = 1, .detached = true };
	struct weir_lease *lease;

	(void)from;
	if (weir_acquire(store, &request, &lease) != 0)
		_exit(2);
	weir_lease_unref(lease);
	weir_store_close(store);
	other_says(to);
}

TEST(a_detached_lease_outlives_its_process)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold_detached);
	struct weir_lease *lease;

	other_await(&holder);
	assert_int_equal(other_end(&holder), 0);
	assert_int_equal(lite_try(store, "a", &lease), -EAGAIN);
	weir_store_close(store);
}

static int lost;

static void on_lost(struct weir_lease *lease, void *arg)
{
	(void)lease;
	other_says(*(int *)arg);
}

static void hold_until_lost(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_request request = {
		.name = "a", .limit = 1, .on_lost = on_lost, .on_lost_arg = &lost, .request_id = "x"
	};
	struct weir_lease *lease;

	lost = to;
	if (weir_acquire(store, &request, &lease) != 0)
		_exit(2);
	other_says(to);
	other_hears(from);
	_exit(weir_lease_held(lease) ? 3 : 0);
}

TEST(an_evicted_holder_is_told)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold_until_lost);
	struct weir_lease *lease;

	other_await(&holder);
	assert_int_equal(weir_acquire(store,
				      &(struct weir_request){ .name = "a", .request_id = "x" },
				      &lease),
			 0);
	assert_int_equal(weir_evict(store, "a", lite_info(lease).token), 0);
	other_await(&holder);
	other_go_on(&holder);
	assert_int_equal(other_end(&holder), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

static int64_t holder_pid;

static int note_holder(void *arg, const struct weir_claim_info *info)
{
	(void)arg;
	holder_pid = info->pid;
	return 0;
}

static struct weir_lease *retry(struct weir_store *store)
{
	static const struct weir_visitor visitor = { .holder = note_holder };
	struct weir_request request = { .name = "a", .request_id = "x" };
	struct weir_lease *lease = NULL;

	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	assert_int_equal(weir_list(store, NULL, 0, &visitor, NULL), 0);
	return lease;
}

/* Both believe in it, so the death of one does not end it. */
TEST(a_lease_that_two_processes_have_outlives_one_of_them_L4_L5)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(hold_until_lost);
	struct weir_lease *lease, *none;

	other_await(&holder);
	lease = retry(store);
	assert_int_equal(holder_pid, 0);
	other_kill(&holder);
	assert_int_equal(lite_try(store, "a", &none), -EAGAIN);
	assert_int_equal(weir_renew(lease, 0), 0);
	assert_int_equal(weir_release(lease), 0);
	assert_int_equal(lite_sql("SELECT held FROM semaphore"), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

/* It would be nobody's, and is the retrying one's. */
TEST(a_retry_of_the_dead_is_the_holder_L6)
{
	struct weir_store *store = lite_open(), *another = lite_open();
	struct other holder = other_start(hold_until_lost);
	struct weir_lease *lease, *none;

	other_await(&holder);
	other_kill(&holder);
	lease = retry(store);
	assert_int_equal(holder_pid, getpid());
	assert_int_equal(lite_try(another, "a", &none), -EAGAIN);
	weir_lease_unref(lease); /* gives it back */
	lite_await("SELECT held FROM semaphore", 0);
	weir_store_close(another);
	weir_store_close(store);
}

TEST(leftovers_of_the_dead_are_swept)
{
	struct other holder = other_start(hold);
	struct weir_store *store;

	other_await(&holder);
	other_kill(&holder);
	assert_int_equal(files_in_live(), 3);
	store = lite_open();
	weir_store_close(store);
	assert_int_equal(files_in_live(), 2);
}

enum { CROWD = 6, STORES = 50, LOOKS_MAX = 64 };

/* Many agents, without a claim that somebody would come across. */
static void be_many(int from, int to)
{
	for (int i = 0; i < STORES; i++) {
		if (weir_ensure(lite_open(), "a", 1) < 0)
			_exit(2);
	}
	other_says(to);
	other_hears(from);
}

static uint32_t sweep(struct weir_store *store)
{
	struct weir__lite *lite = store->state;
	uint32_t looked;

	weir__lite_lock(lite->lock.fd);
	looked = weir__lite_sweep(lite);
	weir__lite_unlock(lite->lock.fd);
	return looked;
}

/* The living are looked at, too, and stay. */
TEST(each_open_sweeps_a_little)
{
	struct weir_store *store = lite_open();
	struct other crowd[CROWD];
	struct other living;

	for (int i = 0; i < CROWD; i++) {
		crowd[i] = other_start(be_many);
		other_await(&crowd[i]);
	}
	living = other_start(hold);
	other_await(&living);
	assert_int_equal(files_in_live(), 2 + CROWD * STORES + 1);
	assert_true(sweep(store) <= 4);
	for (int i = 0; i < CROWD; i++)
		other_kill(&crowd[i]);
	assert_true(sweep(store) <= LOOKS_MAX);
	assert_true(files_in_live() >= 2 + CROWD * STORES + 1 - LOOKS_MAX);
	for (int i = 0; i < 6; i++)
		weir_store_close(lite_open());
	assert_int_equal(files_in_live(), 3);
	assert_true(sweep(store) <= 4);
	other_go_on(&living);
	assert_int_equal(other_end(&living), 0);
	weir_store_close(store);
}

/* One after the other: there are never many. */
TEST(the_killed_do_not_pile_up)
{
	for (int i = 0; i < 30; i++) {
		struct other holder = other_start(hold);

		other_await(&holder);
		other_kill(&holder);
		assert_true(files_in_live() <= 4);
	}
}

/* A child of a fork has a copy of the lock's descriptor, and must not keep the lock. The parent's
 * store and leases are not its own. */
TEST(a_child_keeps_no_lock_CHECKLIST_73)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, 0);
	pid_t child = fork();

	if (child == 0) {
		struct weir_lease *another;

		bool refused = lite_try(store, "a", &another) == -ESHUTDOWN &&
			       weir_renew(lease, 0) == -ESHUTDOWN &&
			       weir_release(lease) == -ESHUTDOWN && !weir_lease_held(lease) &&
			       weir_lease_bind_fd(lease) == -ESHUTDOWN;

		weir_lease_unref(lease);
		weir_store_close(store);
		_exit(refused ? 0 : 1);
	}
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

static bool must_end;

static void *be_busy(void *store)
{
	while (!__atomic_load_n(&must_end, __ATOMIC_RELAXED)) {
		struct weir_lease *lease = lite_acquire(store, "a", 1, 0);

		(void)weir_release(lease);
		weir_lease_unref(lease);
	}
	return NULL;
}

/* Whatever the parent's agent was doing. SIGALRM ends a child that hangs. */
TEST(a_child_can_open_the_file_for_itself_CHECKLIST_73)
{
	struct weir_store *store;
	pthread_t thread;

	/* ThreadSanitizer lets no child of a process with threads start one. */
	if (UNDER_TSAN)
		skip();
	store = lite_open();
	assert_int_equal(weir_ensure(store, "b", 1), 1);
	__atomic_store_n(&must_end, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, be_busy, store), 0);
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			struct weir_store *mine;
			struct weir_lease *lease;

			(void)alarm(30);
			if (weir_store_open(lite_url, &mine) < 0 ||
			    lite_try(mine, "b", &lease) < 0 || weir_release(lease) < 0)
				_exit(1);
			weir_lease_unref(lease);
			weir_store_close(mine);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	__atomic_store_n(&must_end, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	weir_store_close(store);
}

other_fn *const other_parts[] = {
	hold,          wait_then_say,   wait_long,    hold_shortly, hold_bound,
	hold_detached, hold_until_lost, ask_too_much, be_many,      NULL,
};

int main(int argc, char **argv)
{
	other_run(argc, argv);

	const struct CMUnitTest tests[] = {
		SLOW_TEST(a_release_here_grants_there_L8),
		SLOW_TEST(a_killed_holder_is_seen_by_who_waits_L11),
		SLOW_TEST(a_killed_holder_does_not_turn_a_try_away_L11),
		SLOW_TEST(a_killed_waiter_is_passed_over_CHECKLIST_94),
		SLOW_TEST(many_die_at_once_L11),
		SLOW_TEST(a_waiter_that_became_too_heavy_is_told_CHECKLIST_18),
		SLOW_TEST(a_stopped_holder_loses_its_lease_CHECKLIST_35),
		SLOW_TEST(a_pid_that_was_given_again_is_another_process),
		SLOW_TEST(a_process_elsewhere_lives_while_its_socket_does),
		LITE_TEST(lost_messages_cost_a_heartbeat_CHECKLIST_55),
		LITE_TEST(a_silent_waiter_asks_again_CHECKLIST_37),
		SLOW_TEST(a_bound_lease_is_kept_by_the_family_CHECKLIST_90),
		SLOW_TEST(a_release_ends_the_binding),
		SLOW_TEST(a_detached_lease_outlives_its_process),
		SLOW_TEST(an_evicted_holder_is_told),
		SLOW_TEST(a_lease_that_two_processes_have_outlives_one_of_them_L4_L5),
		SLOW_TEST(a_retry_of_the_dead_is_the_holder_L6),
		SLOW_TEST(leftovers_of_the_dead_are_swept),
		SLOW_TEST(each_open_sweeps_a_little),
		SLOW_TEST(the_killed_do_not_pile_up),
		SLOW_TEST(a_child_keeps_no_lock_CHECKLIST_73),
		SLOW_TEST(a_child_can_open_the_file_for_itself_CHECKLIST_73),
	};

	return RUN_TESTS(tests);
}

/* store/sqlite: whose a lease is: a family's, nobody's, that of two processes; and not a child's.
 */
#include "support/other.h"
#include "support/sanitizers.h"

#include <pthread.h>

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
	waiter = other_start(other_waits);
	lite_await("SELECT waiting FROM semaphore", 1);
	usleep(60000);
	assert_int_equal(lite_try(store, "a", &lease), -EAGAIN);
	other_go_on(&holder); /* the last one with the descriptor ends */
	other_finish(&waiter);
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
	lite_release(lease);
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
	other_finish(&holder);
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

/* ---- forks ----------------------------------------------------------------------------------- */

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
	lite_release(lease);
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

	/* ThreadSanitizer lets no child of a process with threads start one, and AddressSanitizer's
	 * allocator may be locked in the child by a thread that only the parent has. */
	if (UNDER_TSAN || UNDER_ASAN)
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
	other_waits, hold_bound, hold_detached, hold_until_lost, NULL,
};

int main(int argc, char **argv)
{
	other_run(argc, argv);

	const struct CMUnitTest tests[] = {
		OTHER_TEST(a_bound_lease_is_kept_by_the_family_CHECKLIST_90),
		OTHER_TEST(a_release_ends_the_binding),
		OTHER_TEST(a_detached_lease_outlives_its_process),
		OTHER_TEST(an_evicted_holder_is_told),
		OTHER_TEST(a_lease_that_two_processes_have_outlives_one_of_them_L4_L5),
		OTHER_TEST(a_retry_of_the_dead_is_the_holder_L6),
		OTHER_TEST(a_child_keeps_no_lock_CHECKLIST_73),
		OTHER_TEST(a_child_can_open_the_file_for_itself_CHECKLIST_73),
	};

	return RUN_TESTS(tests);
}

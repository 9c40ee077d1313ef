/* store/sqlite: several processes wait for each other, and some of them die (L8, L11, CHECKLIST
 * 94). */
#include "support/other.h"

TEST(a_release_here_grants_there_L8)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, 0);
	struct other other = other_start(other_waits);

	lite_await("SELECT waiting FROM semaphore", 1);
	lite_release(lease);
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
	struct other holder = other_start(other_holds);
	struct other waiter;

	other_await(&holder);
	waiter = other_start(other_waits);
	lite_await("SELECT waiting FROM semaphore", 1);
	other_kill(&holder);
	other_finish(&waiter);
	weir_store_close(store);
}

TEST(a_killed_holder_does_not_turn_a_try_away_L11)
{
	struct weir_store *store = lite_open();
	struct other holder = other_start(other_holds);
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
	struct other holder = other_start(other_holds);
	struct other first, second;

	other_await(&holder);
	first = other_start(other_waits);
	lite_await("SELECT waiting FROM semaphore", 1);
	second = other_start(other_waits);
	lite_await("SELECT waiting FROM semaphore", 2);
	other_kill(&first);
	lite_await("SELECT waiting FROM semaphore", 1);
	other_kill(&holder);
	other_finish(&second);
	weir_store_close(store);
}

/* Both at once, and several in between: nobody is left to tell anybody. */
TEST(many_die_at_once_L11)
{
	struct weir_store *store = lite_open();
	struct other others[6];
	struct other last;

	others[0] = other_start(other_holds);
	other_await(&others[0]);
	for (int i = 1; i < 6; i++) {
		others[i] = other_start(other_waits);
		lite_await("SELECT waiting FROM semaphore", i);
	}
	last = other_start(other_waits);
	lite_await("SELECT waiting FROM semaphore", 6);
	for (int i = 5; i >= 0; i--)
		kill(others[i].pid, SIGKILL);
	other_finish(&last);
	for (int i = 0; i < 6; i++)
		(void)other_end(&others[i]);
	assert_int_equal(lite_sql("SELECT count(*) FROM claim"), 0);
	assert_int_equal(lite_sql("SELECT held + waiting FROM semaphore"), 0);
	weir_store_close(store);
}

static void ask_too_much(int from, int to)
{
	struct weir_store *store = lite_open();
	struct weir_request request = { .name = "a", .weight = 2, .deadline = OTHER_LONG };
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
	lite_release(lease);
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
	lease = lite_acquire(store, "a", 1, OTHER_LONG);
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
	struct other holder = other_start(other_holds);
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
	struct other holder = other_start(other_holds);
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
	waiter = other_start(other_waits);
	lite_await("SELECT waiting FROM semaphore", 1);
	remove_sockets();
	lite_release(lease);
	other_finish(&waiter);
	weir_store_close(store);
}

static void wait_long(int from, int to)
{
	strcpy(strstr(lite_url, "?"), "?heartbeat=20ms");
	other_waits(from, to);
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
	lite_release(lease);
	other_finish(&waiter);
	weir_store_close(store);
}

other_fn *const other_parts[] = {
	other_holds, other_waits, wait_long, hold_shortly, ask_too_much, NULL,
};

int main(int argc, char **argv)
{
	other_run(argc, argv);

	const struct CMUnitTest tests[] = {
		OTHER_TEST(a_release_here_grants_there_L8),
		OTHER_TEST(a_killed_holder_is_seen_by_who_waits_L11),
		OTHER_TEST(a_killed_holder_does_not_turn_a_try_away_L11),
		OTHER_TEST(a_killed_waiter_is_passed_over_CHECKLIST_94),
		OTHER_TEST(many_die_at_once_L11),
		OTHER_TEST(a_waiter_that_became_too_heavy_is_told_CHECKLIST_18),
		OTHER_TEST(a_stopped_holder_loses_its_lease_CHECKLIST_35),
		OTHER_TEST(a_pid_that_was_given_again_is_another_process),
		OTHER_TEST(a_process_elsewhere_lives_while_its_socket_does),
		LITE_TEST(lost_messages_cost_a_heartbeat_CHECKLIST_55),
		LITE_TEST(a_silent_waiter_asks_again_CHECKLIST_37),
	};

	return RUN_TESTS(tests);
}

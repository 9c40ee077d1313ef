/* chaos: every fault that a PostgreSQL server can have, one at a time and several at once.
 *
 *     postgres_faults URL DIRECTORY PORT [SEED]
 *
 * DIRECTORY has the server's socket and, below data, its files; the server is started again when it
 * ends. What is done to the server is done by psql and by signals. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/client.h"

static const char *url, *directory, *port;
static struct weir_store *store;

static int psql(const char *statement)
{
	char command[2000];

	(void)snprintf(command, sizeof(command),
		       "psql -X -q -v ON_ERROR_STOP=1 -h %s -p %s -U root -d postgres -c \"%s\" "
		       ">/dev/null 2>&1",
		       directory, port, statement);
	return system(command);
}

static struct weir_store *open_store(const char *options)
{
	char whole[600];

	(void)snprintf(whole, sizeof(whole), "%s%cmin_ttl=10ms&heartbeat=100ms%s", url,
		       strchr(url, '?') != NULL ? '&' : '?', options);
	return open_url(whole);
}

/* ---- what the server may answer -------------------------------------------------------------- */

/* From now on, `times` attempts to write a lease end with an error of this code, whose text an
 * expression says. A sequence counts them, for it is not rolled back. */
static void break_server_with(const char *code, int times, const char *text)
{
	char statement[1100];

	(void)snprintf(
		statement, sizeof(statement),
		"DROP SEQUENCE IF EXISTS weir.faults CASCADE; CREATE SEQUENCE weir.faults; "
		"CREATE OR REPLACE FUNCTION weir.fault() RETURNS trigger LANGUAGE plpgsql AS "
		"\\$\\$BEGIN IF nextval('weir.faults') <= %d THEN RAISE EXCEPTION '%%', %s "
		"USING ERRCODE = '%s'; END IF; RETURN NEW; END\\$\\$; "
		"DROP TRIGGER IF EXISTS fault ON weir.holder; CREATE TRIGGER fault BEFORE "
		"INSERT OR UPDATE ON weir.holder FOR EACH ROW EXECUTE FUNCTION weir.fault(); "
		"DROP TRIGGER IF EXISTS fault ON weir.semaphore; CREATE TRIGGER fault BEFORE "
		"UPDATE OF sole ON weir.semaphore FOR EACH ROW EXECUTE FUNCTION weir.fault()",
		times, text, code);
	assert_int_equal(psql(statement), 0);
}

static void break_server(const char *code, int times)
{
	break_server_with(code, times, "'injected'");
}

static const struct {
	const char *code;
	int expected;
} answers[] = {
	{ "40001", 0 }, /* CHECKLIST 63 */
	{ "40P01", 0 },
	{ "55P03", 0 },
	{ "57014", 0 },
	{ "53100", 0 },
	{ "53200", 0 },
	{ "53300", 0 }, /* CHECKLIST 70 */
	{ "54000", 0 }, /* too many notifications */
	{ "57P01", 0 },
	{ "57P02", 0 },
	{ "08006", 0 },
	{ "25006", 0 },
	{ "42501", -EHOSTUNREACH },
	{ "XX000", -EPROTO },
	{ "22012", -EPROTO },
};

TEST(every_answer_is_classified_CHECKLIST_63)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const char *name = fresh_name();
		struct weir_lease *lease;

		assert_int_equal(weir_ensure(store, name, 1), 1);
		break_server(answers[i].code, 1);
		if (acquire(store, name, 0, &lease) != answers[i].expected)
			fail_msg("%s: %s", answers[i].code, weir_store_error(NULL));
		if (answers[i].expected == 0) {
			let_go(lease);
		} else {
			error_says("injected");
		}
		assert_int_equal(look(store, name).held, 0);
	}
	break_server("40001", 0);
}

/* What was asked when a connection was lost is asked again, whatever the server had said before it
 * went: that says nothing about the answers of the next connection. Whoever reads the text makes
 * the server say 22P02, and end the connection then. */
TEST(an_error_goes_with_its_connection_L6_CHECKLIST_63)
{
	const char *name = fresh_name();
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	break_server_with("22P02", 1, "pg_terminate_backend(pg_backend_pid())::text::integer");
	if (acquire(store, name, 0, &lease) != 0)
		fail_msg("%s", weir_store_error(NULL));
	let_go(lease);
	assert_int_equal(look(store, name).held, 0);
	break_server("40001", 0);
}

TEST(a_server_that_cannot_for_long_is_given_up)
{
	struct weir_store *impatient = open_store("&attempts=2&min_delay=10ms");
	struct weir_lease *lease;

	break_server("40001", 1000);
	assert_int_equal(acquire(impatient, fresh_name(), 0, &lease), -EHOSTUNREACH);
	error_says("40001");
	break_server("40001", 0);
	weir_store_close(impatient);
}

/* CHECKLIST 64: somebody sits on the row of a semaphore for a while. */
TEST(a_row_that_is_locked_is_waited_for)
{
	char statement[200], name[40];
	struct weir_store *in =
		open_store("&timeout=400ms&min_delay=10ms&max_delay=50ms&attempts=100");
	struct weir_lease *lease, *other;

	(void)snprintf(name, sizeof(name), "%s", fresh_name());
	assert_int_equal(weir_ensure(in, name, 1), 1);
	(void)snprintf(statement, sizeof(statement),
		       "BEGIN; SELECT FROM weir.semaphore WHERE name = '%s' FOR UPDATE; SELECT "
		       "pg_sleep(1.5)",
		       name);
	pid_t locker = fork();

	if (locker == 0)
		_exit(psql(statement) == 0 ? 0 : 1);
	nap(300);
	assert_int_equal(acquire(in, name, 0, &lease), 0);
	assert_int_equal(acquire(in, fresh_name(), 0, &other), 0);
	assert_int_equal(weir_release(lease), 0);
	assert_int_equal(weir_release(other), 0);
	assert_int_equal(waitpid(locker, NULL, 0), locker);
	weir_lease_unref(lease);
	weir_lease_unref(other);
	weir_store_close(in);
}

/* ---- somebody sits on a row ------------------------------------------------------------------ */

static const char sitting[] = "SELECT pg_sleep(60)";

/* Until it is let go. */
static pid_t sit_on(const char *name)
{
	char statement[200];
	pid_t pid = fork();

	if (pid == 0) {
		(void)snprintf(statement, sizeof(statement),
			       "BEGIN; SELECT FROM weir.semaphore WHERE name = '%s' FOR UPDATE; %s",
			       name, sitting);
		_exit(psql(statement) == 0 ? 0 : 1);
	}
	(void)snprintf(statement, sizeof(statement),
		       "SELECT FROM weir.semaphore WHERE name = '%s' FOR UPDATE NOWAIT", name);
	while (psql(statement) == 0)
		nap(10);
	return pid;
}

static void stand_up(pid_t pid)
{
	char statement[200];

	(void)snprintf(statement, sizeof(statement),
		       "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE "
		       "'BEGIN;%%%s' AND pid <> pg_backend_pid()",
		       sitting);
	assert_int_equal(psql(statement), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

enum { SITTERS = 3, OTHERS = 5 };

struct stuck {
	struct weir_store *in;
	const char *name;
	int result;
	bool done;
};

static void *ask_for_it(void *arg)
{
	struct stuck *stuck = arg;
	struct weir_lease *lease;

	stuck->result = acquire(stuck->in, stuck->name, WEIR_NEVER, &lease);
	__atomic_store_n(&stuck->done, true, __ATOMIC_SEQ_CST);
	if (stuck->result == 0)
		let_go(lease);
	return NULL;
}

static void begin_to_ask(struct weir_store *in, const char *name, struct stuck *stuck,
			 pthread_t *threads)
{
	for (int i = 0; i < SITTERS; i++) {
		stuck[i] = (struct stuck){ .in = in, .name = name };
		assert_int_equal(pthread_create(&threads[i], NULL, ask_for_it, &stuck[i]), 0);
	}
}

/* Those who ask under another name wait for no longer than a lock may take, and what they hold is
 * renewed; whoever asks under this one, or waits there, is served when the row is free. */
static void sit_while_others_ask(bool have_waiters)
{
	struct weir_store *in =
		open_store("&timeout=400ms&min_delay=20ms&max_delay=50ms&attempts=1000");
	char name[40], kept_name[40];
	struct weir_request request = {
		.name = kept_name, .limit = 1, .ttl = 3 * WEIR_SECOND, .keepalive = true
	};
	struct stuck stuck[SITTERS];
	pthread_t threads[SITTERS];
	struct weir_lease *kept, *other, *first = NULL;
	pid_t sitter;

	(void)snprintf(name, sizeof(name), "%s", fresh_name());
	(void)snprintf(kept_name, sizeof(kept_name), "%s", fresh_name());
	assert_int_equal(weir_ensure(in, name, 1), 1);
	assert_int_equal(weir_acquire(in, &request, &kept), 0);
	if (have_waiters) {
		assert_int_equal(acquire(in, name, 0, &first), 0);
		begin_to_ask(in, name, stuck, threads);
		while (look(in, name).waiting != SITTERS)
			nap(10);
	}
	sitter = sit_on(name);
	if (!have_waiters)
		begin_to_ask(in, name, stuck, threads);
	nap(4000); /* for longer than the TTL of what is kept */
	for (int i = 0; i < OTHERS; i++) {
		assert_int_equal(acquire(in, fresh_name(), 0, &other), 0);
		let_go(other);
	}
	for (int i = 0; i < SITTERS; i++)
		assert_false(__atomic_load_n(&stuck[i].done, __ATOMIC_SEQ_CST));
	let_go(kept);
	stand_up(sitter);
	if (first != NULL)
		let_go(first);
	for (int i = 0; i < SITTERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(stuck[i].result, 0);
	}
	nothing_is_left(in, name);
	weir_store_close(in);
}

TEST(a_row_that_is_locked_holds_up_nobody_else_CHECKLIST_64)
{
	sit_while_others_ask(false);
}

TEST(nor_do_those_who_wait_there_CHECKLIST_64)
{
	sit_while_others_ask(true);
}

/* Whoever cannot wait for it any longer is told, and nobody else is. */
TEST(a_row_that_is_locked_for_long_is_given_up)
{
	struct weir_store *in =
		open_store("&timeout=200ms&min_delay=10ms&max_delay=20ms&attempts=3");
	char name[40];
	struct weir_lease *lease;
	pid_t sitter;

	(void)snprintf(name, sizeof(name), "%s", fresh_name());
	assert_int_equal(weir_ensure(in, name, 1), 1);
	sitter = sit_on(name);
	assert_int_equal(acquire(in, name, 0, &lease), -EHOSTUNREACH);
	error_says("55P03");
	assert_int_equal(acquire(in, fresh_name(), 0, &lease), 0);
	let_go(lease);
	stand_up(sitter);
	assert_int_equal(acquire(in, name, 0, &lease), 0);
	let_go(lease);
	weir_store_close(in);
}

/* ---- a server that is killed ----------------------------------------------------------------- */

enum { WORKERS = 8, STORM_SECONDS = 4 };

struct storm {
	bool stop;
	int inside, most_inside, entered, lost;
	char name[40];
};

static void *work(void *arg)
{
	struct storm *storm = arg;

	while (!__atomic_load_n(&storm->stop, __ATOMIC_RELAXED)) {
		struct weir_request request = { .name = storm->name,
						.deadline = WEIR_NEVER,
						.ttl = 20 * WEIR_SECOND };
		struct weir_lease *lease;
		int inside;

		if (weir_acquire(store, &request, &lease) < 0) {
			(void)__atomic_add_fetch(&storm->lost, 1, __ATOMIC_RELAXED);
			continue;
		}
		inside = __atomic_add_fetch(&storm->inside, 1, __ATOMIC_SEQ_CST);
		if (inside > __atomic_load_n(&storm->most_inside, __ATOMIC_RELAXED))
			__atomic_store_n(&storm->most_inside, inside, __ATOMIC_RELAXED);
		(void)__atomic_add_fetch(&storm->entered, 1, __ATOMIC_RELAXED);
		(void)__atomic_sub_fetch(&storm->inside, 1, __ATOMIC_SEQ_CST);
		(void)weir_release(lease);
		weir_lease_unref(lease);
	}
	return NULL;
}

static void storm_with(void (*harm)(void), long every_ms)
{
	struct storm storm = { 0 };
	pthread_t threads[WORKERS];

	(void)snprintf(storm.name, sizeof(storm.name), "%s", fresh_name());
	assert_int_equal(weir_ensure(store, storm.name, 2), 1);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, &storm), 0);
	for (long passed = 0; passed < STORM_SECONDS * 1000; passed += every_ms) {
		nap(every_ms);
		harm();
	}
	__atomic_store_n(&storm.stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++)
		(void)pthread_join(threads[i], NULL);
	(void)printf("%d entered, %d turned away\n", storm.entered, storm.lost);
	assert_true(storm.entered > 20);
	assert_true(storm.most_inside <= 2); /* L1 */
	/* L6: nothing is left of what was asked for twice. */
	nothing_is_left(store, storm.name);
}

static void kill_backends(void)
{
	(void)psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name "
		   "= 'weir'");
}

TEST(connections_that_are_killed_lose_nothing_L1_L6)
{
	storm_with(kill_backends, 150);
}

static pid_t postmaster(void)
{
	char path[300];
	int pid = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/data/postmaster.pid", directory);
	file = fopen(path, "r");
	if (file != NULL) {
		if (fscanf(file, "%d", &pid) != 1)
			pid = 0;
		(void)fclose(file);
	}
	return pid;
}

static void kill_server(void)
{
	pid_t pid = postmaster();

	if (pid > 1)
		(void)kill(pid, SIGKILL);
}

/* Returns when another one answers; before that, a process of the old one still may. */
static void replace_server(void)
{
	pid_t old = postmaster();

	kill_server();
	while (postmaster() == old || psql("SELECT 1") != 0)
		nap(20);
}

static void crash_a_backend(void)
{
	(void)psql("COPY (SELECT 1) TO PROGRAM 'kill -9 \\$PPID'");
}

TEST(a_server_that_is_killed_loses_nothing_L1_L6_L11)
{
	storm_with(kill_server, 2000);
}

TEST(a_server_process_that_crashes_takes_nothing_with_it_L1_L6)
{
	storm_with(crash_a_backend, 1000);
}

TEST(a_lease_outlives_the_server_that_granted_it)
{
	const char *name = fresh_name();
	struct weir_lease *lease;

	assert_int_equal(acquire(store, name, 0, &lease), 0);
	replace_server();
	assert_int_equal(weir_renew(lease, 0), 0);
	assert_int_equal(look(store, name).held, 1);
	let_go(lease);
}

/* Without the disk's word, a crash loses the last grants; whoever is told that in the middle of a
 * connection goes on as it began, for a semaphore remembers how its last grants were made. */
TEST(a_setting_that_changes_meanwhile_loses_no_fence_L2)
{
	char name[40];
	struct weir_lease_info before, after;
	struct weir_lease *lease;

	(void)snprintf(name, sizeof(name), "%s", fresh_name());
	assert_int_equal(acquire(store, name, 0, &lease), 0);
	let_go(lease);
	assert_int_equal(psql("ALTER SYSTEM SET wal_writer_delay = '10s'"), 0);
	assert_int_equal(psql("ALTER SYSTEM SET synchronous_commit = off"), 0);
	assert_int_equal(psql("SELECT pg_reload_conf()"), 0);
	/* Sessions are told before one that begins with it can. */
	while (psql("SELECT 1 / (current_setting('synchronous_commit') = 'off')::integer") != 0)
		nap(10);
	assert_int_equal(acquire(store, name, 0, &lease), 0);
	weir_lease_get(lease, &before);
	let_go(lease);
	replace_server();
	assert_int_equal(acquire(store, name, 0, &lease), 0);
	weir_lease_get(lease, &after);
	let_go(lease);
	assert_true(after.fence > before.fence);
	assert_int_equal(psql("ALTER SYSTEM RESET ALL"), 0);
	assert_int_equal(psql("SELECT pg_reload_conf()"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_answer_is_classified_CHECKLIST_63),
		cmocka_unit_test(an_error_goes_with_its_connection_L6_CHECKLIST_63),
		cmocka_unit_test(a_server_that_cannot_for_long_is_given_up),
		cmocka_unit_test(a_row_that_is_locked_is_waited_for),
		cmocka_unit_test(a_row_that_is_locked_holds_up_nobody_else_CHECKLIST_64),
		cmocka_unit_test(nor_do_those_who_wait_there_CHECKLIST_64),
		cmocka_unit_test(a_row_that_is_locked_for_long_is_given_up),
		cmocka_unit_test(connections_that_are_killed_lose_nothing_L1_L6),
		cmocka_unit_test(a_server_process_that_crashes_takes_nothing_with_it_L1_L6),
		cmocka_unit_test(a_server_that_is_killed_loses_nothing_L1_L6_L11),
		cmocka_unit_test(a_lease_outlives_the_server_that_granted_it),
		cmocka_unit_test(a_setting_that_changes_meanwhile_loses_no_fence_L2),
	};
	int failed;

	if (argc < 4)
		return 2;
	url = argv[1];
	directory = argv[2];
	port = argv[3];
	store = open_store("&attempts=50&max_delay=500ms");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	weir_store_close(store);
	return failed;
}

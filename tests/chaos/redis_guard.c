/* chaos: a server that comes back as somebody else.
 *
 *     redis_guard redis://127.0.0.1:PORT DIRECTORY
 *
 * The server writes everything to its disk before it answers, and is started again when it ends: so
 * nothing is ever lost here, and the question is who may know that. */
#include <errno.h>
#include <pthread.h>

#include "chaos/client.h"
#include "chaos/servers.h"

enum { SERVER = -1 };
#define TTL (2 * WEIR_SECOND)

static const char *url;

static struct weir_store *open_store(const char *options)
{
	struct weir_store *opened = NULL;
	char text[300];

	(void)snprintf(text, sizeof(text),
		       "%s?min_ttl=10ms&heartbeat=100ms&attempts=100&max_delay=100ms%s", url,
		       options);
	if (weir_store_open(text, &opened) < 0)
		fail_msg("%s", weir_store_error(NULL));
	return opened;
}

/* Held and released, so that nothing but the guard is in the way of the next one. */
static const char *used_name(struct weir_store *store)
{
	const char *name = fresh_name();
	struct weir_lease *lease;

	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	let_go(lease);
	return name;
}

static void start_again(void)
{
	const char *info = cli(SERVER, "info server");
	long before = number_in(info, "process_id:"), now;

	assert_true(kill_server(SERVER));
	do
		now = number_in(cli(SERVER, "info server"), "process_id:");
	while (now == 0 || now == before);
	while (strcmp(cli(SERVER, "ping"), "PONG") != 0)
		nap(1);
}

TEST(a_lease_that_is_known_goes_on_and_nobody_else_is_granted)
{
	struct weir_store *store = open_store("");
	const char *name = fresh_name();
	struct weir_lease *lease;
	weir_time began;

	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	start_again();
	began = weir_now();
	assert_int_equal(weir_renew(lease, TTL), 0);
	let_go(lease);
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), -EAGAIN);
	assert_int_equal(acquire_for(store, name, TTL, weir_after(20 * WEIR_SECOND), &lease), 0);
	assert_true(weir_now() - began >= TTL);
	let_go(lease);
	weir_store_close(store);
}

/* The semaphore remembers, whoever asks. */
TEST(a_newcomer_waits_as_well)
{
	struct weir_store *store = open_store("");
	const char *name = used_name(store);
	struct weir_lease *lease;

	weir_store_close(store);
	start_again();
	store = open_store("");
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), -EAGAIN);
	weir_store_close(store);
	store = open_store("&failover=continue"); /* nor does it undo what others have begun */
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), -EAGAIN);
	weir_store_close(store);
}

TEST(a_server_that_is_durable_goes_on_at_once)
{
	struct weir_store *store = open_store("&failover=durable");
	const char *name = used_name(store);
	struct weir_lease *lease;

	start_again();
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	start_again();
	assert_int_equal(weir_renew(lease, 0), 0);
	let_go(lease);
	assert_int_equal(acquire_for(store, fresh_name(), TTL, 0, &lease),
			 0); /* a new name neither waits */
	let_go(lease);
	weir_store_close(store);
}

/* Who may not see how it writes cannot rely on it; nor can anybody on one that has stopped to. */
TEST(what_is_not_shown_is_not_believed)
{
	struct weir_store *store = open_store("&failover=durable");
	const char *name = used_name(store);
	struct weir_lease *lease;

	weir_store_close(store);
	start_again();
	(void)cli(SERVER, "config set appendfsync everysec");
	store = open_store("&failover=durable");
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), -EAGAIN);
	weir_store_close(store);
	(void)cli(SERVER, "config set appendfsync always");

	store = open_store("&failover=durable");
	name = used_name(store);
	weir_store_close(store);
	start_again();
	(void)cli(SERVER, "acl setuser default -config");
	store = open_store("&failover=durable");
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), -EAGAIN);
	weir_store_close(store);
	start_again();
}

TEST(one_that_goes_on_does_not_wait)
{
	struct weir_store *store = open_store("&failover=continue");
	const char *name = used_name(store);
	struct weir_lease *lease;

	start_again();
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	let_go(lease);
	weir_store_close(store);
}

/* The same process, but its data may have been replaced by another one's. */
TEST(one_that_was_a_replica_is_another)
{
	struct weir_store *store = open_store("");
	const char *name = used_name(store);
	struct weir_lease *lease;

	(void)cli(SERVER, "replicaof 127.0.0.1 1");
	(void)cli(SERVER, "replicaof no one");
	(void)cli(SERVER, "client kill type normal");
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), -EAGAIN);
	weir_store_close(store);
	start_again();
}

/* It draws another replication id when it has had no replicas for long. Nothing was lost. */
TEST(one_that_was_no_replica_is_the_same)
{
	struct weir_store *idle = open_store("");
	struct weir_store *store = open_store("");
	const char *name = used_name(idle);
	struct weir_lease *lease;

	(void)cli(SERVER, "debug change-repl-id");
	assert_int_equal(acquire_for(idle, name, TTL, 0, &lease), 0); /* and does not know it yet */
	let_go(lease);
	weir_store_close(store);
	store = open_store("");
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	let_go(lease);
	assert_int_equal(acquire_for(idle, name, TTL, 0, &lease), 0);
	let_go(lease);
	weir_store_close(store);
	weir_store_close(idle);
}

/* Lets the server load as fast as it can, once it has turned somebody away. */
static void *let_it_load(void *argument)
{
	(void)argument;
	while (strstr(cli(SERVER, "info errorstats"), "errorstat_LOADING") == NULL)
		nap(1);
	(void)cli(SERVER, "config set key-load-delay 0");
	return NULL;
}

/* It reads its file for many seconds, unless it is told to hurry, and answers LOADING. */
TEST(a_server_that_loads_is_waited_for)
{
	struct weir_store *store = open_store("");
	const char *name = fresh_name();
	struct weir_lease *lease, *other;
	pthread_t thread;

	assert_int_equal(acquire_for(store, name, 600 * WEIR_SECOND, 0, &lease), 0);
	(void)cli(SERVER, "eval 'for i = 1, 100000 do redis.call(\"set\", i, i) end' 0");
	(void)cli(SERVER, "config resetstat");
	(void)cli(SERVER, "config set key-load-delay 100");
	(void)cli(SERVER, "debug loadaof >/dev/null 2>&1 &");
	while (number_in(cli(SERVER, "info persistence"), "\nloading:") == 0)
		nap(1);
	assert_int_equal(pthread_create(&thread, NULL, let_it_load, NULL), 0);
	assert_int_equal(acquire_for(store, fresh_name(), TTL, 0, &other), 0);
	(void)pthread_join(thread, NULL);
	let_go(other);
	let_go(lease); /* it was in the file */
	weir_store_close(store);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_that_is_known_goes_on_and_nobody_else_is_granted),
		cmocka_unit_test(a_newcomer_waits_as_well),
		cmocka_unit_test(a_server_that_is_durable_goes_on_at_once),
		cmocka_unit_test(what_is_not_shown_is_not_believed),
		cmocka_unit_test(one_that_goes_on_does_not_wait),
		cmocka_unit_test(one_that_was_a_replica_is_another),
		cmocka_unit_test(one_that_was_no_replica_is_the_same),
		cmocka_unit_test(a_server_that_loads_is_waited_for),
	};

	if (argc < 3)
		return 2;
	url = argv[1];
	servers_are_in(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

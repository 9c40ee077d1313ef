/* chaos: what a real Redis server answers when it cannot, or will not.
 *
 *     redis_server redis://127.0.0.1:PORT DIRECTORY
 *
 * It is started again when it ends. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/client.h"
#include "chaos/servers.h"

enum { SERVER = -1 };

static const char *place; /* host and port */
static const char *directory;
static struct weir_store *direct;

static int open_as(const char *login, const char *options, struct weir_store **ret)
{
	char url[400];

	(void)snprintf(url, sizeof(url), "redis://%s%s?min_ttl=10ms&heartbeat=100ms%s%s", login,
		       place, options[0] != '\0' ? "&" : "", options);
	return weir_store_open(url, ret);
}

TEST(a_server_without_memory_says_so_and_recovers)
{
	const char *name = fresh_name();
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(direct, name, 1), 1);
	(void)cli(SERVER, "config set maxmemory 1");
	assert_int_equal(acquire(direct, name, 0, &lease), -EHOSTUNREACH);
	error_says("OOM");
	(void)cli(SERVER, "config set maxmemory 0");
	assert_int_equal(acquire(direct, name, 0, &lease), 0);
	let_go(lease);
}

static void save(const char *status)
{
	(void)cli(SERVER, "bgsave");
	while (strstr(cli(SERVER, "info persistence"), "rdb_bgsave_in_progress:1") != NULL)
		nap(1);
	assert_non_null(strstr(cli(SERVER, "info persistence"), status));
}

/* A directory is where its file should be. */
TEST(a_server_that_cannot_save_says_so_and_recovers)
{
	const char *name = fresh_name();
	struct weir_lease *lease;
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/dump.rdb", directory);
	assert_int_equal(weir_ensure(direct, name, 1), 1);
	(void)cli(SERVER, "config set save '3600 1000000'");
	assert_int_equal(mkdir(path, 0700), 0);
	save("rdb_last_bgsave_status:err");
	assert_int_equal(acquire(direct, name, 0, &lease), -EHOSTUNREACH);
	error_says("MISCONF");
	assert_int_equal(rmdir(path), 0);
	save("rdb_last_bgsave_status:ok");
	assert_int_equal(acquire(direct, name, 0, &lease), 0);
	let_go(lease);
	(void)cli(SERVER, "config set save ''");
	assert_int_equal(unlink(path), 0);
}

/* Ends what keeps the server from answering, when somebody has been turned away. */
static void *relieve(void *argument)
{
	nap(100);
	while (strcmp(cli(SERVER, "%s", (const char *)argument), "OK") != 0)
		nap(1);
	return NULL;
}

TEST(a_server_that_is_busy_is_waited_for)
{
	const char *name = fresh_name();
	struct weir_lease *lease;
	pthread_t thread;

	assert_int_equal(weir_ensure(direct, name, 1), 1);
	(void)cli(SERVER, "config set lua-time-limit 10");
	(void)cli(SERVER, "eval 'while true do end' 0 >/dev/null 2>&1 &");
	assert_int_equal(pthread_create(&thread, NULL, relieve, (void *)"script kill"), 0);
	assert_int_equal(acquire(direct, name, 0, &lease), 0);
	(void)pthread_join(thread, NULL);
	let_go(lease);
}

TEST(a_server_that_becomes_a_replica_is_left_until_it_is_none)
{
	const char *name = fresh_name();
	struct weir_store *mine = NULL;
	struct weir_lease *lease;
	pthread_t thread;

	assert_int_equal(open_as("", "attempts=100&max_delay=50ms&failover=continue", &mine), 0);
	assert_int_equal(weir_ensure(mine, name, 1), 1);
	(void)cli(SERVER, "replicaof 127.0.0.1 1");
	assert_int_equal(pthread_create(&thread, NULL, relieve, (void *)"replicaof no one"), 0);
	assert_int_equal(acquire(mine, name, 0, &lease), 0);
	(void)pthread_join(thread, NULL);
	let_go(lease);
	weir_store_close(mine);
}

TEST(a_user_who_may_not_is_told_so)
{
	struct weir_store *mine = NULL;
	struct weir_lease *lease;

	(void)cli(SERVER, "acl setuser little reset on '>pw' '~weir:*' '&weir:*' +info");
	assert_int_equal(open_as("little:pw@", "", &mine), 0);
	assert_int_equal(acquire(mine, fresh_name(), 0, &lease), -EHOSTUNREACH);
	error_says("NOPERM");
	weir_store_close(mine);
	(void)cli(SERVER, "acl deluser little");
}

static int count_name(void *arg, const struct weir_sem_info *info)
{
	uint32_t *seen = arg;
	unsigned long number = strtoul(info->name, NULL, 10);

	assert_true(number < 100);
	seen[number]++;
	return 0;
}

/* Many questions are on their way when the first is answered that the script is not known. */
TEST(a_listing_survives_the_loss_of_its_script)
{
	const struct weir_visitor visitor = { .semaphore = count_name };
	struct weir_store *mine = NULL;
	uint32_t seen[100] = { 0 };
	char name[8];

	assert_int_equal(open_as("", "namespace=lost", &mine), 0);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(weir_ensure(mine, name, 1), 1);
	}
	assert_int_equal(weir_list(mine, NULL, 0, &visitor, seen), 0);
	(void)cli(SERVER, "script flush");
	assert_int_equal(weir_list(mine, NULL, 0, &visitor, seen), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(seen[i], 2);
	weir_store_close(mine);
}

static int set_up(void **state)
{
	(void)state;
	return open_as("", "attempts=50&max_delay=200ms", &direct);
}

static int tear_down(void **state)
{
	(void)state;
	weir_store_close(direct);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_without_memory_says_so_and_recovers),
		cmocka_unit_test(a_server_that_cannot_save_says_so_and_recovers),
		cmocka_unit_test(a_server_that_is_busy_is_waited_for),
		cmocka_unit_test(a_user_who_may_not_is_told_so),
		cmocka_unit_test(a_listing_survives_the_loss_of_its_script),
		cmocka_unit_test(a_server_that_becomes_a_replica_is_left_until_it_is_none),
	};

	if (argc < 3)
		return 2;
	place = argv[1] + strlen("redis://");
	directory = argv[2];
	servers_are_in(directory);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* chaos: a master whose sentinels make its replica master.
 *
 *     redis_sentinel redis+sentinel://HOST:PORT,HOST:PORT,HOST:PORT/main DIRECTORY
 *
 * The master is DIRECTORY/0, the replica DIRECTORY/1; whoever is killed stays dead. */
#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/lease.h>
#include <weir/store.h>

#include "chaos/servers.h"

#define TTL (8 * WEIR_SECOND) /* longer than it takes to find another master */
#define OPTIONS "min_ttl=10ms&heartbeat=200ms&attempts=100&max_delay=100ms"

static const char *url;

static struct weir_store *open_as(const char *format, const char *what)
{
	struct weir_store *opened = NULL;
	char text[500];

	(void)snprintf(text, sizeof(text), format, what);
	if (weir_store_open(text, &opened) < 0)
		fail_msg("%s: %s", text, weir_store_error(NULL));
	return opened;
}

static void refuses(const char *what, int error, const char *sentence)
{
	struct weir_store *none = NULL;

	assert_int_equal(weir_store_open(what, &none), error);
	assert_null(none);
	if (strstr(weir_store_error(NULL), sentence) == NULL)
		fail_msg("%s", weir_store_error(NULL));
}

static int acquire(struct weir_store *in, weir_time deadline, struct weir_lease **ret)
{
	struct weir_request request = { .name = "s", .limit = 1, .ttl = TTL, .deadline = deadline };

	return weir_acquire(in, &request, ret);
}

TEST(sentinels_that_cannot_help_are_told_of)
{
	char wrong[300];

	(void)snprintf(wrong, sizeof(wrong), "%sx?attempts=2&min_delay=1ms", url);
	refuses(wrong, -EHOSTUNREACH, "no master of that name");
	refuses("redis+sentinel://127.0.0.1:1/main?attempts=2&min_delay=1ms", -EHOSTUNREACH,
		"no sentinel can be reached");
	refuses("redis+sentinel://127.0.0.1:1", -EINVAL, "master");
	refuses("redis+sentinel://h,:p@/main", -EINVAL, "host");
	(void)snprintf(wrong, sizeof(wrong), "redis://127.0.0.1:%u,127.0.0.1:1", port_of(0));
	refuses(wrong, -EHOSTUNREACH, "no cluster");
}

TEST(another_sentinel_is_asked_when_one_is_dead)
{
	struct weir_store *store;
	char hosts[300];

	(void)snprintf(hosts, sizeof(hosts), "redis+sentinel://127.0.0.1:1,%s",
		       url + strlen("redis+sentinel://"));
	store = open_as("%s/0?" OPTIONS, hosts);
	assert_int_equal(weir_ensure(store, "another", 1), 1);
	weir_store_close(store);
}

/* The replica may not know all, so nobody is granted until the longest lease must be over; what is
 * known goes on. */
TEST(the_master_is_followed_after_a_failover)
{
	struct weir_store *store = open_as("%s?" OPTIONS, url);
	struct weir_store *reckless = open_as("%s?failover=continue&" OPTIONS, url);
	struct weir_lease *lease, *next;
	weir_time granted;

	assert_int_equal(acquire(store, 0, &lease), 0);
	assert_int_equal(weir_ensure(reckless, "reckless", 1), 1);
	granted = weir_now();
	await_replica(0);
	assert_true(kill_server(0));
	assert_int_equal(weir_renew(lease, TTL), 0);
	assert_int_equal(number_in(cli(1, "info replication"), "connected_slaves:"), 0);
	assert_non_null(strstr(cli(1, "info replication"), "role:master"));
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	assert_int_equal(acquire(store, 0, &lease), -EAGAIN);
	assert_int_equal(acquire(store, weir_after(30 * WEIR_SECOND), &next), 0);
	assert_true(weir_now() - granted >= TTL);
	assert_int_equal(weir_release(next), 0);
	weir_lease_unref(next);
	weir_store_close(reckless);
	weir_store_close(store);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentinels_that_cannot_help_are_told_of),
		cmocka_unit_test(another_sentinel_is_asked_when_one_is_dead),
		cmocka_unit_test(the_master_is_followed_after_a_failover),
	};

	if (argc < 3)
		return 2;
	url = argv[1];
	servers_are_in(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

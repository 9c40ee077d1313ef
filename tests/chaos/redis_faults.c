/* chaos: every fault that a Redis server or the way to it can have, one at a time and all at once.
 *
 *     redis_faults redis://127.0.0.1:PORT DIRECTORY [SEED]
 *
 * The server's own socket is DIRECTORY/s; it is started again when it ends. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "chaos/client.h"
#include "chaos/proxy.h"
#include "chaos/servers.h"

enum { SERVER = -1 };
#define CANARY "canary-7c1e"

static uint16_t server_port;
static struct proxy *proxy;
static struct weir_store *store;  /* through the proxy */
static struct weir_store *direct; /* not */
static uint64_t storm_seed = 1;

static int open_at(uint16_t port, const char *login, const char *options, struct weir_store **ret)
{
	char url[400];

	(void)snprintf(url, sizeof(url),
		       "redis://%s127.0.0.1:%u/0?min_ttl=10ms&heartbeat=100ms%s%s", login, port,
		       options[0] != '\0' ? "&" : "", options);
	return weir_store_open(url, ret);
}

/* ---- what the server may answer -------------------------------------------------------------- */

struct answer {
	const char *says;
	int expected;
	const char *sentence; /* has this in it */
};

static const struct answer answers[] = {
	{ "-NOSCRIPT No matching script.\r\n", 0, NULL },
	{ "-LOADING Redis is loading the dataset in memory\r\n", 0, NULL },
	{ "-BUSY Redis is busy running a script.\r\n", 0, NULL },
	{ "-TRYAGAIN Multiple keys request during rehashing of slot\r\n", 0, NULL },
	{ "-CLUSTERDOWN The cluster is down\r\n", 0, NULL },
	{ "-READONLY You can't write against a read only replica.\r\n", 0, NULL },
	{ "-MASTERDOWN Link with MASTER is down\r\n", 0, NULL },
	{ "-UNBLOCKED force unblock\r\n", 0, NULL },
	{ "-OOM command not allowed when used memory > 'maxmemory'.\r\n", -EHOSTUNREACH, "OOM" },
	{ "-MISCONF Redis is configured to save\r\n", -EHOSTUNREACH, "MISCONF" },
	{ "-NOPERM this user has no permissions\r\n", -EHOSTUNREACH, "NOPERM" },
	{ "-MOVED 1 127.0.0.1:1\r\n", -EHOSTUNREACH, "MOVED" }, /* it is no cluster */
	{ "-ASK 1 127.0.0.1:1\r\n", -EHOSTUNREACH, "ASK" },
	{ "-WRONGTYPE Operation against a key\r\n", -EPROTO, "foreign" },
	{ "-ERR something else\r\n", -EPROTO, "something else" },
	{ "*1\r\n:-9999\r\n", -EPROTO, "not understood" },
	{ "*2\r\n:0\r\n$3\r\nabc\r\n", -EPROTO, "not understood" },
	{ ":7\r\n", -EPROTO, "not understood" },
	{ ":0\r\n", -EPROTO, "not understood" },
	{ "$3\r\nabc\r\n", -EPROTO, "not understood" },
};

TEST(every_answer_is_classified)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const char *name = fresh_name();
		struct weir_lease *lease;

		assert_int_equal(weir_ensure(store, name, 1), 1);
		proxy_harm(proxy, SAY, 1, answers[i].says);
		if (acquire(store, name, 0, &lease) != answers[i].expected)
			fail_msg("%s: %s", answers[i].says, weir_store_error(NULL));
		if (answers[i].expected == 0) {
			let_go(lease);
		} else {
			error_says(answers[i].sentence);
			error_says("127.0.0.1:");
		}
		assert_int_equal(look(direct, name).held, 0);
	}
}

TEST(a_server_that_cannot_for_long_is_given_up)
{
	struct weir_lease *lease;

	proxy_harm(proxy, SAY, 1000, "-LOADING Redis is loading the dataset in memory\r\n");
	assert_int_equal(acquire(store, fresh_name(), 0, &lease), -EHOSTUNREACH);
	error_says("LOADING");
	proxy_harm(proxy, NO_HARM, 0, NULL);
}

TEST(nonsense_is_not_believed)
{
	const char *name = fresh_name();
	struct weir_lease *lease;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	proxy_harm(proxy, SAY, 1, "HTTP/1.1 400 Bad Request\r\n");
	assert_int_equal(acquire(store, name, 0, &lease), 0); /* it connects anew */
	let_go(lease);
}

/* ---- the way to it --------------------------------------------------------------------------- */

/* L6: whatever happens to the connection, one request is one lease, one release one release. */
TEST(outcomes_that_are_unknown_are_resolved_L6)
{
	for (enum harm harm = CUT_BEFORE; harm <= DELAY; harm++) {
		const char *name = fresh_name();
		struct weir_lease *lease;

		assert_int_equal(weir_ensure(direct, name, 1), 1);
		proxy_harm(proxy, harm, 1, NULL);
		assert_int_equal(acquire(store, name, 0, &lease), 0);
		assert_int_equal(look(direct, name).held, 1);
		assert_int_equal(look(direct, name).granted_at_once, 1);
		proxy_harm(proxy, harm, 1, NULL);
		assert_int_equal(weir_renew(lease, 0), 0);
		proxy_harm(proxy, harm, 1, NULL);
		assert_int_equal(weir_release(lease), 0);
		assert_int_equal(look(direct, name).held, 0);
		assert_int_equal(weir_release(lease), -ESTALE);
		weir_lease_unref(lease);
	}
}

TEST(a_server_that_cannot_be_reached_is_named_and_nothing_is_left)
{
	struct weir_store *none = NULL;
	struct weir_lease *lease;
	char where[40];

	proxy_refuse(proxy, 1);
	(void)snprintf(where, sizeof(where), "127.0.0.1:%u", proxy_port(proxy));
	assert_int_equal(acquire(store, fresh_name(), 0, &lease), -EHOSTUNREACH);
	error_says(where);
	assert_int_equal(open_at(1, "u:" CANARY "@", "min_delay=1ms", &none), -EHOSTUNREACH);
	error_says("127.0.0.1:1");
	error_says("refused");
	assert_null(strstr(weir_store_error(NULL), CANARY));
	assert_null(none);
	proxy_refuse(proxy, 0);
	assert_int_equal(acquire(store, fresh_name(), 0, &lease), 0);
	let_go(lease);
}

struct waiter {
	pthread_t thread;
	const char *name;
	weir_time deadline;
	int result;
};

static void *wait_for_it(void *argument)
{
	struct waiter *waiter = argument;
	struct weir_lease *lease;

	waiter->result = acquire(store, waiter->name, waiter->deadline, &lease);
	if (waiter->result == 0) {
		(void)weir_release(lease);
		weir_lease_unref(lease);
	}
	return NULL;
}

static void waiter_start(struct waiter *waiter, const char *name, weir_time deadline)
{
	*waiter = (struct waiter){ .name = name, .deadline = deadline };
	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_it, waiter), 0);
	while (look(direct, name).waiting == 0)
		nap(1);
}

TEST(a_waiter_outlives_its_connections)
{
	const char *name = fresh_name();
	struct weir_lease *lease;
	struct waiter waiter;

	assert_int_equal(acquire(direct, name, 0, &lease), 0);
	waiter_start(&waiter, name, WEIR_NEVER);
	proxy_cut_all(proxy);
	let_go(lease);
	(void)pthread_join(waiter.thread, NULL);
	assert_int_equal(waiter.result, 0);
	assert_int_equal(look(direct, name).held, 0);
	assert_int_equal(look(direct, name).granted_after_wait, 1);
}

/* Who gives up while nobody can be asked is answered at once, and what it left behind is taken back
 * when somebody can be. */
TEST(who_gives_up_in_the_dark_leaves_nothing_behind)
{
	const char *name = fresh_name();
	struct weir_lease *lease;
	struct waiter waiter;
	weir_time begun;

	assert_int_equal(acquire(direct, name, 0, &lease), 0);
	waiter_start(&waiter, name, weir_after(300 * WEIR_MS));
	begun = weir_now();
	proxy_refuse(proxy, 1);
	(void)pthread_join(waiter.thread, NULL);
	assert_true(weir_now() - begun < 1500 * WEIR_MS);
	assert_true(waiter.result == -ETIMEDOUT || waiter.result == -EHOSTUNREACH);
	proxy_refuse(proxy, 0);
	assert_int_equal(weir_ensure(store, name, 1), 0);
	let_go(lease);
	nothing_is_left(direct, name);
}

/* ---- all at once ----------------------------------------------------------------------------- */

enum { CROWD = 8, STORM_PAIRS = 40 };

struct storm {
	const char *name;
	uint64_t fence; /* the last one seen, by whoever is inside */
	uint32_t inside, pairs, refused;
};

/* Nobody else is inside, for as long as this side believes in the lease (L1, L5). */
static void *storm_member(void *argument)
{
	struct storm *storm = argument;

	for (int i = 0; i < STORM_PAIRS; i++) {
		struct weir_lease *lease;
		int error = acquire(store, storm->name, weir_after(20 * WEIR_SECOND), &lease);

		if (error < 0) {
			__atomic_fetch_add(&storm->refused, 1, __ATOMIC_RELAXED);
			continue;
		}

		struct weir_lease_info info;

		weir_lease_get(lease, &info);
		assert_int_equal(__atomic_fetch_add(&storm->inside, 1, __ATOMIC_SEQ_CST), 0);
		assert_true(info.fence > storm->fence); /* L2 */
		storm->fence = info.fence;
		assert_int_equal(__atomic_sub_fetch(&storm->inside, 1, __ATOMIC_SEQ_CST), 0);
		let_go(lease);
		__atomic_fetch_add(&storm->pairs, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST(a_storm_of_faults_grants_nothing_twice_and_leaves_nothing_L1_L2_L6)
{
	static const char *const harms[] = { "unharmed", "cut before", "cut after", "truncated",
					     "stalled",  "dripped",    "delayed" };
	const char *name = fresh_name();
	struct storm storm = { .name = name };
	pthread_t threads[CROWD];

	assert_int_equal(weir_ensure(direct, name, 1), 1);
	proxy_storm(proxy, storm_seed, 12);
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, storm_member, &storm), 0);
	for (int i = 0; i < CROWD; i++)
		(void)pthread_join(threads[i], NULL);
	proxy_storm(proxy, 0, 0);
	(void)printf("seed %llu: %u pairs, %u refused;", (unsigned long long)storm_seed,
		     storm.pairs, storm.refused);
	for (enum harm harm = NO_HARM; harm < SAY; harm++)
		(void)printf(" %s %u", harms[harm], proxy_hits(proxy, harm));
	(void)printf("\n");
	assert_true(storm.pairs > 0);
	nothing_is_left(direct, name);
}

/* ---- the server itself ----------------------------------------------------------------------- */

/* It was started again and knows nothing: who held may still believe in it, so nobody is granted
 * until the longest TTL has passed; unless that was opted out of. */
TEST(a_server_that_comes_back_empty_grants_nothing_for_a_while)
{
	const char *name = fresh_name();
	struct weir_request request = { .name = name, .limit = 1, .ttl = 2 * WEIR_SECOND };
	struct weir_store *mine = NULL;
	struct weir_lease *lease, *next;
	weir_time begun;

	assert_int_equal(open_at(proxy_port(proxy), "", "attempts=20", &mine), 0);
	assert_int_equal(weir_acquire(mine, &request, &lease), 0);
	begun = weir_now();
	(void)cli(SERVER, "shutdown nosave");
	assert_true(weir_renew(lease, 0) < 0); /* it is lost */
	assert_int_equal(weir_acquire(mine, &request, &next), -EAGAIN);
	request.deadline = weir_after(5 * WEIR_SECOND);
	assert_int_equal(weir_acquire(mine, &request, &next), 0);
	assert_true(weir_now() - begun >= 2 * WEIR_SECOND);
	assert_int_equal(weir_release(next), 0);
	weir_lease_unref(lease);
	weir_lease_unref(next);
	weir_store_close(mine);
}

TEST(failover_continue_does_not_wait)
{
	const char *name = fresh_name();
	struct weir_store *mine = NULL;
	struct weir_lease *lease, *next;

	assert_int_equal(open_at(proxy_port(proxy), "", "attempts=20&failover=continue", &mine), 0);
	assert_int_equal(acquire(mine, name, 0, &lease), 0);
	(void)cli(SERVER, "shutdown nosave");
	while (weir_renew(lease, 0) == -EHOSTUNREACH)
		;
	assert_int_equal(acquire(mine, name, 0, &next), 0);
	assert_int_equal(weir_release(next), 0);
	weir_lease_unref(lease);
	weir_lease_unref(next);
	weir_store_close(mine);
}

static int set_up(void **state)
{
	(void)state;
	proxy = proxy_start(&proxy_redis, server_port);
	if (open_at(proxy_port(proxy), "", "min_delay=5ms&timeout=400ms", &store) < 0 ||
	    open_at(server_port, "", "attempts=50&max_delay=200ms", &direct) < 0) {
		(void)fprintf(stderr, "%s\n", weir_store_error(NULL));
		return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	weir_store_close(store);
	weir_store_close(direct);
	proxy_stop(proxy);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_answer_is_classified),
		cmocka_unit_test(a_server_that_cannot_for_long_is_given_up),
		cmocka_unit_test(nonsense_is_not_believed),
		cmocka_unit_test(outcomes_that_are_unknown_are_resolved_L6),
		cmocka_unit_test(a_server_that_cannot_be_reached_is_named_and_nothing_is_left),
		cmocka_unit_test(a_waiter_outlives_its_connections),
		cmocka_unit_test(who_gives_up_in_the_dark_leaves_nothing_behind),
		cmocka_unit_test(
			a_storm_of_faults_grants_nothing_twice_and_leaves_nothing_L1_L2_L6),
		cmocka_unit_test(a_server_that_comes_back_empty_grants_nothing_for_a_while),
		cmocka_unit_test(failover_continue_does_not_wait),
	};

	if (argc < 3)
		return 2;
	server_port = (uint16_t)strtoul(strrchr(argv[1], ':') + 1, NULL, 10); /* before any ? */
	servers_are_in(argv[2]);
	if (argc > 3)
		storm_seed = strtoull(argv[3], NULL, 0);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

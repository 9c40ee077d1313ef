/* chaos: what a Redis server must be, and what a store on it is told: URLs, options, passwords,
 * users, certificates, names that others use.
 *
 *     redis_setup redis://127.0.0.1:PORT DIRECTORY
 *     redis_setup rediss://127.0.0.1:PORT DIRECTORY
 *
 * The server's own socket is DIRECTORY/s; of the second kind, the files for TLS are in DIRECTORY.
 */
#include <errno.h>
#include <stdlib.h>

#include "chaos/client.h"
#include "chaos/servers.h"

enum { SERVER = -1 };
#define CANARY "canary-7c1e"

static const char *directory;
static uint16_t port;

static int open_as(const char *login, const char *options, struct weir_store **ret)
{
	char url[400];

	(void)snprintf(url, sizeof(url),
		       "redis://%s127.0.0.1:%u/0?min_ttl=10ms&heartbeat=100ms%s%s", login, port,
		       options[0] != '\0' ? "&" : "", options);
	return weir_store_open(url, ret);
}

static struct weir_store *open_with(const char *login, const char *options)
{
	struct weir_store *opened = NULL;

	if (open_as(login, options, &opened) < 0)
		fail_msg("%s", weir_store_error(NULL));
	return opened;
}

/* Tells the server something that it has no objection to. */
static void tell(const char *command)
{
	const char *answer = cli(SERVER, "%s", command);

	if (strcmp(answer, "OK") != 0)
		fail_msg("%s: %s", command, answer);
}

static void refuses(const char *login, const char *options, int error, const char *sentence)
{
	struct weir_store *none = NULL;

	assert_int_equal(open_as(login, options, &none), error);
	error_says(sentence);
	assert_null(strstr(weir_store_error(NULL), CANARY));
	assert_null(none);
}

TEST(servers_that_will_not_do_are_refused_with_the_reason)
{
	refuses("", "nonsense=1", -EINVAL, "nonsense is not one");
	refuses("", "attempts=0", -EINVAL, "attempts");
	refuses("", "namespace=a b", -EINVAL, "namespace");
	refuses("", "failover=perhaps", -EINVAL, "failover");
	refuses("", "timeout=never", -EINVAL, "timeout");
	tell("config set maxmemory-policy allkeys-lru");
	refuses("", "", -EHOSTUNREACH, "allkeys-lru");
	tell("config set maxmemory-policy noeviction");
	tell("replicaof 127.0.0.1 1");
	refuses("", "min_delay=1ms", -EHOSTUNREACH, "replica");
	tell("replicaof no one");
}

TEST(passwords_are_needed_and_never_shown)
{
	struct weir_store *mine;

	refuses("u:" CANARY "@", "", -EHOSTUNREACH, "password");
	tell("config set requirepass right");
	refuses(":" CANARY "@", "", -EHOSTUNREACH, "password");
	refuses("", "", -EHOSTUNREACH, "password");
	mine = open_with(":right@", "");
	assert_int_equal(weir_ensure(mine, fresh_name(), 1), 1);
	weir_store_close(mine);
	mine = open_with(":r%69ght@", "");
	weir_store_close(mine);
	tell("-a right --no-auth-warning config set requirepass ''");
}

TEST(bad_urls_are_refused_without_a_secret)
{
	static const char *const urls[] = {
		"redis:",
		"redis:x:" CANARY "@h",
		"redis://:" CANARY "@",
		"redis://:" CANARY "@h:0",
		"redis://:" CANARY "@h:99999",
		"redis://:" CANARY "@h:x",
		"redis://:" CANARY "@h/x",
		"redis://:" CANARY "%zz@h",
		"redis+unix:" CANARY,
		"redis://:" CANARY "@[::1",
		"rediss://:" CANARY "@",
		"redis://:p?" CANARY "@h:1",
	};
	struct weir_store *none = NULL;

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		assert_int_equal(weir_store_open(urls[i], &none), -EINVAL);
		assert_null(strstr(weir_store_error(NULL), CANARY));
		assert_null(none);
	}
}

TEST(keys_of_a_foreign_type_are_left_alone)
{
	struct weir_store *direct = open_with("", "");
	struct weir_lease *lease;

	(void)cli(SERVER, "rpush 'weir:{foreign}:h' x");
	(void)cli(SERVER, "hset 'weir:{short}:h' h x");
	assert_int_equal(acquire(direct, "foreign", 0, &lease), -EPROTO);
	error_says("foreign");
	assert_int_equal(acquire(direct, "short", 0, &lease), -EPROTO);
	assert_string_equal(cli(SERVER, "lrange 'weir:{foreign}:h' 0 0"), "x");
	(void)cli(SERVER, "del 'weir:{foreign}:h' 'weir:{short}:h'");
	weir_store_close(direct);
}

TEST(namespaces_never_meet)
{
	const char *name = fresh_name();
	struct weir_store *a, *b;
	struct weir_lease *in_a, *in_b;
	const struct weir_visitor visitor = { .semaphore = note_semaphore };
	struct weir_sem_info info = { .waiting = 77 };

	a = open_with("", "namespace=x");
	b = open_with("", "namespace=x:y");
	assert_int_equal(acquire(a, name, 0, &in_a), 0);
	assert_int_equal(weir_list(b, NULL, 0, &visitor, &info), 0);
	assert_int_equal(info.waiting, 77); /* there is none */
	assert_int_equal(acquire(b, name, 0, &in_b), 0);
	weir_lease_unref(in_a);
	weir_lease_unref(in_b);
	weir_store_close(a);
	weir_store_close(b);
}

/* The user that weir-redis(7) describes, and nothing more. */
TEST(the_documented_user_suffices)
{
	struct weir_store *mine;
	struct weir_lease *lease, *next;
	const char *name = fresh_name();
	const struct weir_visitor visitor = { .semaphore = note_semaphore };
	struct weir_sem_info info;

	tell("acl setuser app reset on '>pw' '~weir:*' '&weir:*' +eval +evalsha +info +scan "
	     "+subscribe +publish +time +hget +hset +hdel +hgetall +hincrby "
	     "+zadd +zrem +zrange +zscore");
	mine = open_with("app:pw@", "");
	assert_int_equal(weir_ensure(mine, name, 1), 1);
	assert_int_equal(acquire(mine, name, 0, &lease), 0);
	assert_int_equal(acquire(mine, name, weir_after(50 * WEIR_MS), &next), -ETIMEDOUT);
	assert_int_equal(weir_renew(lease, 0), 0);
	assert_int_equal(weir_set_limit(mine, name, 2), 0);
	assert_int_equal(weir_set_limit(mine, name, 1), 0);
	assert_int_equal(weir_list(mine, NULL, 0, &visitor, &info), 0);
	assert_true(weir_reap(mine, 10) >= 0);
	let_go(lease);
	weir_store_close(mine);
	(void)cli(SERVER, "acl deluser app");
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static int open_tls(const char *scheme, const char *host, const char *option, const char *file)
{
	struct weir_store *opened = NULL;
	char url[600];
	int error;

	(void)snprintf(url, sizeof(url), "%s://:" CANARY "@%s:%u?min_delay=1ms&%s=%s/%s", scheme,
		       host, port, option, directory, file);
	error = weir_store_open(url, &opened);
	weir_store_close(opened);
	assert_null(strstr(weir_store_error(NULL), CANARY));
	return error;
}

static void tls_refuses(const char *scheme, const char *host, const char *file,
			const char *sentence)
{
	assert_int_equal(open_tls(scheme, host, "ca_file", file), -EHOSTUNREACH);
	error_says(sentence);
	error_says(host);
}

TEST(certificates_are_verified_and_so_are_names)
{
	tell("config set requirepass " CANARY);
	assert_int_equal(open_tls("rediss", "localhost", "ca_file", "ca.pem"), 0);
	assert_int_equal(open_tls("rediss", "127.0.0.1", "ca_file", "ca.pem"), 0);
	tls_refuses("rediss", "localhost", "other.pem", "certificate");
	tls_refuses("rediss", "127.0.0.2", "ca.pem", "mismatch");
	tls_refuses("rediss", "localhost", "none.pem", "ca_file");
	assert_int_equal(open_tls("rediss", "localhost", "cert_file", "ca.pem"), -EHOSTUNREACH);
	tls_refuses("redis", "127.0.0.1", "ca.pem", "");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_that_will_not_do_are_refused_with_the_reason),
		cmocka_unit_test(passwords_are_needed_and_never_shown),
		cmocka_unit_test(bad_urls_are_refused_without_a_secret),
		cmocka_unit_test(keys_of_a_foreign_type_are_left_alone),
		cmocka_unit_test(namespaces_never_meet),
		cmocka_unit_test(the_documented_user_suffices),
	};

	const struct CMUnitTest tls_tests[] = {
		cmocka_unit_test(certificates_are_verified_and_so_are_names),
	};

	if (argc < 3)
		return 2;
	port = (uint16_t)strtoul(strrchr(argv[1], ':') + 1, NULL, 10); /* before any ? */
	directory = argv[2];
	servers_are_in(directory);
	if (strncmp(argv[1], "rediss:", 7) == 0)
		return cmocka_run_group_tests(tls_tests, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* chaos: a cluster of Redis servers whose slots move, and whose masters die.
 *
 *     redis_cluster redis://127.0.0.1:PORT DIRECTORY SERVERS
 *
 * The servers' own sockets are DIRECTORY/0/s and so on. The first three were made masters; with
 * six, the others are their replicas, and whoever is killed stays dead. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "chaos/client.h"
#include "chaos/servers.h"

#define TTL (8 * WEIR_SECOND) /* longer than it takes to find another master */

enum { MASTERS = 3 };

static const char *server_url, *directory;
static int n_servers;
static struct weir_store *store;

/* How often the servers have answered with that error. */
static long count(const char *error)
{
	char key[40];
	long all = 0;

	(void)snprintf(key, sizeof(key), "errorstat_%s:count=", error);
	for (int i = 0; i < n_servers; i++)
		all += number_in(cli(i, "info errorstats"), key);
	return all;
}

static struct weir_store *open_store(const char *options)
{
	struct weir_store *opened = NULL;
	char url[400];

	(void)snprintf(
		url, sizeof(url),
		"redis://app:pw@%s?min_ttl=10ms&heartbeat=200ms&attempts=100&max_delay=100ms%s",
		server_url + strlen("redis://"), options);
	if (weir_store_open(url, &opened) < 0)
		fail_msg("%s", weir_store_error(NULL));
	return opened;
}

static int count_one(void *arg, const struct weir_sem_info *info)
{
	uint32_t *waiting = arg;

	waiting[0]++;
	waiting[1] = info->waiting;
	return 0;
}

static uint32_t waiting_for(const char *name)
{
	const struct weir_visitor visitor = { .semaphore = count_one };
	uint32_t seen[2] = { 0 };

	assert_int_equal(weir_list(store, &name, 1, &visitor, seen), 0);
	return seen[1];
}

struct waiter {
	pthread_t thread;
	const char *name;
	int result;
};

static void *wait_for_it(void *argument)
{
	struct waiter *waiter = argument;
	struct weir_lease *lease;

	waiter->result = acquire_for(store, waiter->name, TTL, WEIR_NEVER, &lease);
	if (waiter->result == 0) {
		waiter->result = weir_release(lease);
		weir_lease_unref(lease);
	}
	return NULL;
}

static void waiter_start(struct waiter *waiter, const char *name)
{
	*waiter = (struct waiter){ .name = name };
	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_it, waiter), 0);
	while (waiting_for(name) == 0)
		nap(1);
}

/* ---- slots ----------------------------------------------------------------------------------- */

TEST(names_are_found_wherever_they_are)
{
	enum { NAMES = 100 };
	const struct weir_visitor visitor = { .semaphore = count_one };
	struct weir_store *mine = open_store("&namespace=many");
	uint32_t seen[2] = { 0 };

	for (int i = 0; i < NAMES; i++)
		assert_int_equal(weir_ensure(mine, fresh_name(), 1), 1);
	for (int i = 0; i < MASTERS; i++)
		assert_true(strtol(cli(i, "dbsize"), NULL, 10) > 0);
	assert_int_equal(weir_list(mine, NULL, 0, &visitor, seen), 0);
	assert_int_equal(seen[0], NAMES);
	assert_int_equal(weir_reap(mine, 10), 0);
	weir_store_close(mine);
}

struct slot {
	char name[40];
	long number;
	int from, to;
	char from_id[64], to_id[64];
	uint16_t to_port;
};

static void slot_find(struct slot *slot, const char *name)
{
	(void)snprintf(slot->name, sizeof(slot->name), "%s", name);
	slot->number = strtol(cli(0, "cluster keyslot '%s'", name), NULL, 10);
	slot->from = 0;
	while (strncmp(cli(slot->from, "hget 'weir:{%s}:h' h", name), "MOVED", 5) == 0)
		slot->from++;
	slot->to = (slot->from + 1) % MASTERS;
	(void)snprintf(slot->from_id, sizeof(slot->from_id), "%s", cli(slot->from, "cluster myid"));
	(void)snprintf(slot->to_id, sizeof(slot->to_id), "%s", cli(slot->to, "cluster myid"));
	slot->to_port = port_of(slot->to);
}

static void slot_open(const struct slot *slot)
{
	(void)cli(slot->to, "cluster setslot %ld importing %s", slot->number, slot->from_id);
	(void)cli(slot->from, "cluster setslot %ld migrating %s", slot->number, slot->to_id);
}

static void slot_move_keys(const struct slot *slot)
{
	assert_string_equal(cli(slot->from,
				"migrate 127.0.0.1 %u '' 0 5000 keys 'weir:{%s}:h' "
				"'weir:{%s}:t'",
				slot->to_port, slot->name, slot->name),
			    "OK");
}

static void slot_settle(const struct slot *slot)
{
	(void)cli(slot->to, "cluster setslot %ld node %s", slot->number, slot->to_id);
	(void)cli(slot->from, "cluster setslot %ld node %s", slot->number, slot->to_id);
}

/* Nothing is lost and nobody is kept waiting: the server that had the name says that it has given
 * it away. While somebody holds and somebody waits both keys are there, so that the new one
 * answers as soon as it has them. */
TEST(a_slot_moves_while_it_is_held_and_waited_for)
{
	const char *name = fresh_name();
	struct weir_lease *lease;
	struct waiter waiter;
	struct slot slot;
	long asked = count("ASK"), moved = count("MOVED");

	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	waiter_start(&waiter, name);
	let_go(lease);
	(void)pthread_join(waiter.thread, NULL); /* so that somebody has waited */
	assert_int_equal(waiter.result, 0);
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	waiter_start(&waiter, name);
	slot_find(&slot, name);
	slot_open(&slot);
	slot_move_keys(&slot);
	assert_int_equal(weir_renew(lease, 0), 0);
	assert_true(count("ASK") > asked);
	let_go(lease);
	slot_settle(&slot);
	(void)pthread_join(waiter.thread, NULL);
	assert_int_equal(waiter.result, 0);
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	let_go(lease);
	assert_true(count("MOVED") > moved);
	(void)printf("ASK %ld, MOVED %ld\n", count("ASK") - asked, count("MOVED") - moved);
}

/* Of a name that is not whole at either side nobody can say anything until the slot has moved. */
struct late {
	const struct slot *slot;
	long before;
};

static void *settle_when_asked(void *argument)
{
	const struct late *late = argument;

	while (count("TRYAGAIN") == late->before)
		nap(1);
	slot_settle(late->slot);
	return NULL;
}

TEST(a_name_that_is_not_whole_is_waited_for)
{
	const char *name = fresh_name();
	struct slot slot;
	struct late late = { &slot, count("TRYAGAIN") };
	struct weir_lease *lease;
	pthread_t thread;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	slot_find(&slot, name);
	slot_open(&slot);
	slot_move_keys(&slot);
	assert_int_equal(pthread_create(&thread, NULL, settle_when_asked, &late), 0);
	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	(void)pthread_join(thread, NULL);
	let_go(lease);
}

/* Whoever comes later and has never seen the old server finds it and asks. */
TEST(a_newcomer_is_told_that_a_slot_has_moved)
{
	const char *name = fresh_name();
	struct weir_store *mine;
	struct weir_lease *lease;
	struct slot slot;

	assert_int_equal(acquire_for(store, name, TTL, 0, &lease), 0);
	let_go(lease);
	slot_find(&slot, name);
	slot_open(&slot);
	slot_move_keys(&slot);
	slot_settle(&slot);
	mine = open_store("");
	assert_int_equal(acquire_for(mine, name, TTL, 0, &lease), 0);
	let_go(lease);
	weir_store_close(mine);
}

/* ---- masters --------------------------------------------------------------------------------- */

/* One that the same master has. */
static void slot_find_neighbour(struct slot *slot, const struct slot *of)
{
	do
		slot_find(slot, fresh_name());
	while (slot->from != of->from);
}

/* On whoever has it now, as if it had never been heard of there. */
static void forget(const struct slot *slot)
{
	int at = MASTERS;

	while (strncmp(cli(at, "del 'weir:{%s}:h' 'weir:{%s}:t'", slot->name, slot->name), "MOVED",
		       5) == 0)
		at = at + 1 < n_servers ? at + 1 : MASTERS;
}

/* Its replica takes over, and may not know all: what is known goes on, and nobody is granted
 * anything until the longest lease must be over, not even under a name that is new there. */
TEST(a_master_is_killed_and_its_replica_takes_over)
{
	struct weir_lease *lease, *lost, *next;
	struct slot slot, lost_slot;
	weir_time granted;

	slot_find(&slot, fresh_name());
	slot_find_neighbour(&lost_slot, &slot);
	assert_int_equal(acquire_for(store, slot.name, TTL, 0, &lease), 0);
	assert_int_equal(acquire_for(store, lost_slot.name, TTL, 0, &lost), 0);
	granted = weir_now();
	await_replica(slot.from);
	assert_true(kill_server(slot.from));
	assert_int_equal(weir_renew(lease, TTL), 0);
	let_go(lease);
	forget(&lost_slot);
	assert_int_equal(acquire_for(store, lost_slot.name, TTL, 0, &next), -EAGAIN);
	weir_lease_unref(lost);
	assert_int_equal(acquire_for(store, slot.name, TTL, 0, &next), -EAGAIN);
	assert_int_equal(acquire_for(store, slot.name, TTL, weir_after(30 * WEIR_SECOND), &next),
			 0);
	assert_true(weir_now() - granted >= TTL);
	let_go(next);
}

TEST(a_replica_will_do_to_find_the_cluster)
{
	struct weir_store *mine = NULL;
	struct weir_lease *lease;
	char url[200];

	(void)snprintf(url, sizeof(url), "redis+unix:%s/5/s", directory); /* as anybody */
	assert_int_equal(weir_store_open(url, &mine), 0);
	assert_int_equal(acquire_for(mine, fresh_name(), TTL, 0, &lease), 0);
	let_go(lease);
	weir_store_close(mine);
}

/* All of it as the user that weir-redis(7) describes. */
static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < n_servers; i++)
		(void)cli(i,
			  "acl setuser app reset on '>pw' '~weir:*' '~many:*' '&weir:*' '&many:*' "
			  "+eval +evalsha +info +scan +subscribe +publish +time +hget "
			  "+hset +hdel +hgetall +hincrby +zadd +zrem +zrange +zscore "
			  "'+cluster|slots' +asking");
	store = open_store("");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest slots[] = {
		cmocka_unit_test(names_are_found_wherever_they_are),
		cmocka_unit_test(a_slot_moves_while_it_is_held_and_waited_for),
		cmocka_unit_test(a_name_that_is_not_whole_is_waited_for),
		cmocka_unit_test(a_newcomer_is_told_that_a_slot_has_moved),
	};
	const struct CMUnitTest masters[] = {
		cmocka_unit_test(a_replica_will_do_to_find_the_cluster),
		cmocka_unit_test(a_master_is_killed_and_its_replica_takes_over),
	};

	if (argc < 4)
		return 2;
	server_url = argv[1];
	directory = argv[2];
	servers_are_in(directory);
	n_servers = atoi(argv[3]);
	if (n_servers == MASTERS)
		return cmocka_run_group_tests(slots, set_up, tear_down);
	return cmocka_run_group_tests(masters, set_up, tear_down);
}

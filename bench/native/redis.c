/* bench: what leases on a Redis server cost, beside bare round trips to it.
 *
 *     redis URL [rounds=20] [QUESTION]
 *
 * pair          beside two bare round trips of a small script (one SET) on a connection of the same
 *               kind
 * commands      scripts that the server ran for some pairs
 * load          64 threads, beside our own scripts sent as redis-benchmark sends commands: by one
 *               thread over 50 connections, with pipelines of 16
 * wake          beside PING
 * waiters       a hand-over while 10,000 wait in the queue, beside one while 10 wait
 * threads, live; see store.h. tests/support/with_redis.py starts a server for it. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <weir/task.h>

#include "redis_load.h"
#include "store.h"

static const char *url;

/* ---- a bare connection ----------------------------------------------------------------------- */

static int dial(void)
{
	static const char unix_scheme[] = "redis+unix:";
	int on = 1;
	int fd;

	if (strncmp(url, unix_scheme, strlen(unix_scheme)) == 0) {
		struct sockaddr_un to = { .sun_family = AF_UNIX };

		strncpy(to.sun_path, url + strlen(unix_scheme), sizeof(to.sun_path) - 1);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		need(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect");
	} else {
		struct sockaddr_in to = { .sin_family = AF_INET };

		to.sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1));
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		need(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	return fd;
}

static char answer[1 << 16];

/* Sends a command whose answer comes in one piece. */
static void ask(int fd, const char *command)
{
	ssize_t size;

	need(send(fd, command, strlen(command), 0) == (ssize_t)strlen(command), "send");
	size = recv(fd, answer, sizeof(answer) - 1, 0);
	need(size > 0, "recv");
	answer[size] = '\0';
}

static char small_sha[200];

static void load_small(int fd)
{
	ask(fd, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$42\r\n"
		"return redis.call('SET', KEYS[1], ARGV[1])\r\n");
	snprintf(small_sha, sizeof(small_sha),
		 "*5\r\n$7\r\nEVALSHA\r\n$40\r\n%.40s\r\n$1\r\n1\r\n$5\r\nbench\r\n$1\r\nx\r\n",
		 answer + 5);
	ask(fd, small_sha);
	need(answer[0] == '+', "a small script");
}

/* ---- questions ------------------------------------------------------------------------------- */

static double time_asks(int fd, const char *command, int count)
{
	weir_time begun = weir_now();

	for (int i = 0; i < count; i++)
		ask(fd, command);
	return microseconds_since(begun) / count;
}

static double bare_pairs(void *argument)
{
	return 2 * time_asks(*(int *)argument, small_sha, PAIRS);
}

static double bare_ping(void *argument)
{
	return time_asks(*(int *)argument, "*1\r\n$4\r\nPING\r\n", 1);
}

static void commands(const struct bench *bench, int fd)
{
	struct weir_store *store = open_store(bench);
	const char *found;
	long calls = 0;

	(void)pairs(store, "pair", 1);
	ask(fd, "*2\r\n$6\r\nCONFIG\r\n$9\r\nRESETSTAT\r\n");
	(void)pairs(store, "pair", 1);
	ask(fd, "*2\r\n$4\r\nINFO\r\n$12\r\ncommandstats\r\n");
	for (const char *name = "cmdstat_eval"; (found = strstr(answer, name)) != NULL;) {
		calls += strtol(strstr(found, "calls=") + 6, NULL, 10);
		memmove(answer, found + 8, strlen(found + 8) + 1);
	}
	printf("scripts_for_a_pair %.2f\n", (double)calls / PAIRS);
	weir_store_close(store);
}

static void one_pair(void *store)
{
	give(take(store, "threads", 64));
}

static void load(const struct bench *bench)
{
	struct weir_store *store = open_store(bench);
	double raw[BENCH_ROUNDS_MAX];
	double many[BENCH_ROUNDS_MAX];
	size_t rounds = bench->rounds / 4 + 1;

	for (size_t i = 0; i < rounds; i++) {
		raw[i] = redis_load(dial, one_pair, store, 20000);
		many[i] = bench_rate(store, 64);
	}
	print_ratio("load", "64_per_s", many, "raw_per_s", raw, rounds);
	weir_store_close(store);
}

struct queue {
	struct weir_store *store;
	int count, holds, out_of_order;
	const char *name;
	weir_time first, last;
};

struct member {
	struct queue *queue;
	int number;
};

static int member(void *argument, intptr_t *value)
{
	struct member *self = argument;
	struct queue *queue = self->queue;
	struct weir_lease *lease = take(queue->store, queue->name, 1);

	(void)value;
	queue->out_of_order += queue->holds++ != self->number;
	queue->last = weir_now();
	give(lease);
	return 0;
}

static int drain(void *argument, intptr_t *value)
{
	struct queue *queue = argument;
	struct member *members = calloc((size_t)queue->count, sizeof(*members));
	struct weir_future **futures = calloc((size_t)queue->count, sizeof(*futures));
	struct weir_lease *lease = take(queue->store, queue->name, 1);

	(void)value;
	for (int i = 0; i < queue->count; i++) {
		members[i] = (struct member){ queue, i };
		futures[i] = weir_spawn(member, &members[i]);
	}
	weir_sleep_until(weir_after(queue->count > 1000 ? 3 * WEIR_SECOND : 100 * WEIR_MS));
	queue->first = weir_now();
	give(lease);
	for (int i = 0; i < queue->count; i++) {
		weir_wait(futures[i], WEIR_NEVER, NULL);
		weir_future_unref(futures[i]);
	}
	free(members);
	free(futures);
	return 0;
}

static double drain_queue(struct weir_store *store, int count, const char *name)
{
	struct queue queue = { .store = store, .count = count, .name = name };
	struct weir_run_config config = { 0 };

	need(weir_run(drain, &queue, &config) == 0, "run");
	need(queue.out_of_order == 0, "in order");
	return (double)(queue.last - queue.first) / count / 1000;
}

static void waiters(const struct bench *bench)
{
	struct weir_store *store = open_store(bench);
	double few[50];
	double many;

	for (int i = 0; i < 50; i++)
		few[i] = drain_queue(store, 10, "short-queue");
	many = drain_queue(store, 10000, "long-queue");
	printf("waiters_10000_us %.1f\nwaiters_10_us %.1f\nwaiters_ratio %.2f\n", many,
	       part_of(few, 50, 0.5), many / part_of(few, 50, 0.5));
	weir_store_close(store);
}

int main(int argc, char **argv)
{
	struct bench bench = { 0 };
	int fd;

	if (argc < 2)
		return 64;
	bench_read(&bench, argv + 2);
	snprintf(bench.url, sizeof(bench.url), "%s", argv[1]);
	url = argv[1];
	fd = dial();
	bench_option(&bench, "default_ttl=10m");
	load_small(fd);
	if (bench_asks(&bench, "wake"))
		bench_wake(&bench, "ping", NULL, bare_ping, &fd);
	if (bench_asks(&bench, "pair"))
		bench_pair(&bench, "two_scripts", bare_pairs, &fd);
	if (bench_asks(&bench, "commands"))
		commands(&bench, fd);
	if (bench_asks(&bench, "threads"))
		bench_threads(&bench);
	if (bench_asks(&bench, "load"))
		load(&bench);
	if (bench_asks(&bench, "live"))
		bench_live(&bench);
	if (bench_asks(&bench, "waiters"))
		waiters(&bench);
	close(fd);
	return 0;
}

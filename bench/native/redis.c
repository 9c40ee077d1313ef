/* bench: what leases on a Redis server cost, beside bare round trips to it.
 *
 *     redis URL [rounds=20]
 *
 * pair          an acquire and a release by one thread, beside two bare round trips of a small
 *               script (one SET) on a connection of the same kind, in turns
 * commands      scripts that the server ran for a thousand pairs
 * threads       pairs in a second by 64 threads of one process, beside one thread
 * load          the same, beside our own scripts sent as redis-benchmark sends commands: by one
 *               thread over 50 connections, with pipelines of 16
 * wake          from a release through one handle until a waiter of another one holds, beside PING
 * waiters       a hand-over while 10,000 wait in the queue, beside one while 10 wait
 * Prints lines of `key value`. tests/support/with_redis.py starts a server for it. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <weir/lease.h>
#include <weir/task.h>

#include "redis_load.h"

static const char *url;
static int rounds = 20;

static void need(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "bench: %s: %s\n", what, weir_store_error(NULL));
		exit(1);
	}
}

static double seconds(void)
{
	return (double)weir_now() / 1e9;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double part(double *values, size_t n, double p)
{
	qsort(values, n, sizeof(double), by_size);
	return values[(size_t)(p * (double)(n - 1))];
}

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

/* ---- leases ---------------------------------------------------------------------------------- */

static struct weir_store *open_store(void)
{
	struct weir_store *store = NULL;

	need(weir_store_open(url, &store) == 0, "open");
	return store;
}

static struct weir_lease *take(struct weir_store *store, const char *name, uint32_t limit)
{
	struct weir_request request = { .name = name, .limit = limit, .deadline = WEIR_NEVER };
	struct weir_lease *lease;

	need(weir_acquire(store, &request, &lease) == 0, "acquire");
	return lease;
}

static void give(struct weir_lease *lease)
{
	need(weir_release(lease) == 0, "release");
	weir_lease_unref(lease);
}

static double time_pairs(struct weir_store *store, int count)
{
	double begun = seconds();

	for (int i = 0; i < count; i++)
		give(take(store, "pair", 1));
	return (seconds() - begun) / count * 1e6;
}

static double time_asks(int fd, const char *command, int count)
{
	double begun = seconds();

	for (int i = 0; i < count; i++)
		ask(fd, command);
	return (seconds() - begun) / count * 1e6;
}

static void pair(struct weir_store *store, int fd)
{
	enum { COUNT = 500 };
	double ours[100], bare[100], ratio[100];

	(void)time_pairs(store, COUNT);
	(void)time_asks(fd, small_sha, COUNT);
	for (int i = 0; i < rounds; i++) {
		ours[i] = time_pairs(store, COUNT);
		bare[i] = 2 * time_asks(fd, small_sha, COUNT);
		ratio[i] = ours[i] / bare[i];
	}
	printf("pair_us %.1f\n", part(ours, (size_t)rounds, 0.5));
	printf("two_scripts_us %.1f\n", part(bare, (size_t)rounds, 0.5));
	printf("pair_ratio %.2f\n", part(ratio, (size_t)rounds, 0.5));
}

static void commands(struct weir_store *store, int fd)
{
	const char *found;
	long calls = 0;

	ask(fd, "*2\r\n$6\r\nCONFIG\r\n$9\r\nRESETSTAT\r\n");
	(void)time_pairs(store, 1000);
	ask(fd, "*2\r\n$4\r\nINFO\r\n$12\r\ncommandstats\r\n");
	for (const char *name = "cmdstat_eval"; (found = strstr(answer, name)) != NULL;) {
		calls += strtol(strstr(found, "calls=") + 6, NULL, 10);
		memmove(answer, found + 8, strlen(found + 8) + 1);
	}
	printf("scripts_for_1000_pairs %ld\n", calls);
}

struct crowd {
	struct weir_store *store;
	int count;
};

static void *crowd_member(void *argument)
{
	struct crowd *crowd = argument;

	for (int i = 0; i < crowd->count; i++)
		give(take(crowd->store, "crowd", 10000));
	return NULL;
}

static double crowd_rate(struct weir_store *store, int threads, int count)
{
	struct crowd crowd = { store, count };
	pthread_t thread[64];
	double begun = seconds();

	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, crowd_member, &crowd);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return threads * count / (seconds() - begun);
}

static void threads(struct weir_store *store)
{
	double ratio[100], one[100], many[100];
	int n = rounds / 4 + 1;

	for (int i = 0; i < n; i++) {
		one[i] = crowd_rate(store, 1, 2000);
		many[i] = crowd_rate(store, 64, 300);
		ratio[i] = many[i] / one[i];
	}
	printf("one_thread_pairs_per_s %.0f\n", part(one, (size_t)n, 0.5));
	printf("64_threads_pairs_per_s %.0f\n", part(many, (size_t)n, 0.5));
	printf("threads_ratio %.2f\n", part(ratio, (size_t)n, 0.5));
}

static void one_pair(void *store)
{
	give(take(store, "crowd", 10000));
}

static void load(struct weir_store *store)
{
	double ratio[100], raw[100], many[100];
	int n = rounds / 4 + 1;

	for (int i = 0; i < n; i++) {
		raw[i] = redis_load(dial, one_pair, store, 20000);
		many[i] = crowd_rate(store, 64, 300);
		ratio[i] = many[i] / raw[i];
	}
	printf("raw_pairs_per_s %.0f\n", part(raw, (size_t)n, 0.5));
	printf("load_ratio %.2f\n", part(ratio, (size_t)n, 0.5));
}

/* ---- hand-over ------------------------------------------------------------------------------- */

enum { HANDS = 400 };

struct wake {
	struct weir_store *store;
	double held_at;
	int go, done;
};

static void *next_holder(void *argument)
{
	struct wake *wake = argument;

	for (int i = 0; i < HANDS; i++) {
		struct weir_lease *lease;

		while (__atomic_load_n(&wake->go, __ATOMIC_ACQUIRE) <= i)
			usleep(20);
		lease = take(wake->store, "wake", 1);
		wake->held_at = seconds();
		__atomic_store_n(&wake->done, i + 1, __ATOMIC_RELEASE);
		give(lease);
	}
	return NULL;
}

static void wake(struct weir_store *store, int fd)
{
	struct wake wake = { .store = open_store() };
	double times[HANDS], ping;
	pthread_t thread;

	pthread_create(&thread, NULL, next_holder, &wake);
	for (int i = 0; i < HANDS; i++) {
		struct weir_lease *lease = take(store, "wake", 1);
		double begun;

		__atomic_store_n(&wake.go, i + 1, __ATOMIC_RELEASE);
		usleep(2000); /* by now it waits */
		begun = seconds();
		give(lease);
		while (__atomic_load_n(&wake.done, __ATOMIC_ACQUIRE) <= i)
			usleep(20);
		times[i] = (wake.held_at - begun) * 1e6;
	}
	pthread_join(thread, NULL);
	weir_store_close(wake.store);
	ping = time_asks(fd, "*1\r\n$4\r\nPING\r\n", 5000);
	printf("ping_us %.1f\n", ping);
	printf("wake_p50_us %.1f\n", part(times, HANDS, 0.5));
	printf("wake_p99_us %.1f\n", part(times, HANDS, 0.99));
	printf("wake_ratio %.2f\n", part(times, HANDS, 0.5) / ping);
}

struct queue {
	struct weir_store *store;
	int count, holds, out_of_order;
	const char *name;
	double first, last;
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
	queue->last = seconds();
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
	queue->first = seconds();
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
	return (queue.last - queue.first) / count * 1e6;
}

static void waiters(struct weir_store *store)
{
	double few[50];

	for (int i = 0; i < 50; i++)
		few[i] = drain_queue(store, 10, "few");

	double many = drain_queue(store, 10000, "many");

	printf("handover_10_waiters_us %.1f\n", part(few, 50, 0.5));
	printf("handover_10000_waiters_us %.1f\n", many);
	printf("waiters_ratio %.2f\n", many / part(few, 50, 0.5));
}

int main(int argc, char **argv)
{
	const char *only = NULL;

	if (argc < 2)
		return 64;
	url = argv[1];
	for (int i = 2; i < argc; i++) {
		if (sscanf(argv[i], "rounds=%d", &rounds) != 1)
			only = argv[i];
	}
	rounds = rounds < 1 ? 1 : rounds > 100 ? 100 : rounds;

	struct weir_store *store = open_store();
	int fd = dial();

	load_small(fd);
#define ASK(question, ...)                                \
	if (only == NULL || strcmp(only, #question) == 0) \
	question(__VA_ARGS__)
	ASK(pair, store, fd);
	ASK(commands, store, fd);
	ASK(threads, store);
	ASK(load, store);
	ASK(wake, store, fd);
	ASK(waiters, store);
	weir_store_close(store);
	close(fd);
	return 0;
}

/* chaos: what many processes see of a Redis server while all goes wrong: clients and servers are
 * killed, connections cut, stalled and dripped, the server's clock is set, its data are thrown
 * away, a replica that is not up to date takes over.
 *
 *     redis_chaos [--seconds S] [--seed X] DIRECTORY
 *
 * DIRECTORY has a `pair` of with_redis.py in it, and `clock`, the file of clock_shim.c. Each phase
 * has names of its own and lasts S seconds; what its clients saw is checked by history.h. Clients
 * reach the server through a proxy, which is how another one takes its place. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/store.h>

#include "chaos/acts.h"
#include "chaos/proxy.h"
#include "chaos/servers.h"
#include "support/stress.h"

enum { CLIENTS = 7, NAMES = 2, LIMIT = 4 };
#define TTL (600 * WEIR_MS)
/* Longer than the guard after a server was lost, and all timeouts. */
#define SLACK (8 * WEIR_SECOND)

enum fault { KILL_CLIENT, KILL_SERVER, CLOCK_BACK, CLOCK_FORWARD, FLUSH, STALE, FAULTS };

static const char *const fault_names[FAULTS] = { "clients killed",   "servers killed",
						 "clock set back",   "clock set forward",
						 "data thrown away", "stale replicas" };

struct phase {
	const char *what;
	bool storm;       /* of the proxy's */
	bool tries;       /* some do not wait */
	uint8_t flags;    /* of requests */
	unsigned excused; /* what cannot be promised then: a bit for each check of history.h */
	enum fault fault;
};

/* Whoever throws all data away, or sets the clock forward, ends leases that their holders believe
 * in, and ends the queue; fences, tokens and ids are as good as ever. A replica that was not up to
 * date does not know the queue. */
static const struct phase phases[] = {
	{ .what = "clients", .tries = true, .fault = KILL_CLIENT },
	{ .what = "storm", .storm = true, .fault = KILL_CLIENT },
	{ .what = "servers", .storm = true, .fault = KILL_SERVER },
	{ .what = "clock back", .fault = CLOCK_BACK },
	{ .what = "stale replica", .flags = HISTORY_STOPPED, .fault = STALE },
	{ .what = "flush", .flags = HISTORY_STOPPED, .excused = 1U << 1 | 1U << 6, .fault = FLUSH },
	{ .what = "clock forward",
	  .flags = HISTORY_STOPPED,
	  .excused = 1U << 1 | 1U << 6,
	  .fault = CLOCK_FORWARD },
};

static struct rng rng;
static struct proxy *proxy;
static struct recorder *recorder;
static const struct phase *phase;
static const char *directory;
static weir_time seconds = 3 * WEIR_SECOND;
static uint32_t hits[FAULTS];
static int master; /* which of the two */

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "%s: %s: %s\n", phase->what, what, weir_store_error(NULL));
	_exit(3);
}

static const char *name_of(uint32_t number)
{
	static char name[40];

	(void)snprintf(name, sizeof(name), "chaos/%d/%u", (int)(phase - phases), number);
	return name;
}

static struct weir_store *open_store(void)
{
	struct weir_store *store = NULL;
	char url[300];

	(void)snprintf(url, sizeof(url),
		       "redis://127.0.0.1:%u?min_ttl=50ms&heartbeat=200ms&attempts=200&"
		       "min_delay=5ms&max_delay=50ms&timeout=300ms",
		       proxy_port(proxy));
	if (weir_store_open(url, &store) < 0)
		die("open");
	return store;
}

/* ---- clients --------------------------------------------------------------------------------- */

static struct acts mine;

static void begin(uint32_t client)
{
	mine = (struct acts){ .recorder = recorder,
			      .store = open_store(),
			      .client = client,
			      .name_of = name_of,
			      .distant = true,
			      .die = die };
}

/* Most hold for a moment; some for nearly as long as they may, so that they hold when the server
 * forgets them. */
static void hold(uint32_t name, struct weir_lease *lease)
{
	bool long_one = rng_one_in(&rng, phase->fault == STALE ? 3 : 40);

	for (uint32_t i = 0; i < (long_one ? 30 : rng_one_in(&rng, 8)); i++) {
		nap(TTL / WEIR_MS / 40);
		(void)acts_sample(&mine, name, lease);
		if (i == 15 && acts_on_token(&mine, name, HISTORY_RENEW, lease, TTL) < 0)
			break;
	}
	(void)acts_on_token(&mine, name, HISTORY_RELEASE, lease, 0);
	weir_lease_unref(lease);
}

static void work(uint32_t client)
{
	begin(client);
	for (;;) {
		uint32_t name = rng_below(&rng, NAMES);
		bool try = phase->tries && rng_one_in(&rng, 4);
		weir_time patience = (1 + rng_below(&rng, 40)) * 50 * WEIR_MS;
		struct weir_request request = { .limit = LIMIT,
						.weight = 1 + rng_below(&rng, 2),
						.ttl = TTL,
						.deadline = try ? 0 : weir_after(patience) };
		struct weir_lease *lease = acts_acquire(&mine, name, request, phase->flags);

		if (rng_one_in(&rng, 8))
			acts_look(&mine, name);
		if (lease != NULL)
			hold(name, lease);
	}
}

/* What the parent has open is none of a client's business: a connection that it keeps from being
 * closed least of all. */
static pid_t start(void (*what)(uint32_t client), uint32_t client)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)close_range(3, ~0U, 0);
	rng.state ^= client * UINT64_C(0x9e3779b97f4a7c15);
	what(client);
	_exit(0);
}

static void kill_client(pid_t pid, uint32_t client)
{
	struct history_op *op = recorder_begin(recorder, HISTORY_DEATH, 0, client);
	int status;

	(void)kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (!WIFSIGNALED(status) && WEXITSTATUS(status) != 0)
		die("a client had failed before it was killed");
	if (op != NULL)
		recorder_end(op, 0);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void step_clock(weir_time by)
{
	char path[300];
	int64_t offset = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/clock", directory);
	file = fopen(path, "r+e");
	if (file == NULL || fread(&offset, sizeof(offset), 1, file) != 1)
		die(path);
	offset += by;
	rewind(file);
	if (fwrite(&offset, sizeof(offset), 1, file) != 1 || fclose(file) != 0)
		die(path);
}

/* The replica hears no more, its master goes on for a while, and then nobody reaches that one. */
static void replace_by_stale_replica(void)
{
	int replica = 1 - master;

	await_replica(master);
	(void)cli(replica, "replicaof no one");
	nap(rng_between(&rng, 200, 400));
	proxy_retarget(proxy, port_of(replica));
	(void)cli(master, "replicaof 127.0.0.1 %u", port_of(replica));
	master = replica;
}

static void do_harm(void)
{
	switch (phase->fault) {
	case KILL_SERVER:
		hits[KILL_SERVER] += kill_server(master) ? 1 : 0;
		nap(600);
		break;
	case CLOCK_BACK:
		step_clock(-(weir_time)rng_between(&rng, 100, 100000) * WEIR_MS);
		hits[CLOCK_BACK]++;
		nap(200);
		break;
	case CLOCK_FORWARD:
		step_clock(rng_between(&rng, 500, 5000) * WEIR_MS);
		hits[CLOCK_FORWARD]++;
		nap(200);
		break;
	case FLUSH:
		(void)cli(master, "flushall");
		hits[FLUSH]++;
		nap(200);
		break;
	case STALE:
		replace_by_stale_replica();
		hits[STALE]++;
		nap(1000);
		break;
	default:
		break;
	}
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Whatever the dead have held comes back within their TTL. */
static void take_everything(uint32_t client)
{
	begin(client);
	for (uint32_t i = 0; i < NAMES; i++) {
		struct weir_request request = { .name = name_of(i),
						.limit = LIMIT,
						.weight = LIMIT,
						.deadline = weir_after(20 * WEIR_SECOND) };
		struct weir_lease *lease;

		if (weir_acquire(mine.store, &request, &lease) < 0)
			die("the permits of the dead have not come back (L11)");
		if (weir_release(lease) < 0)
			die("release");
		weir_lease_unref(lease);
		acts_end(&mine, i);
	}
	weir_store_close(mine.store);
}

static void create_names(uint32_t client)
{
	begin(client);
	for (uint32_t i = 0; i < NAMES; i++) {
		struct history_op *op = recorder_begin(recorder, HISTORY_RESIZE, i, client);

		if (op == NULL || weir_ensure(mine.store, name_of(i), LIMIT) < 0)
			die("ensure");
		op->limit = LIMIT;
		recorder_end(op, 0);
	}
	weir_store_close(mine.store);
}

static void wait_for(pid_t pid, const char *what)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		die(what);
}

static bool check(void)
{
	struct history history = { .slack = SLACK };
	bool right;

	recorder_history(recorder, &history);
	right = recorder_check(phase->what, &history, phase->excused, NULL);
	free(history.ops);
	recorder_free(recorder);
	return right;
}

static bool proxy_did_all(void)
{
	for (enum harm harm = NO_HARM; harm < SAY; harm++)
		if (proxy_hits(proxy, harm) == 0)
			return false;
	return true;
}

/* For as long as was asked for, and until each harm was done. */
static bool run_phase(void)
{
	weir_time end = weir_after(seconds);
	pid_t pids[CLIENTS];
	uint32_t ids[CLIENTS], next = 1;

	recorder = recorder_new(2000000);
	wait_for(start(create_names, 0), "creating names");
	if (phase->storm)
		proxy_storm(proxy, rng_next(&rng) | 1, 30);
	for (uint32_t i = 0; i < CLIENTS; i++)
		pids[i] = start(work, ids[i] = next++);
	while (weir_now() < end || (phase->storm && !proxy_did_all())) {
		uint32_t i = rng_below(&rng, CLIENTS);

		nap(rng_between(&rng, 200, 600));
		kill_client(pids[i], ids[i]);
		hits[KILL_CLIENT]++;
		pids[i] = start(work, ids[i] = next++);
		do_harm();
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		kill_client(pids[i], ids[i]);
	proxy_storm(proxy, 0, 0);
	wait_for(start(take_everything, 0), "the end");
	return check();
}

/* Every harm was done, or nothing was shown. */
static bool print_hits(void)
{
	static const char *const harms[] = { "unharmed", "cut before", "cut after", "truncated",
					     "stalled",  "dripped",    "delayed" };
	bool all = proxy_did_all();

	for (enum harm harm = NO_HARM; harm < SAY; harm++)
		(void)printf("%s %u, ", harms[harm], proxy_hits(proxy, harm));
	for (enum fault fault = 0; fault < FAULTS; fault++) {
		(void)printf("%s %u%s", fault_names[fault], hits[fault],
			     fault + 1 < FAULTS ? ", " : "\n");
		all = all && hits[fault] > 0;
	}
	return all;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "seconds", required_argument, NULL, 't' },
						 { "seed", required_argument, NULL, 's' },
						 { NULL, 0, NULL, 0 } };
	bool right = true;
	int option;

	rng.state = (uint64_t)weir_now();
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 't')
			seconds = (weir_time)(strtod(optarg, NULL) * (double)WEIR_SECOND);
		else if (option == 's')
			rng.state = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	directory = argv[optind];
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)printf("redis_chaos --seconds %g --seed 0x%llx\n",
		     (double)seconds / (double)WEIR_SECOND, (unsigned long long)rng.state);
	servers_are_in(directory);
	proxy = proxy_start(port_of(0));
	for (phase = phases; phase < phases + sizeof(phases) / sizeof(phases[0]); phase++)
		right = run_phase() && right;
	right = print_hits() && right;
	proxy_stop(proxy);
	return !right;
}

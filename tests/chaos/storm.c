/* chaos: what many processes see of a store's server while all goes wrong. See storm.h. */
#include "chaos/storm.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weir/store.h>

#include "chaos/acts.h"

enum { CLIENTS = 7, NAMES = 2, LIMIT = 4 };
#define USUAL_TTL (600 * WEIR_MS)
/* Longer than the guard after a server was lost, and all timeouts. */
#define SLACK (8 * WEIR_SECOND)

struct rng storm_rng;
struct proxy *storm_proxy;
static const struct storm_engine *engine;
static const struct storm_phase *phase;
static struct recorder *recorder;
static const char *directory;
static weir_time seconds = 3 * WEIR_SECOND;
static uint32_t clients_killed, *hits; /* for each of the engine's harms */

_Noreturn void storm_die(const char *what)
{
	(void)fprintf(stderr, "%s: %s: %s\n", phase != NULL ? phase->what : engine->program, what,
		      weir_store_error(NULL));
	_exit(3);
}

void storm_nap(long milliseconds)
{
	const struct timespec time = { .tv_sec = milliseconds / 1000,
				       .tv_nsec = milliseconds % 1000 * 1000000 };

	(void)nanosleep(&time, NULL);
}

static weir_time ttl(void)
{
	return phase->ttl != 0 ? phase->ttl : USUAL_TTL;
}

static const char *name_of(uint32_t number)
{
	static char name[40];

	(void)snprintf(name, sizeof(name), "chaos/%d/%u", (int)(phase - engine->phases), number);
	return name;
}

static struct weir_store *open_store(void)
{
	struct weir_store *store = NULL;
	char url[600];

	(void)snprintf(
		url, sizeof(url), "%s&min_ttl=50ms&heartbeat=200ms&min_delay=5ms&max_delay=50ms%s",
		engine->url(proxy_port(storm_proxy)), phase->options != NULL ? phase->options : "");
	if (weir_store_open(url, &store) < 0)
		storm_die("open");
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
			      .forgets = engine->forgets,
			      .die = storm_die };
}

/* Most hold for a moment; some for nearly as long as they may, so that they hold when the server
 * forgets them. */
static void hold(uint32_t name, struct weir_lease *lease)
{
	bool long_one = rng_one_in(&storm_rng, phase->long_ones != 0 ? phase->long_ones : 40);

	for (uint32_t i = 0; i < (long_one ? 30 : rng_one_in(&storm_rng, 8)); i++) {
		storm_nap(ttl() / WEIR_MS / 40);
		(void)acts_sample(&mine, name, lease);
		if (i == 15 && acts_on_token(&mine, name, HISTORY_RENEW, lease, ttl()) < 0)
			break;
	}
	(void)acts_on_token(&mine, name, HISTORY_RELEASE, lease, 0);
	weir_lease_unref(lease);
}

static void work(uint32_t client)
{
	begin(client);
	for (;;) {
		uint32_t name = rng_below(&storm_rng, NAMES);
		bool try = phase->tries && rng_one_in(&storm_rng, 4);
		weir_time patience = (1 + rng_below(&storm_rng, 40)) * 50 * WEIR_MS;
		struct weir_request request = { .limit = LIMIT,
						.weight = 1 + rng_below(&storm_rng, 2),
						.ttl = ttl(),
						.deadline = try ? 0 : weir_after(patience) };
		struct weir_lease *lease = acts_acquire(&mine, name, request, phase->flags);

		if (rng_one_in(&storm_rng, 8))
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
		storm_die("fork");
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)close_range(3, ~0U, 0);
	storm_rng.state ^= client * UINT64_C(0x9e3779b97f4a7c15);
	what(client);
	_exit(0);
}

static void kill_client(pid_t pid, uint32_t client)
{
	struct history_op *op = recorder_begin(recorder, HISTORY_DEATH, 0, client);
	int status;

	(void)kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		storm_die("waitpid");
	if (!WIFSIGNALED(status) && WEXITSTATUS(status) != 0)
		storm_die("a client had failed before it was killed");
	if (op != NULL)
		recorder_end(op, 0);
}

/* ---- harm ------------------------------------------------------------------------------------ */

weir_time storm_step_clock(weir_time by)
{
	char path[300];
	int64_t offset = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/clock", directory);
	file = fopen(path, "r+e");
	if (file == NULL || fread(&offset, sizeof(offset), 1, file) != 1)
		storm_die(path);
	offset += by;
	rewind(file);
	if (fwrite(&offset, sizeof(offset), 1, file) != 1 || fclose(file) != 0)
		storm_die(path);
	return offset;
}

static void do_harm(void)
{
	const struct storm_harm *harm = phase->harm;

	if (harm == NULL || !harm->harm())
		return;
	hits[harm - engine->harms]++;
	storm_nap(harm->pause);
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
			storm_die("the permits of the dead have not come back (L11)");
		if (weir_release(lease) < 0)
			storm_die("release");
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
			storm_die("ensure");
		op->limit = LIMIT;
		recorder_end(op, 0);
	}
	weir_store_close(mine.store);
}

static void wait_for(pid_t pid, const char *what)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		storm_die(what);
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
		if (proxy_hits(storm_proxy, harm) == 0)
			return false;
	return true;
}

static bool all_was_done(void)
{
	return (!phase->proxy || proxy_did_all()) &&
	       (phase->harm == NULL || hits[phase->harm - engine->harms] > 0);
}

/* For as long as was asked for, and until each harm was done. */
static bool run_phase(void)
{
	weir_time end = weir_after(seconds);
	pid_t pids[CLIENTS];
	uint32_t ids[CLIENTS], next = 1;

	recorder = recorder_new(2000000);
	wait_for(start(create_names, 0), "creating names");
	if (phase->proxy)
		proxy_storm(storm_proxy, rng_next(&storm_rng) | 1, 30);
	for (uint32_t i = 0; i < CLIENTS; i++)
		pids[i] = start(work, ids[i] = next++);
	while (weir_now() < end || !all_was_done()) {
		uint32_t i = rng_below(&storm_rng, CLIENTS);

		storm_nap(rng_between(&storm_rng, 200, 600));
		kill_client(pids[i], ids[i]);
		clients_killed++;
		pids[i] = start(work, ids[i] = next++);
		do_harm();
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		kill_client(pids[i], ids[i]);
	proxy_storm(storm_proxy, 0, 0);
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
		(void)printf("%s %u, ", harms[harm], proxy_hits(storm_proxy, harm));
	(void)printf("clients killed %u", clients_killed);
	for (size_t i = 0; i < engine->n_harms; i++) {
		(void)printf(", %s %u", engine->harms[i].what, hits[i]);
		all = all && hits[i] > 0;
	}
	(void)printf("\n");
	return all && clients_killed > 0;
}

static void read_options(int argc, char **argv)
{
	static const struct option options[] = { { "seconds", required_argument, NULL, 't' },
						 { "seed", required_argument, NULL, 's' },
						 { NULL, 0, NULL, 0 } };
	int option;

	storm_rng.state = (uint64_t)weir_now();
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 't')
			seconds = (weir_time)(strtod(optarg, NULL) * (double)WEIR_SECOND);
		else if (option == 's')
			storm_rng.state = strtoull(optarg, NULL, 0);
		else
			exit(2);
	}
	if (optind + 1 + engine->arguments != argc)
		exit(2);
	directory = argv[optind];
}

int storm_main(int argc, char **argv, const struct storm_engine *what)
{
	bool right = true;

	engine = what;
	read_options(argc, argv);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)printf("%s --seconds %g --seed 0x%llx\n", engine->program,
		     (double)seconds / (double)WEIR_SECOND, (unsigned long long)storm_rng.state);
	hits = calloc(engine->n_harms, sizeof(*hits));
	if (hits == NULL)
		storm_die("memory");
	storm_proxy = proxy_start(engine->protocol, engine->begin(argv + optind));
	for (phase = engine->phases; phase < engine->phases + engine->n_phases; phase++)
		right = run_phase() && right;
	right = print_hits() && right;
	proxy_stop(storm_proxy);
	free(hits);
	return !right;
}

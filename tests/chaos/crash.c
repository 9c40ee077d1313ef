/* chaos: kills processes that use a store, at random and at every system call, and stops them.
 *
 *     crash [--kills N] [--seed X] sqlite:DIRECTORY/weir.db
 *
 * All leases live for ten minutes, so whatever comes back in time comes back because its holder is
 * known to be dead (L11). What everybody saw is checked by history.h. The last line says how many
 * were killed, and how. */
#include "chaos/crash.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/store.h>

struct crash crash;

_Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", what, weir_store_error(NULL));
	_exit(3);
}

static struct weir_store *open_store(void)
{
	struct weir_store *store;

	if (weir_store_open(crash.url, &store) < 0)
		die("open");
	return store;
}

const char *name_of(uint32_t number)
{
	static char name[32];

	(void)snprintf(name, sizeof(name), "crash/%u", number);
	return name;
}

struct acts crash_acts(uint32_t client)
{
	return (struct acts){ .recorder = crash.recorder,
			      .store = open_store(),
			      .client = client,
			      .name_of = name_of,
			      .die = die };
}

pid_t start(void (*work)(uint32_t client), uint32_t client)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	crash.rng.state ^= client * UINT64_C(0x9e3779b97f4a7c15);
	work(client);
	_exit(0);
}

void kill_client(pid_t pid, uint32_t client)
{
	struct history_op *op = recorder_begin(crash.recorder, HISTORY_DEATH, 0, client);
	int status;

	(void)kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (!WIFSIGNALED(status) && WEXITSTATUS(status) != 0)
		die("a client had failed before it was killed");
	if (op != NULL)
		recorder_end(op, 0);
}

/* ---- the end ------------------------------------------------------------------------------------
 */

static void take_everything(uint32_t client)
{
	struct acts acts = crash_acts(client);

	for (uint32_t i = 0; i < crash.names; i++) {
		const char *name = name_of(i);
		struct weir_request request = { .name = name,
						.weight = crash.limit,
						.deadline = weir_after(10 * WEIR_SECOND) };
		struct weir_lease *lease;

		if (weir_acquire(acts.store, &request, &lease) < 0)
			die("the permits of the dead have not come back (L11)");
		if (weir_release(lease) < 0)
			die("release");
		weir_lease_unref(lease);
		if (client != 0)
			acts_end(&acts, i);
	}
	weir_store_close(acts.store);
}

void finish(bool for_good)
{
	pid_t pid = start(take_everything, for_good);
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		die("the end");
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static void create_names(uint32_t client)
{
	struct weir_store *store = open_store();

	for (uint32_t i = 0; i < crash.names; i++) {
		struct history_op *op = recorder_begin(crash.recorder, HISTORY_RESIZE, i, client);

		if (weir_ensure(store, name_of(i), crash.limit) < 0 || op == NULL)
			die("ensure");
		op->limit = crash.limit;
		recorder_end(op, 0);
	}
	weir_store_close(store);
}

/* A new store, a new history. */
static void begin(const char *url, const char *options, uint32_t names, uint32_t limit)
{
	static uint32_t number;
	const char *place = strstr(url, "DIRECTORY");
	int status;

	if (place == NULL)
		die("the URL has no DIRECTORY in it");
	(void)snprintf(crash.url, sizeof(crash.url), "%.*s%s/%u%s?%s", (int)(place - url), url,
		       crash.directory, number++, place + strlen("DIRECTORY/weir"), options);
	crash.names = names;
	crash.limit = limit;
	crash.next_client = 1;
	crash.recorder = recorder_new(4000000);
	if (waitpid(start(create_names, 0), &status, 0) < 0 || status != 0)
		die("creating names");
}

static bool end(const char *what, int64_t slack, size_t *ret_tries)
{
	struct history history = { .slack = slack, .deaths_free_at_once = true };
	bool right;

	recorder_history(crash.recorder, &history);
	right = recorder_check(what, &history, 0, ret_tries);
	free(history.ops);
	recorder_free(crash.recorder);
	return right;
}

/* Each few with a new store: whoever comes after many dead has much to clear away, and its life is
 * not the one that is to be cut at every point. */
static bool kill_at_calls(const char *url, uint32_t most, uint32_t *ret_killed)
{
	enum { FEW = 50 };
	uint32_t killed = 0, all = 0;
	bool right = true;

	while (killed < most) {
		uint32_t now;

		begin(url, "heartbeat=200ms", 1, 1);
		now = crash_at_calls(FEW, killed, &all);
		killed += now;
		finish(true);
		right = end(NULL, 5 * WEIR_SECOND, NULL) && right;
		if (now == 0) {
			(void)printf("system calls cannot be traced here\n");
			break;
		}
	}
	(void)printf("a client's life has %u stops at system calls\n", all);
	*ret_killed = killed;
	return right;
}

static uint32_t kills = 2000;

static const char *read_options(int argc, char **argv)
{
	static const struct option options[] = { { "kills", required_argument, NULL, 'k' },
						 { "seed", required_argument, NULL, 's' },
						 { NULL, 0, NULL, 0 } };
	int option;

	crash.rng.state = (uint64_t)weir_now();
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'k')
			kills = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 's')
			crash.rng.state = strtoull(optarg, NULL, 0);
		else
			exit(2);
	}
	if (optind + 1 != argc)
		exit(2);
	(void)printf("%s --kills %u --seed 0x%llx\n", argv[0], kills,
		     (unsigned long long)crash.rng.state);
	return argv[optind];
}

int main(int argc, char **argv)
{
	const char *url = read_options(argc, argv);
	uint32_t at_calls, at_random, stopped;
	char command[300];
	size_t tries = 0;
	bool right;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)snprintf(crash.directory, sizeof(crash.directory), "%s/weir-crash-XXXXXX",
		       getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	if (mkdtemp(crash.directory) == NULL)
		die("mkdtemp");
	right = kill_at_calls(url, kills / 3, &at_calls);

	begin(url, "heartbeat=200ms", 3, 3);
	at_random = crash_at_random(kills > at_calls ? kills - at_calls : 0);
	finish(true);
	right = end("at random", 5 * WEIR_SECOND, &tries) && right;
	if (tries == 0)
		die("no try was judged");

	begin(url, "min_ttl=50ms&heartbeat=200ms", 1, 1);
	stopped = crash_by_stopping(8);
	finish(true);
	right = end("stopped", 10 * WEIR_SECOND, NULL) && right;

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", crash.directory);
	if (right && system(command) != 0)
		return 1;
	(void)printf("killed at random %u, at system calls %u; stopped past the TTL %u\n",
		     at_random, at_calls, stopped);
	return !right;
}

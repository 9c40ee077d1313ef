/* bench: what leases in a file cost, beside the bare database and a bare pipe.
 *
 *     sqlite [dir=/tmp] [rounds=20] [seconds=0.2, which is the same]
 *
 * pair          an acquire and a release by one thread, beside two bare immediate transactions (an
 *               insert, a delete) on the same file with the same settings, in turns
 * threads       pairs in a second by 64 threads of one process, beside one thread
 * wake          from a release in one process until another one holds, beside a pipe's wake-up
 * kill          from kill -9 of a holder until the next process holds
 * live          a pair while 9,999 leases live, beside one while 10 live
 * Prints lines of `key value`.
 */
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/lease.h>

static char url[300];
static char path[256];

static void need(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "bench: %s: %s\n", what, weir_store_error(NULL));
		exit(1);
	}
}

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

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double part_of(double *values, size_t n, double part)
{
	qsort(values, n, sizeof(*values), by_size);
	return values[(size_t)((double)(n - 1) * part)];
}

/* ---- pair ------------------------------------------------------------------------------------ */

enum { PAIRS = 200, ROUNDS_MAX = 1000 };

static double pairs(struct weir_store *store, const char *name, uint32_t limit)
{
	weir_time start = weir_now();

	for (int i = 0; i < PAIRS; i++)
		give(take(store, name, limit));
	return (double)(weir_now() - start) / PAIRS / 1000;
}

static sqlite3_stmt *bare[4];

static void bare_open(void)
{
	static const char *const texts[] = {
		"BEGIN IMMEDIATE", "INSERT INTO bench VALUES (1, 'owner', randomblob(100))",
		"DELETE FROM bench WHERE id = 1", "COMMIT"
	};
	sqlite3 *db;

	need(sqlite3_open(path, &db) == SQLITE_OK, "bare open");
	need(sqlite3_exec(db,
			  "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16000;"
			  "CREATE TABLE bench (id INTEGER PRIMARY KEY, a, b)",
			  NULL, NULL, NULL) == SQLITE_OK,
	     "bare table");
	for (int i = 0; i < 4; i++)
		need(sqlite3_prepare_v2(db, texts[i], -1, &bare[i], NULL) == SQLITE_OK, "bare");
}

static double bare_pairs(void)
{
	static const int steps[] = { 0, 1, 3, 0, 2, 3 };
	weir_time start = weir_now();

	for (int i = 0; i < PAIRS; i++) {
		for (int j = 0; j < 6; j++) {
			need(sqlite3_step(bare[steps[j]]) == SQLITE_DONE, "bare step");
			sqlite3_reset(bare[steps[j]]);
		}
	}
	return (double)(weir_now() - start) / PAIRS / 1000;
}

static void bench_pair(size_t rounds)
{
	struct weir_store *store = open_store();
	double ours[ROUNDS_MAX];
	double theirs[ROUNDS_MAX];
	double a, b;

	bare_open();
	for (size_t i = 0; i < rounds; i++) {
		ours[i] = pairs(store, "pair", 1);
		theirs[i] = bare_pairs();
	}
	a = part_of(ours, rounds, 0.5);
	b = part_of(theirs, rounds, 0.5);
	printf("pair_us %.1f\npair_bare_us %.1f\npair_ratio %.2f\n", a, b, a / b);
	weir_store_close(store);
}

/* ---- threads --------------------------------------------------------------------------------- */

static volatile bool stop;

struct worker {
	pthread_t thread;
	struct weir_store *store;
	long done;
};

static void *work(void *argument)
{
	struct worker *worker = argument;

	while (!stop) {
		give(take(worker->store, "threads", 64));
		worker->done++;
	}
	return NULL;
}

static double rate(struct weir_store *store, size_t n)
{
	struct worker workers[64] = { 0 };
	weir_time start = weir_now();
	long done = 0;

	stop = false;
	for (size_t i = 0; i < n; i++) {
		workers[i].store = store;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	usleep(200000);
	stop = true;
	for (size_t i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		done += workers[i].done;
	}
	return (double)done * 1e9 / (double)(weir_now() - start);
}

static void bench_threads(size_t rounds)
{
	struct weir_store *store = open_store();
	double one[ROUNDS_MAX];
	double many[ROUNDS_MAX];
	double a, b;

	rounds = rounds / 4 + 1;
	for (size_t i = 0; i < rounds; i++) {
		one[i] = rate(store, 1);
		many[i] = rate(store, 64);
	}
	a = part_of(one, rounds, 0.5);
	b = part_of(many, rounds, 0.5);
	printf("threads_1_per_s %.0f\nthreads_64_per_s %.0f\nthreads_ratio %.2f\n", a, b, b / a);
	weir_store_close(store);
}

/* ---- other processes ------------------------------------------------------------------------- */

struct other {
	pid_t pid;
	int to, from;
};

static void say(int fd, weir_time time)
{
	need(write(fd, &time, sizeof(time)) == sizeof(time), "write");
}

static weir_time hear(int fd)
{
	weir_time time;

	if (read(fd, &time, sizeof(time)) != sizeof(time))
		_exit(0);
	return time;
}

static struct other start(void (*run)(int from, int to))
{
	struct other other;
	int down[2], up[2];

	need(pipe(down) == 0 && pipe(up) == 0, "pipe");
	other.pid = fork();
	if (other.pid == 0) {
		close(down[1]);
		close(up[0]);
		run(down[0], up[1]);
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	other.to = down[1];
	other.from = up[0];
	return other;
}

static void end(struct other *other)
{
	close(other->to);
	close(other->from);
	kill(other->pid, SIGKILL);
	waitpid(other->pid, NULL, 0);
}

/* Says when it holds, for each time it is asked to. */
static void waiter(int from, int to)
{
	struct weir_store *store = open_store();

	while (true) {
		struct weir_lease *lease;

		(void)hear(from);
		lease = take(store, "wake", 1);
		say(to, weir_now());
		(void)hear(from);
		give(lease);
		say(to, 0);
	}
}

static void echo(int from, int to)
{
	while (true) {
		(void)hear(from);
		say(to, weir_now());
	}
}

static int count_waiting(void *arg, const struct weir_sem_info *info)
{
	*(uint32_t *)arg = info->waiting;
	return 0;
}

static void await_waiter(struct weir_store *store)
{
	const char *name = "wake";
	struct weir_visitor visitor = { .semaphore = count_waiting };
	uint32_t waiting = 0;

	while (waiting == 0) {
		usleep(1000);
		(void)weir_list(store, &name, 1, &visitor, &waiting);
	}
	usleep(5000); /* everybody sleeps by now */
}

static void bench_wake(size_t rounds)
{
	struct weir_store *store = open_store();
	struct other other = start(waiter);
	struct other pipe_peer = start(echo);
	double ours[ROUNDS_MAX];
	double theirs[ROUNDS_MAX];

	rounds = rounds * 10 < ROUNDS_MAX ? rounds * 10 : ROUNDS_MAX;
	for (size_t i = 0; i < rounds; i++) {
		struct weir_lease *lease = take(store, "wake", 1);
		weir_time before;

		say(other.to, 0);
		await_waiter(store);
		before = weir_now();
		need(weir_release(lease) == 0, "release");
		ours[i] = (double)(hear(other.from) - before) / 1000;
		weir_lease_unref(lease);
		say(other.to, 0);
		(void)hear(other.from);
		before = weir_now();
		say(pipe_peer.to, 0);
		theirs[i] = (double)(hear(pipe_peer.from) - before) / 1000;
	}
	printf("wake_p50_us %.1f\nwake_p99_us %.1f\n", part_of(ours, rounds, 0.5),
	       part_of(ours, rounds, 0.99));
	printf("wake_pipe_p50_us %.1f\nwake_pipe_p99_us %.1f\n", part_of(theirs, rounds, 0.5),
	       part_of(theirs, rounds, 0.99));
	end(&other);
	end(&pipe_peer);
	weir_store_close(store);
}

static void holder(int from, int to)
{
	(void)take(open_store(), "wake", 1);
	say(to, 0);
	(void)hear(from);
}

static void bench_kill(size_t rounds)
{
	struct weir_store *store = open_store();
	struct other other = start(waiter);
	double ours[ROUNDS_MAX];

	rounds = rounds * 5 < ROUNDS_MAX ? rounds * 5 : ROUNDS_MAX;
	for (size_t i = 0; i < rounds; i++) {
		struct other victim = start(holder);
		weir_time before;

		(void)hear(victim.from);
		say(other.to, 0);
		await_waiter(store);
		before = weir_now();
		kill(victim.pid, SIGKILL);
		ours[i] = (double)(hear(other.from) - before) / 1000;
		end(&victim);
		say(other.to, 0);
		(void)hear(other.from);
	}
	printf("kill_p50_us %.1f\nkill_p99_us %.1f\n", part_of(ours, rounds, 0.5),
	       part_of(ours, rounds, 0.99));
	end(&other);
	weir_store_close(store);
}

/* ---- live ------------------------------------------------------------------------------------ */

static void bench_live(size_t rounds)
{
	struct weir_store *store = open_store();
	struct weir_lease **leases = calloc(10000, sizeof(struct weir_lease *));
	double few[ROUNDS_MAX];
	double many[ROUNDS_MAX];
	double a, b;

	for (int i = 0; i < 9998; i++)
		leases[i] = take(store, "many", 10000);
	for (int i = 0; i < 9; i++)
		leases[9998] = take(store, "few", 10000);
	for (size_t i = 0; i < rounds; i++) {
		few[i] = pairs(store, "few", 10000);
		many[i] = pairs(store, "many", 10000);
	}
	a = part_of(few, rounds, 0.5);
	b = part_of(many, rounds, 0.5);
	printf("live_10_us %.1f\nlive_9999_us %.1f\nlive_ratio %.2f\n", a, b, b / a);
	free(leases);
	weir_store_close(store);
}

int main(int argc, char **argv)
{
	const char *dir = "/tmp";
	char command[400];
	char name[100];
	size_t rounds = 20;

	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "dir=", 4) == 0)
			dir = argv[i] + 4;
		if (strncmp(argv[i], "rounds=", 7) == 0)
			rounds = strtoul(argv[i] + 7, NULL, 10);
		if (strncmp(argv[i], "seconds=", 8) == 0)
			rounds = (size_t)(strtod(argv[i] + 8, NULL) * 100 + 0.5);
	}
	if (rounds < 1 || rounds > ROUNDS_MAX)
		rounds = 20;
	setlinebuf(stdout);
	snprintf(name, sizeof(name), "%.60s/weir-bench-XXXXXX", dir);
	need(mkdtemp(name) != NULL, "mkdtemp");
	snprintf(path, sizeof(path), "%s/weir.db", name);
	snprintf(url, sizeof(url), "sqlite:%s?default_ttl=10m", path);
	bench_pair(rounds);
	bench_threads(rounds);
	bench_wake(rounds);
	bench_kill(rounds);
	bench_live(rounds);
	snprintf(command, sizeof(command), "rm -rf %s", name);
	return system(command) == 0 ? 0 : 1;
}

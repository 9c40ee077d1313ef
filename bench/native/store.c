/* bench: what the benchmarks of the stores have in common. See store.h. */
#include "store.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void need(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "bench: %s: %s\n", what, weir_store_error(NULL));
		exit(1);
	}
}

void bench_read(struct bench *bench, char **arguments)
{
	setlinebuf(stdout);
	bench->rounds = 20;
	for (; *arguments != NULL; arguments++) {
		if (strncmp(*arguments, "rounds=", 7) == 0)
			bench->rounds = strtoul(*arguments + 7, NULL, 10);
		else if (strncmp(*arguments, "seconds=", 8) == 0)
			bench->rounds = (size_t)(strtod(*arguments + 8, NULL) * 100 + 0.5);
		else if (strchr(*arguments, '=') == NULL)
			bench->only = *arguments;
	}
	if (bench->rounds < 1 || bench->rounds > BENCH_ROUNDS_MAX)
		bench->rounds = 20;
}

bool bench_asks(const struct bench *bench, const char *question)
{
	return bench->only == NULL || strcmp(bench->only, question) == 0;
}

void bench_option(struct bench *bench, const char *option)
{
	size_t used = strlen(bench->url);

	snprintf(bench->url + used, sizeof(bench->url) - used, "%c%s",
		 strchr(bench->url, '?') != NULL ? '&' : '?', option);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double part_of(double *values, size_t n, double part)
{
	qsort(values, n, sizeof(*values), by_size);
	return values[(size_t)((double)(n - 1) * part)];
}

void print_ratio(const char *question, const char *ours, double *our, const char *theirs,
		 double *their, size_t n)
{
	double a = part_of(our, n, 0.5);
	double b = part_of(their, n, 0.5);

	printf("%s_%s %.1f\n%s_%s %.1f\n%s_ratio %.2f\n", question, ours, a, question, theirs, b,
	       question, a / b);
}

struct weir_store *open_store(const struct bench *bench)
{
	struct weir_store *store = NULL;

	need(weir_store_open(bench->url, &store) == 0, "open");
	return store;
}

struct weir_lease *take(struct weir_store *store, const char *name, uint32_t limit)
{
	struct weir_request request = { .name = name, .limit = limit, .deadline = WEIR_NEVER };
	struct weir_lease *lease;

	need(weir_acquire(store, &request, &lease) == 0, "acquire");
	return lease;
}

void give(struct weir_lease *lease)
{
	need(weir_release(lease) == 0, "release");
	weir_lease_unref(lease);
}

double microseconds_since(weir_time start)
{
	return (double)(weir_now() - start) / 1000;
}

double pairs(struct weir_store *store, const char *name, uint32_t limit)
{
	weir_time start = weir_now();

	for (int i = 0; i < PAIRS; i++)
		give(take(store, name, limit));
	return microseconds_since(start) / PAIRS;
}

void bench_pair(const struct bench *bench, const char *peer, bench_bare *bare, void *argument)
{
	struct weir_store *store = open_store(bench);
	double ours[BENCH_ROUNDS_MAX];
	double theirs[BENCH_ROUNDS_MAX];
	char key[100];

	(void)pairs(store, "pair", 1);
	(void)bare(argument);
	for (size_t i = 0; i < bench->rounds; i++) {
		ours[i] = pairs(store, "pair", 1);
		theirs[i] = bare(argument);
	}
	snprintf(key, sizeof(key), "%s_us", peer);
	print_ratio("pair", "us", ours, key, theirs, bench->rounds);
	weir_store_close(store);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	struct weir_store *store;
	const bool *stop;
	long done;
};

static void *work(void *argument)
{
	struct worker *worker = argument;

	while (!__atomic_load_n(worker->stop, __ATOMIC_RELAXED)) {
		give(take(worker->store, "threads", 64));
		worker->done++;
	}
	return NULL;
}

double bench_rate(struct weir_store *store, size_t n)
{
	struct worker workers[64] = { 0 };
	weir_time begun = weir_now();
	bool stop = false;
	long done = 0;

	for (size_t i = 0; i < n; i++) {
		workers[i].store = store;
		workers[i].stop = &stop;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	usleep(200000);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (size_t i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		done += workers[i].done;
	}
	return (double)done * 1e6 / microseconds_since(begun);
}

void bench_threads(const struct bench *bench)
{
	struct weir_store *store = open_store(bench);
	double one[BENCH_ROUNDS_MAX];
	double many[BENCH_ROUNDS_MAX];
	size_t rounds = bench->rounds / 4 + 1;

	for (size_t i = 0; i < rounds; i++) {
		one[i] = bench_rate(store, 1);
		many[i] = bench_rate(store, 64);
	}
	print_ratio("threads", "64_per_s", many, "1_per_s", one, rounds);
	weir_store_close(store);
}

/* ---- live ------------------------------------------------------------------------------------ */

struct holders {
	struct weir_store *store;
	struct weir_lease **leases;
	int count;
};

static void *hold(void *argument)
{
	struct holders *holders = argument;

	for (int i = 0; i < holders->count; i++)
		holders->leases[i] = take(holders->store, "many", 10000);
	return NULL;
}

/* By some at once, for where each has to wait for a disk. */
static void hold_many(struct weir_store *store, struct weir_lease **leases, int count)
{
	enum { CREW = 32 };
	struct holders holders[CREW];
	pthread_t threads[CREW];

	for (int i = 0; i < CREW; i++) {
		int from = count * i / CREW;

		holders[i] = (struct holders){ store, leases + from,
					       count * (i + 1) / CREW - from };
		pthread_create(&threads[i], NULL, hold, &holders[i]);
	}
	for (int i = 0; i < CREW; i++)
		pthread_join(threads[i], NULL);
}

void bench_live(const struct bench *bench)
{
	enum { MANY = 9998, FEW = 9 };
	struct weir_store *store = open_store(bench);
	struct weir_lease *leases[MANY + FEW];
	double few[BENCH_ROUNDS_MAX];
	double many[BENCH_ROUNDS_MAX];

	hold_many(store, leases, MANY);
	for (int i = 0; i < FEW; i++)
		leases[MANY + i] = take(store, "few", 10000);
	for (size_t i = 0; i < bench->rounds; i++) {
		few[i] = pairs(store, "few", 10000);
		many[i] = pairs(store, "many", 10000);
	}
	print_ratio("live", "9999_us", many, "10_us", few, bench->rounds);
	for (int i = 0; i < MANY + FEW; i++)
		weir_lease_unref(leases[i]);
	weir_store_close(store);
}

/* ---- other processes ------------------------------------------------------------------------- */

void say(int fd, weir_time time)
{
	need(write(fd, &time, sizeof(time)) == sizeof(time), "write");
}

weir_time hear(int fd)
{
	weir_time time;

	if (read(fd, &time, sizeof(time)) != sizeof(time))
		_exit(0);
	return time;
}

struct other start(const struct bench *bench,
		   void (*run)(const struct bench *bench, int from, int to))
{
	struct other other;
	int down[2], up[2];

	need(pipe(down) == 0 && pipe(up) == 0, "pipe");
	other.pid = fork();
	if (other.pid == 0) {
		close(down[1]);
		close(up[0]);
		run(bench, down[0], up[1]);
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	other.to = down[1];
	other.from = up[0];
	return other;
}

void end(struct other *other)
{
	close(other->to);
	close(other->from);
	kill(other->pid, SIGKILL);
	waitpid(other->pid, NULL, 0);
}

/* Says when it holds, for each time it is asked to. */
static void waiter(const struct bench *bench, int from, int to)
{
	struct weir_store *store = open_store(bench);

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

	while (waiting == 0)
		(void)weir_list(store, &name, 1, &visitor, &waiting);
}

static void rest(void)
{
	usleep(5000); /* everybody sleeps by then */
}

/* Somebody else looks on, so that whoever releases has done nothing since it acquired. */
static double hand_over(struct weir_store *store, struct weir_store *onlooker,
			const struct other *other, bool rested)
{
	struct weir_lease *lease = take(store, "wake", 1);
	weir_time before;
	double time;

	say(other->to, 0);
	await_waiter(onlooker);
	if (rested)
		rest();
	before = weir_now();
	need(weir_release(lease) == 0, "release");
	time = (double)(hear(other->from) - before) / 1000;
	weir_lease_unref(lease);
	say(other->to, 0);
	(void)hear(other->from);
	return time;
}

static void print_wakes(const char *question, const char *peer, double *ours, double *theirs,
			size_t n)
{
	char key[100];

	printf("%s_p99_us %.1f\n%s_%s_p99_us %.1f\n", question, part_of(ours, n, 0.99), question,
	       peer, part_of(theirs, n, 0.99));
	snprintf(key, sizeof(key), "%s_p50_us", peer);
	print_ratio(question, "p50_us", ours, key, theirs, n);
}

static void prepare_nothing(void *argument)
{
	(void)argument;
}

void bench_wake(const struct bench *bench, const char *peer, void (*prepare)(void *argument),
		bench_bare *bare, void *argument)
{
	enum { ROW = 20 };
	struct other other = start(bench, waiter);
	struct weir_store *store = open_store(bench), *onlooker = open_store(bench);
	double ours[BENCH_ROUNDS_MAX];
	double theirs[BENCH_ROUNDS_MAX];
	size_t n = 0;

	prepare = prepare != NULL ? prepare : prepare_nothing;
	for (size_t i = 0; i < bench->rounds && n + ROW <= BENCH_ROUNDS_MAX; i++, n += ROW) {
		for (size_t j = 0; j < ROW; j++)
			ours[n + j] = hand_over(store, onlooker, &other, false);
		for (size_t j = 0; j < ROW; j++) {
			prepare(argument);
			theirs[n + j] = bare(argument);
		}
	}
	print_wakes("wake", peer, ours, theirs, n);
	n = bench->rounds * 5 < BENCH_ROUNDS_MAX ? bench->rounds * 5 : BENCH_ROUNDS_MAX;
	for (size_t i = 0; i < n; i++) {
		ours[i] = hand_over(store, onlooker, &other, true);
		prepare(argument);
		rest();
		theirs[i] = bare(argument);
	}
	print_wakes("rested_wake", peer, ours, theirs, n);
	end(&other);
	weir_store_close(onlooker);
	weir_store_close(store);
}

static void holder(const struct bench *bench, int from, int to)
{
	(void)take(open_store(bench), "wake", 1);
	say(to, 0);
	(void)hear(from);
}

void bench_kill(const struct bench *bench)
{
	struct other other = start(bench, waiter);
	struct weir_store *store = open_store(bench);
	double ours[BENCH_ROUNDS_MAX];
	size_t rounds = bench->rounds * 5 < BENCH_ROUNDS_MAX ? bench->rounds * 5 : BENCH_ROUNDS_MAX;

	for (size_t i = 0; i < rounds; i++) {
		struct other victim = start(bench, holder);
		weir_time before;

		(void)hear(victim.from);
		say(other.to, 0);
		await_waiter(store);
		rest();
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

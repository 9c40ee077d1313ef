/* bench: what leases in a file cost, beside the bare database and a bare pipe.
 *
 *     sqlite weir [dir=/tmp] [rounds=20] [seconds=0.2, which is the same] [QUESTION]
 *
 * pair          beside two bare immediate transactions (an insert, a delete) on the same file with
 *               the same settings
 * wake          beside a pipe's wake-up
 * threads, kill, live; see store.h. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

static sqlite3_stmt *bare[4];

static void bare_open(const char *path)
{
	static const char *const texts[] = {
		"BEGIN IMMEDIATE", "INSERT INTO bench VALUES (1, 'owner', randomblob(100))",
		"DELETE FROM bench WHERE id = 1", "COMMIT"
	};
	sqlite3 *db;

	need(sqlite3_open(path, &db) == SQLITE_OK, "bare open");
	need(sqlite3_exec(db,
			  "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16000;"
			  "CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, a, b)",
			  NULL, NULL, NULL) == SQLITE_OK,
	     "bare table");
	for (int i = 0; i < 4; i++)
		need(sqlite3_prepare_v2(db, texts[i], -1, &bare[i], NULL) == SQLITE_OK, "bare");
}

static double bare_pairs(void *argument)
{
	static const int steps[] = { 0, 1, 3, 0, 2, 3 };
	weir_time begun = weir_now();

	(void)argument;
	for (int i = 0; i < PAIRS; i++) {
		for (int j = 0; j < 6; j++) {
			need(sqlite3_step(bare[steps[j]]) == SQLITE_DONE, "bare step");
			sqlite3_reset(bare[steps[j]]);
		}
	}
	return microseconds_since(begun) / PAIRS;
}

static void echo(const struct bench *bench, int from, int to)
{
	(void)bench;
	while (true) {
		(void)hear(from);
		say(to, weir_now());
	}
}

static double bare_wake(void *argument)
{
	struct other *peer = argument;
	weir_time before = weir_now();

	say(peer->to, 0);
	return (double)(hear(peer->from) - before) / 1000;
}

int main(int argc, char **argv)
{
	struct bench bench = { 0 };
	const char *dir = "/tmp";
	char command[400];
	char name[100];
	char path[256];

	if (argc < 2 || strcmp(argv[1], "weir") != 0)
		return 64;
	bench_read(&bench, argv + 2);
	for (int i = 2; i < argc; i++)
		if (strncmp(argv[i], "dir=", 4) == 0)
			dir = argv[i] + 4;
	snprintf(name, sizeof(name), "%.60s/weir-bench-XXXXXX", dir);
	need(mkdtemp(name) != NULL, "mkdtemp");
	snprintf(path, sizeof(path), "%s/weir.db", name);
	snprintf(bench.url, sizeof(bench.url), "sqlite:%s?default_ttl=10m", path);
	if (bench_asks(&bench, "wake")) {
		struct other peer = start(&bench, echo);

		bench_wake(&bench, "pipe", NULL, bare_wake, &peer);
		end(&peer);
	}
	if (bench_asks(&bench, "kill"))
		bench_kill(&bench);
	if (bench_asks(&bench, "pair")) {
		weir_store_close(open_store(&bench));
		bare_open(path);
		bench_pair(&bench, "bare", bare_pairs, NULL);
	}
	if (bench_asks(&bench, "threads"))
		bench_threads(&bench);
	if (bench_asks(&bench, "live"))
		bench_live(&bench);
	snprintf(command, sizeof(command), "rm -rf %s", name);
	return system(command) == 0 ? 0 : 1;
}

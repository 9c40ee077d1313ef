/* bench: what leases in a PostgreSQL database cost, beside bare statements.
 *
 *     postgres URL [commit=on|off] [rounds=20] [QUESTION]
 *
 * pair          beside two calls of a function that updates one row, on a connection of the same
 * kind statements    that the server ran for a pair; needs pg_stat_statements to be loaded wake
 * beside a commit of one row with a NOTIFY in it, until another process has heard it threads, live;
 * see store.h.
 *
 * commit=off: no commit waits for the disk. `make bench-postgres` starts a server for it. */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

static const char *address;
static bool waits_for_disk = true;

static void run(PGconn *conn, const char *text)
{
	PGresult *result = PQexec(conn, text);

	if (PQresultStatus(result) != PGRES_COMMAND_OK &&
	    PQresultStatus(result) != PGRES_TUPLES_OK) {
		fprintf(stderr, "bench: %s: %s", text, PQerrorMessage(conn));
		exit(1);
	}
	PQclear(result);
}

static double number(PGconn *conn, const char *text)
{
	PGresult *result = PQexec(conn, text);
	double value;

	need(PQresultStatus(result) == PGRES_TUPLES_OK, PQerrorMessage(conn));
	value = strtod(PQgetvalue(result, 0, 0), NULL);
	PQclear(result);
	return value;
}

static PGconn *dial(const char *database)
{
	const char *keywords[] = { "dbname", database != NULL ? "dbname" : NULL, NULL };
	const char *values[] = { address, database, NULL };
	PGconn *conn = PQconnectdbParams(keywords, values, 1);

	need(PQstatus(conn) == CONNECTION_OK, PQerrorMessage(conn));
	run(conn, waits_for_disk ? "SET synchronous_commit = on" : "SET synchronous_commit = off");
	return conn;
}

/* The bare calls have a database of their own: a NOTIFY wakes up everybody who listens in the same
 * one, and neither is to wait for the other's. */
static PGconn *dial_bare(void)
{
	return dial("weir_bench");
}

static void make_bare(PGconn *conn)
{
	run(conn, "CREATE TABLE bench (id integer PRIMARY KEY, value bigint NOT NULL)"
		  " WITH (fillfactor = 50);"
		  "INSERT INTO bench VALUES (1, 0), (2, 0);"
		  "CREATE FUNCTION bench_touch(p integer) RETURNS bigint LANGUAGE plpgsql AS "
		  "$$"
		  "DECLARE v bigint; BEGIN"
		  " UPDATE bench SET value = value + 1 WHERE id = p RETURNING value INTO v;"
		  " RETURN v; END $$;"
		  "CREATE FUNCTION bench_wake(p integer) RETURNS bigint LANGUAGE plpgsql AS $$"
		  "DECLARE v bigint; BEGIN"
		  " UPDATE bench SET value = value + 1 WHERE id = p RETURNING value INTO v;"
		  " PERFORM pg_notify('bench', v::text);"
		  " RETURN v; END $$");
}

static void prepare_bare(PGconn *conn)
{
	run(conn, "PREPARE touch(integer) AS SELECT bench_touch($1);"
		  "PREPARE wake(integer) AS SELECT bench_wake($1)");
}

static void call(PGconn *conn, const char *statement, const char *row)
{
	PGresult *result = PQexecPrepared(conn, statement, 1, &row, NULL, NULL, 0);

	need(PQresultStatus(result) == PGRES_TUPLES_OK, PQerrorMessage(conn));
	PQclear(result);
}

static double bare_pairs(void *argument)
{
	weir_time begun = weir_now();

	for (int i = 0; i < 2 * PAIRS; i++)
		call(argument, "touch", "1");
	return microseconds_since(begun) / PAIRS;
}

/* ---- wake ------------------------------------------------------------------------------------ */

/* The same steps as ours, between the same two processes, so that the same threads and backends
 * have slept, or have just run, when it comes to the one that is timed: one takes, the other one
 * queues up and sleeps; when an onlooker has seen that, the first one wakes it up; and the other
 * one gives back. Each is one bare call. */
struct wake {
	PGconn *conn, *onlooker;
	struct other listener;
};

static void hear_notify(PGconn *conn)
{
	PGnotify *heard = NULL;

	while ((heard = PQnotifies(conn)) == NULL) {
		struct pollfd socket = { .fd = PQsocket(conn), .events = POLLIN };

		need(poll(&socket, 1, -1) == 1 && PQconsumeInput(conn) == 1, "listen");
	}
	PQfreemem(heard);
}

static void listen_for_ever(const struct bench *bench, int from, int to)
{
	PGconn *conn = dial_bare();

	(void)bench;
	prepare_bare(conn);
	run(conn, "LISTEN bench");
	say(to, 0);
	while (true) {
		(void)hear(from);
		call(conn, "touch", "2");
		hear_notify(conn);
		say(to, weir_now());
		(void)hear(from);
		call(conn, "touch", "1");
		say(to, 0);
	}
}

static void have_it_queue_up(void *argument)
{
	struct wake *wake = argument;
	const char *see = "SELECT value FROM bench WHERE id = 2";
	double seen = number(wake->onlooker, see);

	call(wake->conn, "touch", "1");
	say(wake->listener.to, 0);
	while (number(wake->onlooker, see) <= seen)
		;
}

static double bare_wake(void *argument)
{
	struct wake *wake = argument;
	weir_time before = weir_now();
	double time;

	call(wake->conn, "wake", "1");
	time = (double)(hear(wake->listener.from) - before) / 1000;
	say(wake->listener.to, 0);
	(void)hear(wake->listener.from);
	return time;
}

static void wake(const struct bench *bench, PGconn *conn)
{
	struct wake bare = { conn, dial_bare(), start(bench, listen_for_ever) };

	(void)hear(bare.listener.from);
	bench_wake(bench, "commit_and_notify", have_it_queue_up, bare_wake, &bare);
	end(&bare.listener);
	PQfinish(bare.onlooker);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void statements(const struct bench *bench)
{
	PGconn *conn = dial(NULL);
	struct weir_store *store;

	run(conn, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements;"
		  "ALTER ROLE CURRENT_USER SET pg_stat_statements.track = 'top'");
	store = open_store(bench);
	(void)pairs(store, "pair", 1);
	run(conn, "SELECT pg_stat_statements_reset()");
	(void)pairs(store, "pair", 1);
	printf("statements_for_a_pair %.2f\n",
	       number(conn, "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements"
			    " WHERE query NOT LIKE '%pg_stat_statements%'") /
		       PAIRS);
	weir_store_close(store);
	run(conn, "ALTER ROLE CURRENT_USER SET pg_stat_statements.track = 'none'");
	PQfinish(conn);
}

int main(int argc, char **argv)
{
	struct bench bench = { 0 };
	PGconn *server, *conn;

	if (argc < 2)
		return 64;
	address = argv[1];
	bench_read(&bench, argv + 2);
	snprintf(bench.url, sizeof(bench.url), "%s", address);
	bench_option(&bench, "default_ttl=10m");
	for (int i = 2; i < argc; i++)
		waits_for_disk = waits_for_disk && strcmp(argv[i], "commit=off") != 0;
	bench_option(&bench, waits_for_disk ? "synchronous_commit=on" : "synchronous_commit=off");
	server = dial(NULL);
	run(server, "CREATE DATABASE weir_bench");
	conn = dial_bare();
	make_bare(conn);
	prepare_bare(conn);
	if (bench_asks(&bench, "wake"))
		wake(&bench, conn);
	if (bench_asks(&bench, "pair"))
		bench_pair(&bench, "two_updates", bare_pairs, conn);
	if (bench_asks(&bench, "statements"))
		statements(&bench);
	if (bench_asks(&bench, "threads"))
		bench_threads(&bench);
	if (bench_asks(&bench, "live"))
		bench_live(&bench);
	PQfinish(conn);
	run(server, "DROP DATABASE weir_bench");
	PQfinish(server);
	return 0;
}

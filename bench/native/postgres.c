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

static PGconn *dial(void)
{
	PGconn *conn = PQconnectdb(address);

	need(PQstatus(conn) == CONNECTION_OK, PQerrorMessage(conn));
	run(conn, waits_for_disk ? "SET synchronous_commit = on" : "SET synchronous_commit = off");
	return conn;
}

static void make_bare(PGconn *conn)
{
	run(conn,
	    "SET client_min_messages = warning;"
	    "CREATE TABLE IF NOT EXISTS bench (id integer PRIMARY KEY, value bigint NOT NULL)"
	    " WITH (fillfactor = 50);"
	    "INSERT INTO bench VALUES (1, 0) ON CONFLICT DO NOTHING;"
	    "CREATE OR REPLACE FUNCTION bench_touch(p integer) RETURNS bigint LANGUAGE plpgsql AS "
	    "$$"
	    "DECLARE v bigint; BEGIN"
	    " UPDATE bench SET value = value + 1 WHERE id = p RETURNING value INTO v;"
	    " RETURN v; END $$;"
	    "CREATE OR REPLACE FUNCTION bench_wake(p integer) RETURNS bigint LANGUAGE plpgsql AS $$"
	    "DECLARE v bigint; BEGIN"
	    " UPDATE bench SET value = value + 1 WHERE id = p RETURNING value INTO v;"
	    " PERFORM pg_notify('bench', v::text);"
	    " RETURN v; END $$;"
	    "PREPARE touch(integer) AS SELECT bench_touch($1);"
	    "PREPARE wake(integer) AS SELECT bench_wake($1)");
}

static void call(PGconn *conn, const char *statement)
{
	static const char *const values[] = { "1" };
	PGresult *result = PQexecPrepared(conn, statement, 1, values, NULL, NULL, 0);

	need(PQresultStatus(result) == PGRES_TUPLES_OK, PQerrorMessage(conn));
	PQclear(result);
}

static double bare_pairs(void *argument)
{
	weir_time begun = weir_now();

	for (int i = 0; i < 2 * PAIRS; i++)
		call(argument, "touch");
	return microseconds_since(begun) / PAIRS;
}

/* ---- wake ------------------------------------------------------------------------------------ */

struct wake {
	PGconn *conn;
	struct other listener;
};

static void listen_for_ever(const struct bench *bench, int from, int to)
{
	PGconn *conn = dial();
	PGnotify *heard;

	(void)bench;
	(void)from;
	run(conn, "LISTEN bench");
	say(to, 0);
	while (true) {
		struct pollfd socket = { .fd = PQsocket(conn), .events = POLLIN };

		need(poll(&socket, 1, -1) == 1 && PQconsumeInput(conn) == 1, "listen");
		while ((heard = PQnotifies(conn)) != NULL) {
			say(to, weir_now());
			PQfreemem(heard);
		}
	}
}

static double bare_wake(void *argument)
{
	struct wake *wake = argument;
	weir_time before = weir_now();

	call(wake->conn, "wake");
	return (double)(hear(wake->listener.from) - before) / 1000;
}

static void wake(const struct bench *bench, PGconn *conn)
{
	struct wake bare = { conn, start(bench, listen_for_ever) };

	(void)hear(bare.listener.from);
	bench_wake(bench, "commit_and_notify", bare_wake, &bare);
	end(&bare.listener);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void statements(const struct bench *bench, PGconn *conn)
{
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
}

int main(int argc, char **argv)
{
	struct bench bench = { 0 };
	PGconn *conn;

	if (argc < 2)
		return 64;
	address = argv[1];
	bench_read(&bench, argv + 2);
	snprintf(bench.url, sizeof(bench.url), "%s", address);
	bench_option(&bench, "default_ttl=10m");
	for (int i = 2; i < argc; i++)
		waits_for_disk = waits_for_disk && strcmp(argv[i], "commit=off") != 0;
	bench_option(&bench, waits_for_disk ? "synchronous_commit=on" : "synchronous_commit=off");
	conn = dial();
	make_bare(conn);
	if (bench_asks(&bench, "wake"))
		wake(&bench, conn);
	if (bench_asks(&bench, "pair"))
		bench_pair(&bench, "two_updates", bare_pairs, conn);
	if (bench_asks(&bench, "statements"))
		statements(&bench, conn);
	if (bench_asks(&bench, "threads"))
		bench_threads(&bench);
	if (bench_asks(&bench, "live"))
		bench_live(&bench);
	PQfinish(conn);
	return 0;
}

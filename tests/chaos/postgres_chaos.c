/* chaos: what many processes see of a PostgreSQL server while all goes wrong: clients, connections,
 * server processes and the server itself are killed, with commits that wait for the disk and that
 * do not; connections cut, stalled and dripped; the server's clock is set; a replica that is not up
 * to date takes over.
 *
 *     postgres_chaos [--seconds S] [--seed X] DIRECTORY PORT URL FOLLOW
 *
 * DIRECTORY has the server's socket, its files below data, and `clock`, the file of clock_shim.c;
 * URL is the server's by TCP. It is started again when it ends. FOLLOW is the program
 * follow_postgres.py. See storm.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chaos/history.h"
#include "chaos/storm.h"

static const char *directory, *server_url, *follow;
static uint16_t port;

/* The server's, but for the port. A new connection takes a process there, and all begin at once
 * after a restart, so they get time. */
static const char *url(uint16_t proxy_port)
{
	static char text[300];

	(void)snprintf(text, sizeof(text),
		       "%.*s:%u/postgres?sslmode=disable&attempts=500&timeout=2s",
		       (int)(strrchr(server_url, ':') - server_url), server_url, proxy_port);
	return text;
}

/* The number that a command prints; 0 if it does not. */
static double run(const char *command)
{
	char answer[100] = "";
	FILE *pipe = popen(command, "re");

	if (pipe == NULL)
		storm_die("popen");
	(void)!fgets(answer, sizeof(answer), pipe);
	(void)pclose(pipe);
	return strtod(answer, NULL);
}

/* The number that a query answers with; 0 if the server does not. */
static double ask_at(uint16_t where, const char *query)
{
	char command[600];

	(void)snprintf(command, sizeof(command),
		       "psql -X -q -A -t -h %s -p %u -U root -d postgres -c \"%s\" 2>/dev/null",
		       directory, where, query);
	return run(command);
}

static double ask(const char *query)
{
	return ask_at(port, query);
}

/* Whoever does not wait for the disk has a lot to lose. */
static uint16_t begin(char **arguments)
{
	directory = arguments[0];
	port = (uint16_t)strtoul(arguments[1], NULL, 10);
	server_url = arguments[2];
	follow = arguments[3];
	(void)ask("ALTER SYSTEM SET wal_writer_delay = '10s'");
	(void)ask("SELECT pg_reload_conf()");
	return port;
}

static bool end_connections(void)
{
	return ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
		   "WHERE application_name = 'weir' AND random() < 0.5") > 0;
}

/* The server then ends all others and recovers as after a crash. */
static bool kill_process(void)
{
	pid_t pid = (pid_t)ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'weir' "
			       "ORDER BY random() LIMIT 1");

	return pid > 1 && kill(pid, SIGKILL) == 0;
}

static bool kill_server(void)
{
	char path[300];
	int pid = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/data/postmaster.pid", directory);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	(void)fclose(file);
	return pid > 1 && ask("SELECT 1") == 1 && kill(pid, SIGKILL) == 0;
}

/* When leases were given that it has not kept. */
static bool kill_lax_server(void)
{
	storm_nap(1000);
	return kill_server();
}

/* Counts only if the server tells that time. */
static bool step_clock(weir_time by)
{
	double offset = (double)storm_step_clock(by) / (double)WEIR_SECOND;
	double told = ask("SELECT extract(epoch FROM clock_timestamp())");
	double right = (double)time(NULL) + offset;

	if (told != 0 && (told < right - 2 || told > right + 2))
		storm_die("the server's clock does not do as it is told");
	return told != 0;
}

static bool set_back(void)
{
	return step_clock(-(weir_time)rng_between(&storm_rng, 100, 100000) * WEIR_MS);
}

static bool set_forward(void)
{
	return step_clock(rng_between(&storm_rng, 500, 5000) * WEIR_MS);
}

/* The replica hears no more, its master goes on for a while, and then nobody reaches that one. */
static bool replace_by_stale_replica(void)
{
	static unsigned replicas;
	char command[600];
	uint16_t replica;

	(void)snprintf(command, sizeof(command), "%s %s %u replica-%u", follow, directory, port,
		       replicas++);
	replica = (uint16_t)run(command);
	if (replica == 0)
		storm_die("there is no replica");
	(void)ask_at(replica, "ALTER SYSTEM SET primary_conninfo = ''");
	(void)ask_at(replica, "SELECT pg_reload_conf()");
	while (ask_at(replica, "SELECT count(*) + 1 FROM pg_stat_wal_receiver") != 1)
		storm_nap(10);
	storm_nap(rng_between(&storm_rng, 200, 400));
	proxy_retarget(storm_proxy, replica);
	if (ask_at(replica, "SELECT pg_promote()::integer") != 1)
		storm_die("the replica is not promoted");
	port = replica;
	return true;
}

enum {
	END_CONNECTIONS,
	KILL_PROCESS,
	KILL_SERVER,
	KILL_LAX,
	CLOCK_BACK,
	CLOCK_FORWARD,
	STALE,
	HARMS_HERE
};

static const struct storm_harm harms[HARMS_HERE] = {
	[END_CONNECTIONS] = { "connections ended", end_connections, 0 },
	[KILL_PROCESS] = { "server processes killed", kill_process, 500 },
	[KILL_SERVER] = { "servers killed", kill_server, 800 },
	[KILL_LAX] = { "servers killed that had not waited for the disk", kill_lax_server, 2000 },
	[CLOCK_BACK] = { "clock set back", set_back, 100 },
	[CLOCK_FORWARD] = { "clock set forward", set_forward, 100 },
	[STALE] = { "stale replicas", replace_by_stale_replica, 1000 },
};

static const struct storm_phase phases[] = {
	{ .what = "clients", .tries = true },
	{ .what = "storm", .proxy = true },
	{ .what = "connections", .tries = true, .harm = &harms[END_CONNECTIONS] },
	{ .what = "server processes", .harm = &harms[KILL_PROCESS] },
	{ .what = "servers", .proxy = true, .harm = &harms[KILL_SERVER] },
	/* A place in the queue may be among what is lost. A lease must be longer than a restart, or
	 * nobody is there to be overlooked. */
	{ .what = "lax servers",
	  .options = "&synchronous_commit=off",
	  .long_ones = 3,
	  .ttl = 1200 * WEIR_MS,
	  .flags = HISTORY_STOPPED,
	  .harm = &harms[KILL_LAX] },
	{ .what = "clock back", .harm = &harms[CLOCK_BACK] },
	/* That ends leases that their holders, by their own clocks, believe in, and those who wait
	 * have been silent for too long by then. */
	{ .what = "clock forward",
	  .flags = HISTORY_STOPPED,
	  .excused = STORM_EXCUSE(1),
	  .harm = &harms[CLOCK_FORWARD] },
	{ .what = "stale replica",
	  .long_ones = 3,
	  .ttl = 1200 * WEIR_MS,
	  .flags = HISTORY_STOPPED,
	  .harm = &harms[STALE] },
};

int main(int argc, char **argv)
{
	static const struct storm_engine postgres = {
		.program = "postgres_chaos",
		.arguments = 3,
		.protocol = &proxy_postgres,
		.begin = begin,
		.url = url,
		.harms = harms,
		.n_harms = HARMS_HERE,
		.phases = phases,
		.n_phases = sizeof(phases) / sizeof(phases[0]),
	};

	return storm_main(argc, argv, &postgres);
}

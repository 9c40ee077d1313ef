/* chaos: what many processes see of a Redis server while all goes wrong: clients and servers are
 * killed, connections cut, stalled and dripped, the server's clock is set, its data are thrown
 * away, a replica that is not up to date takes over.
 *
 *     redis_chaos [--seconds S] [--seed X] DIRECTORY
 *
 * DIRECTORY has a `pair` of with_redis.py in it, and `clock`, the file of clock_shim.c. See
 * storm.h. The proxy is also how another server takes the place of one. */
#include <stdio.h>

#include "chaos/history.h"
#include "chaos/servers.h"
#include "chaos/storm.h"

static int master; /* which of the two */

static uint16_t begin(char **arguments)
{
	servers_are_in(arguments[0]);
	return port_of(0);
}

static const char *url(uint16_t port)
{
	static char text[100];

	(void)snprintf(text, sizeof(text), "redis://127.0.0.1:%u?attempts=200&timeout=300ms", port);
	return text;
}

static bool kill_master(void)
{
	return kill_server(master) != 0;
}

static bool set_back(void)
{
	(void)storm_step_clock(-(weir_time)rng_between(&storm_rng, 100, 100000) * WEIR_MS);
	return true;
}

static bool set_forward(void)
{
	(void)storm_step_clock(rng_between(&storm_rng, 500, 5000) * WEIR_MS);
	return true;
}

static bool flush(void)
{
	(void)cli(master, "flushall");
	return true;
}

/* The replica hears no more, its master goes on for a while, and then nobody reaches that one. */
static bool replace_by_stale_replica(void)
{
	int replica = 1 - master;

	await_replica(master);
	(void)cli(replica, "replicaof no one");
	storm_nap(rng_between(&storm_rng, 200, 400));
	proxy_retarget(storm_proxy, port_of(replica));
	(void)cli(master, "replicaof 127.0.0.1 %u", port_of(replica));
	master = replica;
	return true;
}

enum { KILL_SERVER, CLOCK_BACK, CLOCK_FORWARD, FLUSH, STALE, HARMS_HERE };

static const struct storm_harm harms[HARMS_HERE] = {
	[KILL_SERVER] = { "servers killed", kill_master, 600 },
	[CLOCK_BACK] = { "clock set back", set_back, 200 },
	[CLOCK_FORWARD] = { "clock set forward", set_forward, 200 },
	[FLUSH] = { "data thrown away", flush, 200 },
	[STALE] = { "stale replicas", replace_by_stale_replica, 1000 },
};

/* Whoever throws all data away, or sets the clock forward, ends leases that their holders believe
 * in, and ends the queue; fences, tokens and ids are as good as ever. A replica that was not up to
 * date does not know the queue. */
static const struct storm_phase phases[] = {
	{ .what = "clients", .tries = true },
	{ .what = "storm", .proxy = true },
	{ .what = "servers", .proxy = true, .harm = &harms[KILL_SERVER] },
	{ .what = "clock back", .harm = &harms[CLOCK_BACK] },
	{ .what = "stale replica",
	  .long_ones = 3,
	  .flags = HISTORY_STOPPED,
	  .harm = &harms[STALE] },
	{ .what = "flush",
	  .flags = HISTORY_STOPPED,
	  .excused = STORM_EXCUSE(1) | STORM_EXCUSE(6),
	  .harm = &harms[FLUSH] },
	{ .what = "clock forward",
	  .flags = HISTORY_STOPPED,
	  .excused = STORM_EXCUSE(1) | STORM_EXCUSE(6),
	  .harm = &harms[CLOCK_FORWARD] },
};

int main(int argc, char **argv)
{
	static const struct storm_engine redis = {
		.program = "redis_chaos",
		.protocol = &proxy_redis,
		.begin = begin,
		.url = url,
		.forgets = true,
		.harms = harms,
		.n_harms = HARMS_HERE,
		.phases = phases,
		.n_phases = sizeof(phases) / sizeof(phases[0]),
	};

	return storm_main(argc, argv, &redis);
}

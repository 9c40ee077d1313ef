/* chaos: what many processes see of a store's server while all goes wrong. One program for each
 * engine: storm.c has the clients, the phases and the verdict, the engine says what harm there is.
 *
 *     PROGRAM [--seconds S] [--seed X] DIRECTORY [ARGUMENT...]
 *
 * DIRECTORY is where the server lives. Each phase has names of its own and lasts S seconds; what
 * its clients saw is checked by history.h. Clients reach the server through a proxy. */
#ifndef TESTS_CHAOS_STORM_H
#define TESTS_CHAOS_STORM_H

#include "chaos/proxy.h"
#include "support/stress.h"

/* What each check of history.h is in `excused`. */
#define STORM_EXCUSE(check) (1U << (check))

struct storm_harm {
	const char *what;   /* "servers killed" */
	bool (*harm)(void); /* whether it was done; if not, it is tried again */
	long pause;         /* milliseconds until anything else is harmed */
};

/* In every phase clients are killed. */
struct storm_phase {
	const char *what;
	const char *options;           /* of the store's URL, "&..."; NULL: none */
	bool proxy;                    /* it does its harm, too */
	bool tries;                    /* some do not wait */
	uint32_t long_ones;            /* one lease in so many is held for long; 0: one in 40 */
	weir_time ttl;                 /* 0: the usual one */
	uint8_t flags;                 /* of requests, as in history.h */
	unsigned excused;              /* what cannot be promised then: a bit for each check */
	const struct storm_harm *harm; /* one of the engine's; NULL: none */
};

struct storm_engine {
	const char *program;
	int arguments; /* that come after DIRECTORY */
	const struct proxy_protocol *protocol;
	uint16_t (*begin)(char **arguments); /* the first is DIRECTORY; returns the server's port */
	const char *(*url)(uint16_t port);   /* with attempts and timeout, by this port */
	bool forgets;                        /* a name may be unknown to it although it was made */
	const struct storm_harm *harms;
	size_t n_harms;
	const struct storm_phase *phases;
	size_t n_phases;
};

extern struct rng storm_rng;
extern struct proxy *storm_proxy;

/* Sets the clock of a server that was started with clock_shim.c; DIRECTORY/clock is its file.
 * Returns how far off it is now. */
weir_time storm_step_clock(weir_time by);

void storm_nap(long milliseconds);

/* Says what is wrong and ends the process. */
_Noreturn void storm_die(const char *what);

int storm_main(int argc, char **argv, const struct storm_engine *engine);

#endif

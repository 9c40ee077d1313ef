/* chaos: processes that use one store, and are killed. */
#ifndef TESTS_CHAOS_CRASH_H
#define TESTS_CHAOS_CRASH_H

#include "chaos/acts.h"
#include "support/stress.h"

#include <sys/types.h>

#define TTL (600 * WEIR_SECOND) /* so long that nothing comes back by expiring */

struct crash {
	char url[300];
	char directory[200];
	struct recorder *recorder;
	uint32_t names, limit;
	uint32_t next_client;
	struct rng rng;
};

extern struct crash crash;

/* Ends the process. */
_Noreturn void die(const char *what);

const char *name_of(uint32_t number);

/* For a client, with the store opened. */
struct acts crash_acts(uint32_t client);

/* Runs `work` in a new process that is killed with this one. */
pid_t start(void (*work)(uint32_t client), uint32_t client);

/* Kills and waits, and writes it down. */
void kill_client(pid_t pid, uint32_t client);

/* The ways of dying; each returns how many were killed. */
uint32_t crash_at_random(uint32_t kills);
uint32_t crash_at_calls(uint32_t most, uint32_t already, uint32_t *all);
uint32_t crash_by_stopping(uint32_t rounds);

/* Waits until another process has had everything, so nothing can be left. `for_good` ends the
 * names' histories. */
void finish(bool for_good);

#endif

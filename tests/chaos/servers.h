/* chaos: Redis servers that tests/support/with_redis.py has started, and what is said to them
 * beside the store. */
#ifndef TESTS_CHAOS_SERVERS_H
#define TESTS_CHAOS_SERVERS_H

#include <stdint.h>

#include "chaos/nap.h"

/* Where they are: DIRECTORY/0/s is the first one's own socket, and so on; DIRECTORY/s that of the
 * only one, whose number is -1. */
void servers_are_in(const char *directory);

/* What a server answers, without the last newline; to be used before the next question. */
const char *cli(int server, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number that follows `key` in an answer, or 0. */
long number_in(const char *answer, const char *key);

uint16_t port_of(int server);

/* With -9. Returns whether there was one. */
int kill_server(int server);

/* Waits until each replica has all that this master has. There must be one. */
void await_replica(int master);

#endif

/* chaos: a proxy between a client and its server that does harm at the bounds of messages.
 *
 * It knows where a command and a reply end, nothing else. Harm is done to commands that do work
 * (run a script, end a transaction), by count: so a test says exactly which one is hit; or by
 * chance, from a seed. */
#ifndef TESTS_CHAOS_PROXY_H
#define TESTS_CHAOS_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum harm {
	NO_HARM,
	CUT_BEFORE, /* the command never arrives, the connection is reset */
	CUT_AFTER,  /* it is executed, and the connection is reset before the reply */
	TRUNCATE,   /* half of the reply, then a reset */
	STALL,      /* half-open: nothing comes any more, either way */
	DRIP,       /* the reply, byte by byte */
	DELAY,      /* the reply, late */
	SAY,        /* something else is answered, and the command never arrives */
	HARMS,
};

/* proxy_protocol.c. An answer may have several messages: CUT_AFTER comes before the first, TRUNCATE
 * in the last. */
struct proxy_protocol {
	/* The end of the message that begins at `at`, or NULL when it is not all there. */
	const char *(*message_end)(const char *at, const char *end);
	bool (*does_work)(const char *command, size_t size);
	bool (*is_answered)(const char *command);
	bool (*ends_answer)(const char *message);
};

extern const struct proxy_protocol proxy_redis, proxy_postgres;

struct proxy;

/* Listens on a port of its own; returns it by proxy_port. */
struct proxy *proxy_start(const struct proxy_protocol *protocol, uint16_t server_port);
uint16_t proxy_port(const struct proxy *proxy);
void proxy_stop(struct proxy *proxy);

/* The next `times` commands that do work are harmed. `text` is what SAY says. */
void proxy_harm(struct proxy *proxy, enum harm harm, int times, const char *text);

/* From now on each is harmed with the chance of one in `one_in`, never by SAY. */
void proxy_storm(struct proxy *proxy, uint64_t seed, uint32_t one_in);

/* How often each was done. */
uint32_t proxy_hits(struct proxy *proxy, enum harm harm);

/* From now on another server is behind it; all connections are reset. */
void proxy_retarget(struct proxy *proxy, uint16_t server_port);

/* Resets all connections; refuses new ones until told otherwise. */
void proxy_refuse(struct proxy *proxy, int refuse);
void proxy_cut_all(struct proxy *proxy);

#endif

/* store/redis: one connection to one server: commands out, replies in.
 *
 * All in the agent's thread, but for writing when nothing is in the way, which anybody may who has
 * the lock; nothing here waits, but for looking up a host's name. What was sent
 * and not answered when the wire goes down has an unknown outcome; that is for the owner to
 * resolve. After a timeout the wire is closed, so a late reply is never taken for the next one's.
 */
#ifndef WEIR_STORE_REDIS_WIRE_H
#define WEIR_STORE_REDIS_WIRE_H

#include "lease/agent.h"
#include "store/redis/address.h"
#include "store/redis/out.h"
#include "store/redis/reply.h"

struct addrinfo;
struct weir__wire;

struct weir__wire_owner {
	/* It can be spoken to. */
	void (*up)(struct weir__wire *wire);
	/* A reply; it is freed afterwards. May close the wire. */
	void (*reply)(struct weir__wire *wire, const struct weir__reply *reply);
	/* It was lost, or could not be made: once after each open, unless it was closed by its
	 * owner. -EACCES: trying again will not help; -EPROTO: the other side is no Redis. */
	void (*down)(struct weir__wire *wire, int error, const char *why);
};

enum weir__wire_state {
	WEIR__WIRE_DOWN,
	WEIR__WIRE_CONNECTING,
	WEIR__WIRE_SHAKING_HANDS, /* TLS */
	WEIR__WIRE_UP,
};

enum { WEIR__WIRE_READ = 16 << 10 };

struct weir__wire {
	const struct weir__wire_owner *owner;
	struct weir__lock *lock; /* held whenever something is done here */
	struct weir__agent *agent;
	const struct weir__address *address;
	enum weir__wire_state state;
	uint32_t opened; /* how often */
	struct weir__watch watch;
	bool watched, watched_for_room;
	struct weir__timer timer; /* for the connection, then for what is awaited */
	weir_time deadline;
	bool timed; /* the timer is set for what is awaited */
	struct addrinfo *found;
	struct addrinfo *next; /* to be tried when this one fails */
	SSL_CTX *tls;
	SSL *ssl;
	redisReader *reader;
	char in[WEIR__WIRE_READ]; /* what was just read; askers may have little stack */
	struct weir__out out;
	bool failed;      /* there was no memory for a command; the wire is going down */
	uint64_t awaited; /* replies */
};

/* All zero but for owner, agent and address, which stay as they are. */
void weir__wire_init(struct weir__wire *wire, const struct weir__wire_owner *owner,
		     struct weir__agent *agent, struct weir__lock *lock,
		     const struct weir__address *address);

/* Begins to connect; the owner hears of the end, never from within this call. */
void weir__wire_open(struct weir__wire *wire);

/* Closes without telling the owner, and frees what it has. */
void weir__wire_close(struct weir__wire *wire);

/* Adds a command of n parts to what is to be written, when it is up. `size` may be NULL if all are
 * texts. */
void weir__wire_send(struct weir__wire *wire, size_t n, const char *const *parts,
		     const size_t *size);

/* Writes as much as the kernel takes now; the rest follows by itself. */
void weir__wire_flush(struct weir__wire *wire);

/* The same from any thread. Whether all was written; if not, the agent must flush. */
bool weir__wire_try_flush(struct weir__wire *wire);

#endif

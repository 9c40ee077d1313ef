/* store/redis: one connection to one server: commands out, replies in.
 *
 * All in the agent's thread; nothing here waits, but for looking up a host's name. What was sent
 * and not answered when the link goes down has an unknown outcome; that is for the owner to
 * resolve. After a timeout the link is closed, so a late reply is never taken for the next one's.
 */
#ifndef WEIR_STORE_REDIS_LINK_H
#define WEIR_STORE_REDIS_LINK_H

#include "lease/agent.h"
#include "store/redis/address.h"
#include "store/redis/reply.h"

struct addrinfo;
struct weir__link;

struct weir__link_owner {
	/* It can be spoken to. */
	void (*up)(struct weir__link *link);
	/* A reply; it is freed afterwards. May close the link. */
	void (*reply)(struct weir__link *link, const struct weir__reply *reply);
	/* It was lost, or could not be made: once after each open, unless it was closed by its
	 * owner. */
	void (*down)(struct weir__link *link, int error, const char *why);
};

enum weir__link_state {
	WEIR__LINK_DOWN,
	WEIR__LINK_CONNECTING,
	WEIR__LINK_SHAKING_HANDS, /* TLS */
	WEIR__LINK_UP,
};

struct weir__link {
	const struct weir__link_owner *owner;
	struct weir__agent *agent;
	const struct weir__address *address;
	enum weir__link_state state;
	uint32_t opened; /* how often */
	struct weir__watch watch;
	struct weir__timer timer; /* for the connection, then for what is awaited */
	weir_time deadline;
	struct addrinfo *found;
	struct addrinfo *next; /* to be tried when this one fails */
	SSL_CTX *tls;
	SSL *ssl;
	redisReader *reader;
	char *out; /* what is still to be written: from out_begin to out_end */
	size_t out_begin, out_end, out_room;
	bool failed;      /* there was no memory for a command; the link is going down */
	uint64_t awaited; /* replies */
};

/* All zero but for owner, agent and address, which stay as they are. */
void weir__link_init(struct weir__link *link, const struct weir__link_owner *owner,
		     struct weir__agent *agent, const struct weir__address *address);

/* Begins to connect; the owner hears of the end, never from within this call. */
void weir__link_open(struct weir__link *link);

/* Closes without telling the owner, and frees what it has. */
void weir__link_close(struct weir__link *link);

/* Adds a command of n parts to what is to be written, when it is up. `size` may be NULL if all are
 * texts. */
void weir__link_send(struct weir__link *link, size_t n, const char *const *parts,
		     const size_t *size);

/* Writes as much as the kernel takes now; the rest follows by itself. */
void weir__link_flush(struct weir__link *link);

#endif

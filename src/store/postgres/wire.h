/* store/postgres: one connection to one server, watched by the agent.
 *
 * All in the agent's thread; nothing here waits, but for looking up a host's name. What was sent
 * and not answered when the wire goes down has an unknown outcome; that is for the owner to
 * resolve. */
#ifndef WEIR_STORE_POSTGRES_WIRE_H
#define WEIR_STORE_POSTGRES_WIRE_H

#include "lease/agent.h"
#include "store/postgres/address.h"
#include "store/postgres/library.h"

struct weir__pg_wire;

struct weir__pg_owner {
	/* It can be spoken to. */
	void (*up)(struct weir__pg_wire *wire);
	/* Something came in. May close the wire. */
	void (*input)(struct weir__pg_wire *wire);
	/* It was lost, or could not be made: once after each open, unless it was closed by its
	 * owner. -EACCES: trying again will not help. */
	void (*down)(struct weir__pg_wire *wire, int error, const char *why);
};

struct weir__pg_wire {
	const struct weir__pg_owner *owner;
	struct weir__agent *agent;
	struct weir__pg_address *address;
	PGconn *conn; /* NULL: down */
	bool opening; /* wanted, or not up yet */
	bool is_up;
	struct weir__watch watch;
	uint32_t events;          /* it is watched for; 0: it is not */
	struct weir__timer timer; /* for the connection, then for what is awaited */
	weir_time deadline;       /* WEIR_NEVER: nothing is awaited */
	bool timed;               /* the timer is set */
};

void weir__pg_wire_init(struct weir__pg_wire *wire, const struct weir__pg_owner *owner,
			struct weir__agent *agent, struct weir__pg_address *address);

/* Begins to connect; the owner hears of the end, never from within this call. */
void weir__pg_wire_open(struct weir__pg_wire *wire);

/* Closes without telling the owner. */
void weir__pg_wire_close(struct weir__pg_wire *wire);

static inline bool weir__pg_wire_is_down(const struct weir__pg_wire *wire)
{
	return !wire->opening && wire->conn == NULL;
}

/* Sends what libpq was given, as far as the kernel takes it; the rest follows by itself. Then an
 * answer is awaited, and the wire goes down if none comes in time. */
void weir__pg_wire_flush(struct weir__pg_wire *wire);

/* All that was awaited has come. */
static inline void weir__pg_wire_rest(struct weir__pg_wire *wire)
{
	wire->deadline = WEIR_NEVER;
}

#endif

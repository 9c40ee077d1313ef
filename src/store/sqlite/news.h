/* store/sqlite: what agents tell each other.
 *
 * In message.c, and what the dead have left of it, in sweep.c. */
#ifndef WEIR_STORE_SQLITE_NEWS_H
#define WEIR_STORE_SQLITE_NEWS_H

#include "lease/store.h"
#include "store/sqlite/who.h"

enum weir__news_kind {
	WEIR__NEWS_GRANTED = 1,
	WEIR__NEWS_LOST, /* a lease ended without its holder */
	WEIR__NEWS_LOOK, /* look after what waits in this semaphore */
};

/* One thing to tell an agent: as it goes through a socket. */
struct weir__news {
	uint32_t kind;
	uint32_t slot;
	int64_t semaphore;
	uint8_t token[WEIR_TOKEN_SIZE];
	uint64_t fence;
	weir_time since;
	weir_time expires;
	weir_time hard_end;
	weir_time ttl;
	uint32_t weight;
	uint32_t unused;
};

/* One in the transaction's list. */
struct weir__tiding {
	struct weir__tiding *next;
	struct weir__who who;
	struct weir__news news;
};

/* ---- message.c ------------------------------------------------------------------------------- */

/* Opens the socket; without one, others are not heard of but by asking. */
void weir__lite_inbox_open(struct weir__lite *lite);
void weir__lite_inbox_close(struct weir__lite *lite);
/* Sends what the transaction had to tell to others. */
void weir__lite_send(struct weir__lite *lite);
void weir__lite_heard(struct weir__lite *lite, const struct weir__news *news);

/* ---- sweep.c --------------------------------------------------------------------------------- */

/* Both with the lock held. Removes the socket of an agent, if that is dead. */
void weir__lite_inbox_bury(struct weir__lite *lite, int64_t agent);
/* Looks at some of the sockets and FIFOs, and removes those that belong to nobody any more. Returns
 * at how many it has looked, which is bounded. */
uint32_t weir__lite_sweep(struct weir__lite *lite);

#endif

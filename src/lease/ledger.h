/* lease: the handles of a store: by token, and as the stacks of who acquired them.
 *
 * A handle is in the ledger by its token from before it is asked for until its memory goes, so that
 * news of its end always finds it. It is on the stack of its task or thread from its grant
 * until it is released. The ledger owns nothing. */
#ifndef WEIR_LEASE_LEDGER_H
#define WEIR_LEASE_LEDGER_H

#include "base/lock.h"
#include "base/table.h"

#include <weir/lease.h>

enum { WEIR__LEDGER_PARTS = 16 };

/* Threads that work on different leases seldom meet. */
struct weir__ledger_part {
	struct weir__lock lock;
	struct weir__table by_token;
	struct weir__table stacks;
} __attribute__((aligned(64)));

struct weir__ledger {
	struct weir__ledger_part parts[WEIR__LEDGER_PARTS];
};

/* Of the part of a token that differs in all that a process draws. */
static inline uint64_t weir__token_hash(const uint8_t *token)
{
	uint64_t low;

	__builtin_memcpy(&low, token, sizeof(low));
	return weir__hash_number(low);
}

void weir__ledger_done(struct weir__ledger *ledger);

/* The lease's token must be set. */
void weir__ledger_add(struct weir__ledger *ledger, struct weir_lease *lease);
void weir__ledger_remove(struct weir__ledger *ledger, struct weir_lease *lease);

/* One with that token that `wanted` says yes to, with a pin added; NULL: there is none. There may
 * be several, of a lease that was adopted. */
struct weir_lease *weir__ledger_find(struct weir__ledger *ledger, const uint8_t *token,
				     bool (*wanted)(const struct weir_lease *lease));
/* Any that `wanted` says yes to, likewise. */
struct weir_lease *weir__ledger_any(struct weir__ledger *ledger,
				    bool (*wanted)(const struct weir_lease *lease));
/* Adds a handle to one that is pinned; false: its last one has gone. */
bool weir__ledger_ref(struct weir_lease *lease);

/* The stack of the calling task or thread. Pop takes the newest of that name off, with a pin
 * added; leave takes the lease off wherever it is, if it is on one. */
void weir__ledger_push(struct weir__ledger *ledger, struct weir_lease *lease, uint64_t holder);
struct weir_lease *weir__ledger_pop(struct weir__ledger *ledger, uint64_t holder, const char *name);
void weir__ledger_leave(struct weir__ledger *ledger, struct weir_lease *lease);

/* A number for the calling task or thread, that no other has or has had: a thread's is odd. A
 * task's is its future's address, which is its own as long as a lease keeps the future. */
uint64_t weir__ledger_caller(void);

#endif

/* lease: keeping leases alive, and noticing their end, in the agent's thread.
 *
 * The timer of a keeper fires when the next thing is due: a renewal, a third of the TTL after the
 * last one was sent; or the deadline, at which the lease is lost. A renewal that fails for want of
 * the engine is tried again, sooner, until the deadline. */
#ifndef WEIR_LEASE_KEEPER_H
#define WEIR_LEASE_KEEPER_H

#include "lease/lease.h"

/* Whether a request needs one. */
bool weir__keeper_is_wanted(const struct weir_request *request);

/* Gives the lease a keeper, not armed yet. 0 or -ENOMEM. */
int weir__keeper_new(struct weir_lease *lease, const struct weir_request *request);

/* Arms it, of a lease that has just begun, asked for at `sent`. Inside the gate. */
void weir__keeper_start(struct weir_lease *lease, weir_time sent);

#endif

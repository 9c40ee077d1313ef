/* lease: who gets what was granted.
 *
 * NAMESAKES are those who ask through one store under one request id at the same time. The engine
 * answers each of them, and all with the same lease (L4); here they come to share one handle of it:
 *
 * - The first that can keep the lease has its handle begin, the others get that one, also when it
 *   was dropped before they looked: until the last of them has looked, it is kept.
 * - So is what is known of leases that ended meanwhile: one who asks while the lease is released
 *   was perhaps answered by it before, and then gets a handle of a lease that is lost.
 * - One that gives up leaves its place in the queue to the others, and the last one ends it.
 * - One that cannot keep it, being cancelled, leaves it to the others. What nobody took is given
 *   back by the last to leave.
 * - The lease has the token of the one whose place in the queue it was, who may have left before.
 *   A lease with a token that is none of theirs is somebody else's, and none of them ends it.
 *
 * Those without an id of their own choice have no namesakes: NULL.
 */
#ifndef WEIR_LEASE_NAMESAKES_H
#define WEIR_LEASE_NAMESAKES_H

#include "lease/lease.h"

struct weir__namesakes;

/* Before the operation is submitted. False when there is no memory. */
bool weir__namesakes_join(struct weir__op *op);
/* When the asker knows what it gets. */
void weir__namesakes_leave(struct weir_store *store, struct weir__op *op);

/* It gives up: withdraws it. With the store's lock held, so that whoever comes later asks later. */
void weir__namesakes_give_up(struct weir_store *store, struct weir__op *op, int give_up);

/* An engine is about to end the place of one that gave up: whether it must stay, for those who have
 * come since. Without the store's lock. */
bool weir__namesakes_keep_place(struct weir__op *op);

/* The last handle of a lease goes, and the engine has answered its end if it was asked: those who
 * have asked before will find that. */
void weir__namesakes_keep(struct weir_lease *lease);

/* It was granted: returns the handle by which the asker has it, its own or another. */
struct weir_lease *weir__namesakes_take(struct weir__op *op);
/* The same, for one who cannot keep it. */
void weir__namesakes_pass_on(struct weir__op *op);

#endif

/* lease: what WEIR__LIST answers: a copy of semaphores and their claims, to be shown at leisure.
 *
 * The engine adds semaphores in any order, and after each its claims: holders in any order, waiters
 * as they queue. What it has to say about itself it adds in the order to be shown. weir_list() puts
 * them in order and shows them. A picture shares no memory with what it was made of. */
#ifndef WEIR_LEASE_PICTURE_H
#define WEIR_LEASE_PICTURE_H

#include "lease/rules.h"

struct weir__picture;

/* NULL when there is no memory. */
struct weir__picture *weir__picture_new(void);
void weir__picture_free(struct weir__picture *picture);

/* Adds a semaphore: the head of its record, and how long its waiters waited (NULL: nobody has). 0
 * or -ENOMEM. */
int weir__picture_add(struct weir__picture *picture, const char *name, const struct weir__rec *rec,
		      const struct weir__waits *waits);

/* Says of the semaphore that was added last that nobody is granted for so long. */
void weir__picture_closed(struct weir__picture *picture, weir_time left);

/* Adds a claim, HOLDING or WAITING, to the semaphore that was added last. pid 0: not known. 0 or
 * -ENOMEM. */
int weir__picture_claim(struct weir__picture *picture, weir_time now,
			const struct weir__claim *claim, int64_t pid);

/* Adds a remark. `about` is a constant. 0 or -ENOMEM. */
__attribute__((format(printf, 4, 5))) int weir__picture_remark(struct weir__picture *picture,
							       bool matters, const char *about,
							       const char *format, ...);

/* Shows it, in the order that weir_list promises. */
int weir__picture_show(struct weir__picture *picture, const struct weir_visitor *visitor,
		       void *arg);

#endif

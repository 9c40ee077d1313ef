/* store/redis: what to do about an error that the server answered. */
#ifndef WEIR_STORE_REDIS_FAULT_H
#define WEIR_STORE_REDIS_FAULT_H

#include "store/redis/reply.h"

enum weir__fault {
	WEIR__LOAD_SCRIPT, /* it does not know the script: send its text */
	WEIR__LATER,       /* it cannot now: ask again, on the same link */
	WEIR__REST,        /* it cannot answer this one now */
	WEIR__ELSEWHERE,   /* it is not the one to ask any more: connect anew */
	WEIR__FOLLOW,      /* a cluster: it says who is to be asked */
	WEIR__NEVER_EVER,  /* asking again will not help */
};

enum weir__fault weir__fault_of(const struct weir__reply *reply);

#endif

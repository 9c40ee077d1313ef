/* store: what there is to say about a server to whoever looks after it; see struct weir_remark. */
#ifndef WEIR_STORE_REMARK_H
#define WEIR_STORE_REMARK_H

#include "lease/picture.h"

/* How it is reached. */
struct weir__reach {
	const char *where; /* for people */
	const char *hosts; /* see here.h */
	const char *tls;   /* what to say in the URL to have it */
	bool encrypted;
	bool has_password; /* the URL has one */
	bool is_open;      /* nobody has to say who he is */
	bool goes_on;      /* failover=continue */
};

/* What follows where a server may have lost something, at the end of a sentence. */
static inline const char *remark_after_loss(bool goes_on)
{
	return goes_on ? "" : "; nobody is granted then until the longest TTL is over";
}

/* What may be wrong with that. 0 or -ENOMEM. */
int weir__remark_reach(struct weir__picture *picture, const struct weir__reach *reach);

#endif

/* lease: what may be a name, an owner, a request id, a TTL. */
#ifndef WEIR_LEASE_NAMES_H
#define WEIR_LEASE_NAMES_H

#include "lease/engine.h"

/* 0, or -EINVAL and a sentence. */
int weir__check_name(const char *name);

/* `what` is "owner" or "request id": 1 to 200 printable ASCII bytes, not all of them blanks. So
 * nothing in a listing can be taken for a line of its own or control a terminal. */
int weir__check_words(const char *words, const char *what);

/* 0 is the default, and one, too. */
int weir__check_ttl(const struct weir__bounds *bounds, weir_time ttl);

#endif

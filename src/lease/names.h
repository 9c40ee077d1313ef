/* lease: what may be a name, an owner, a request id. */
#ifndef WEIR_LEASE_NAMES_H
#define WEIR_LEASE_NAMES_H

#include <weir/store.h>

/* 0, or -EINVAL and a sentence. */
int weir__check_name(const char *name);

/* `what` is "owner" or "request id": 1 to 200 printable ASCII bytes, not all of them blanks. So
 * nothing in a listing can be taken for a line of its own or control a terminal. */
int weir__check_words(const char *words, const char *what);

#endif

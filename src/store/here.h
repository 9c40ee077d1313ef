/* store: which hosts are this one. */
#ifndef WEIR_STORE_HERE_H
#define WEIR_STORE_HERE_H

#include <stdbool.h>

/* Whether a host, or each of several with commas between, is this one, so that what is said to it
 * goes over no network. A socket's path is. */
bool weir__hosts_are_here(const char *hosts);

#endif

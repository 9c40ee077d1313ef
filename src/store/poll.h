/* store: asking whether those who wait have been granted, many of one name at once. */
#ifndef WEIR_STORE_POLL_H
#define WEIR_STORE_POLL_H

#include "store/call.h"

enum { WEIR__POLL_AT_ONCE = 128 };

struct poll {
	weir_time now;
	const struct server *of; /* only those who wait there; NULL: wherever it is */
	bool all;                /* not only those whose time has come, or nearly so */
	/* Asks about calls of one name, WEIR__POLL_AT_ONCE at the most. False: there is no memory,
	 * and they are asked about in a heartbeat. */
	bool (*ask)(void *self, struct server *server, struct call *const *calls, size_t n);
	void *self;
};

/* Connects to those that are not ready, instead. */
void weir__desk_poll(struct desk *desk, const struct poll *poll);

#endif

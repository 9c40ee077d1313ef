/* store: numbers that engines tell servers, times in microseconds. hear.h is the other way. */
#ifndef WEIR_STORE_TELL_H
#define WEIR_STORE_TELL_H

#include "store/call.h"

/* Rounded up, so that a lease is never shorter than was asked for. */
static inline int64_t weir__tell_time(weir_time time)
{
	return time / WEIR_US + (time % WEIR_US != 0);
}

/* After how long without a sign of life a waiter is dropped. */
int64_t weir__tell_silence(const struct desk *desk);

/* How long nobody may be granted under a name that this server does not know; -1: nor need anybody
 * wait because the server is another one. */
int64_t weir__tell_caution(const struct server *server);

#endif

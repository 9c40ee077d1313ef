/* store: servers that are lost, and found again or not.
 *
 * A server that cannot be reached is tried `attempts` times, with growing pauses between
 * (backoff.h). Then whoever wants something of it is refused, and the next one begins anew. Once a
 * store is being closed, one attempt is enough: whoever closes a store does not want to wait for
 * it.
 *
 * What was sent and not answered is to do again, before what was not sent yet; who has given up
 * does not wait for another connection. */
#ifndef WEIR_STORE_SERVER_H
#define WEIR_STORE_SERVER_H

#include "store/call.h"

/* Nothing is to be asked of it, and nobody waits there. */
bool weir__server_is_idle(const struct server *server);
/* It is there: what its last failure has left. The engine then says what is to do. */
void weir__server_found(struct server *server);
/* Nothing may be sent to it just now. */
static inline bool weir__server_is_held_up(const struct server *server)
{
	return server->pausing || server->verifying;
}

/* It has answered. */
static inline void weir__server_heard(struct server *server)
{
	server->failed = 0;
	server->gave_up = false;
}

/* Hangs up, and tries again. */
void weir__server_lost(struct server *server, const char *why);
/* It cannot now. */
void weir__server_later(struct server *server, const char *why);
/* It will not do: hangs up, and refuses all that is to be asked of it or waits there. */
void weir__server_give_up(struct server *server, int error, const char *why);
/* Something is to do, and it is not ready. */
void weir__server_want(struct server *server);

/* How often something is to be tried: so much more often than usual, unless the store is being
 * closed. */
uint32_t weir__desk_attempts(const struct desk *desk, uint32_t more);

#endif

/* store: numbers that engines tell servers. See tell.h. */
#include "store/tell.h"

#include "base/boottime.h"

/* A waiter is dropped after this many heartbeats of silence. */
enum { PATIENCE = 10 };

int64_t weir__tell_silence(const struct desk *desk)
{
	return weir__tell_time(PATIENCE * desk->store->bounds.heartbeat);
}

int64_t weir__tell_caution(const struct server *server)
{
	weir_time now;

	if (server->desk->go_on)
		return -1;
	if (server->cautious == 0)
		return 0;
	now = weir__boottime();
	return server->cautious > now ? weir__tell_time(server->cautious - now) : 0;
}

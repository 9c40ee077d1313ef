/* store/redis: errors that a server answers. See fault.h. */
#include "store/redis/fault.h"

static const struct {
	const char *code;
	enum weir__fault fault;
} known[] = {
	{ "NOSCRIPT", WEIR__LOAD_SCRIPT },
	{ "LOADING", WEIR__LATER },     /* it has just started */
	{ "BUSY", WEIR__LATER },        /* somebody's script runs for long */
	{ "TRYAGAIN", WEIR__REST },     /* a cluster moves keys */
	{ "CLUSTERDOWN", WEIR__LATER }, /* a cluster has no majority */
	{ "MOVED", WEIR__FOLLOW },      /* another one has the slot */
	{ "ASK", WEIR__FOLLOW },        /* another one is about to */
	{ "MASTERDOWN", WEIR__ELSEWHERE },
	{ "READONLY", WEIR__ELSEWHERE }, /* it has become a replica */
	{ "UNBLOCKED", WEIR__ELSEWHERE },
};

/* All else: OOM, MISCONF, NOPERM, NOAUTH, WRONGPASS, WRONGTYPE, ERR. */
enum weir__fault weir__fault_of(const struct weir__reply *reply)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (weir__reply_is_error(reply, known[i].code))
			return known[i].fault;
	return WEIR__NEVER_EVER;
}

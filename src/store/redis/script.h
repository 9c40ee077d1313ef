/* store/redis: the scripts, put together by tools/embed_lua.py when this is built. */
#ifndef WEIR_STORE_REDIS_SCRIPT_H
#define WEIR_STORE_REDIS_SCRIPT_H

#include <stddef.h>

enum weir__script {
	WEIR__LUA_ENSURE,
	WEIR__LUA_LIMIT,
	WEIR__LUA_REQUEST,
	WEIR__LUA_POLL,
	WEIR__LUA_WITHDRAW,
	WEIR__LUA_RENEW,
	WEIR__LUA_RELEASE,
	WEIR__LUA_EVICT,
	WEIR__LUA_REAP,
	WEIR__LUA_LIST,
	WEIR__LUA_COUNT,
	WEIR__NO_SCRIPT = WEIR__LUA_COUNT, /* SCAN, for the names */
	WEIR__HELLO,                       /* nothing; the answer is that the server is there */
	WEIR__ASKING,                      /* nothing; what follows was sent here by another one */
	WEIR__MAP,                         /* CLUSTER SLOTS */
	WEIR__WHO,                         /* INFO */
	WEIR__LOOK,                        /* HGET, to see whether it would */
};

struct weir__script_text {
	const char *text;
	size_t size;
	const char *hash;
};

/* In the order of the enumeration. */
extern const struct weir__script_text weir__scripts[WEIR__LUA_COUNT];

#endif

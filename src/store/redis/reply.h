/* store/redis: what the server says, as a tree. */
#ifndef WEIR_STORE_REDIS_REPLY_H
#define WEIR_STORE_REDIS_REPLY_H

#include "store/redis/library.h"

/* A reply, and all that is in it. type: REDIS_REPLY_STRING, _ARRAY, _INTEGER, _NIL, _STATUS,
 * _ERROR. */
struct weir__reply {
	int type;
	long long integer;
	size_t size; /* bytes of text, which a zero follows; or elements */
	char *text;
	struct weir__reply **elements;
};

/* How hiredis makes them. A server cannot make us ask for more memory than a listing may take. */
extern redisReplyObjectFunctions weir__reply_functions;

void weir__reply_free(struct weir__reply *reply);

/* The i-th element as a number or a text; 0 and "" when it is not there or something else. */
long long weir__reply_integer(const struct weir__reply *reply, size_t i);
const struct weir__reply *weir__reply_at(const struct weir__reply *reply, size_t i);

/* Whether it is an error whose first word is `code`. */
bool weir__reply_is_error(const struct weir__reply *reply, const char *code);

#endif

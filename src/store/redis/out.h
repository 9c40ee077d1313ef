/* store/redis: commands that are to be written, as the bytes they are on the wire. */
#ifndef WEIR_STORE_REDIS_OUT_H
#define WEIR_STORE_REDIS_OUT_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is empty. */
struct weir__out {
	char *bytes;
	size_t begin, end; /* what is still to be written */
	size_t room;
};

static inline const char *weir__out_first(const struct weir__out *out)
{
	return out->bytes + out->begin;
}

static inline size_t weir__out_left(const struct weir__out *out)
{
	return out->end - out->begin;
}

static inline void weir__out_wrote(struct weir__out *out, size_t size)
{
	out->begin += size;
	if (out->begin == out->end)
		out->begin = out->end = 0;
}

/* A command of n parts; `size` may be NULL if all are texts. False: there is no memory. */
bool weir__out_add(struct weir__out *out, size_t n, const char *const *parts, const size_t *size);
void weir__out_done(struct weir__out *out); /* and it is empty */

#endif

/* store/redis: commands as bytes. See out.h. */
#include "store/redis/out.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 << 10, COUNT_SIZE = 24 };

static bool make_room(struct weir__out *out, size_t size)
{
	size_t used = weir__out_left(out);
	size_t room = out->room != 0 ? out->room : FIRST_ROOM;

	if (out->room - out->end >= size)
		return true;
	if (out->begin != 0) {
		memmove(out->bytes, out->bytes + out->begin, used);
		out->begin = 0;
		out->end = used;
	}
	while (room - used < size)
		room *= 2;
	if (room != out->room) {
		char *bytes = realloc(out->bytes, room);

		if (bytes == NULL)
			return false;
		out->bytes = bytes;
		out->room = room;
	}
	return true;
}

/* Such as $12 and the end of a line. Most have two digits at the most. */
static char *write_count(char *to, char kind, size_t count)
{
	size_t above = 10;

	*to++ = kind;
	while (count / above >= 10)
		above *= 10;
	if (count >= 10)
		for (; above >= 10; above /= 10)
			*to++ = (char)('0' + count / above % 10);
	*to++ = (char)('0' + count % 10);
	*to++ = '\r';
	*to++ = '\n';
	return to;
}

bool weir__out_add(struct weir__out *out, size_t n, const char *const *parts, const size_t *size)
{
	size_t all = COUNT_SIZE;
	char *to;

	for (size_t i = 0; i < n; i++)
		all += COUNT_SIZE + 2 + (size != NULL ? size[i] : strlen(parts[i]));
	if (!make_room(out, all))
		return false;
	to = write_count(out->bytes + out->end, '*', n);
	for (size_t i = 0; i < n; i++) {
		size_t part = size != NULL ? size[i] : strlen(parts[i]);

		to = write_count(to, '$', part);
		memcpy(to, parts[i], part);
		to += part;
		*to++ = '\r';
		*to++ = '\n';
	}
	out->end = (size_t)(to - out->bytes);
	return true;
}

void weir__out_done(struct weir__out *out)
{
	if (out->bytes != NULL)
		explicit_bzero(out->bytes, out->room); /* a password may have been in it */
	free(out->bytes);
	*out = (struct weir__out){ NULL, 0, 0, 0 };
}

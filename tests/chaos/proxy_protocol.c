/* chaos: where the messages of Redis and PostgreSQL end. See proxy.h. */
#include "chaos/proxy.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* ---- Redis ----------------------------------------------------------------------------------- */

static const char *line_end(const char *at, const char *end)
{
	const char *found = end - at > 1 ? memmem(at, (size_t)(end - at), "\r\n", 2) : NULL;

	return found != NULL ? found + 2 : NULL;
}

/* The end of the message that begins at `at`, or NULL when it is not all there. */
static const char *redis_message_end(const char *at, const char *end)
{
	const char *next = line_end(at, end);
	long count;

	if (next == NULL)
		return NULL;
	count = strtol(at + 1, NULL, 10);
	if (*at == '$') {
		if (count < 0)
			return next;
		return end - next >= count + 2 ? next + count + 2 : NULL;
	}
	if (*at != '*')
		return next;
	for (long i = 0; i < count && next != NULL; i++)
		next = next < end ? redis_message_end(next, end) : NULL;
	return next;
}

static bool runs_a_script(const char *command, size_t size)
{
	return memmem(command, size < 24 ? size : 24, "\r\nEVAL", 6) != NULL;
}

static bool always(const char *message)
{
	(void)message;
	return true;
}

const struct proxy_protocol proxy_redis = { redis_message_end, runs_a_script, always, always };

/* ---- PostgreSQL ------------------------------------------------------------------------------ */

/* A letter, and the size of the rest; the first message of a client has no letter, and as it is
 * small its size begins with a zero. */
static const char *postgres_message_end(const char *at, const char *end)
{
	size_t letter = end > at && *at == '\0' ? 0 : 1;
	uint32_t size;

	if ((size_t)(end - at) < letter + sizeof(size))
		return NULL;
	memcpy(&size, at + letter, sizeof(size));
	size = ntohl(size);
	return (size_t)(end - at) >= letter + size ? at + letter + size : NULL;
}

/* What was asked is committed with the Sync at its end. */
static bool is_sync(const char *message, size_t size)
{
	(void)size;
	return *message == 'S';
}

static bool is_ended_by_ready(const char *message)
{
	return *message == '\0' || *message == 'S' || *message == 'Q';
}

static bool is_ready(const char *message)
{
	return *message == 'Z';
}

const struct proxy_protocol proxy_postgres = { postgres_message_end, is_sync, is_ended_by_ready,
					       is_ready };

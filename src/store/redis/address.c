/* store/redis: addresses. See address.h. */
#include "store/redis/address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/print.h"

static int hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* A copy of `size` bytes with %XX decoded; NULL when there is no memory, or a bad or a zero byte.
 */
static char *decode(const char *text, size_t size)
{
	char *copy = malloc(size + 1);
	size_t used = 0;

	for (size_t i = 0; copy != NULL && i < size; i++) {
		int byte = (unsigned char)text[i];

		if (byte == '%') {
			int high = i + 1 < size ? hex(text[i + 1]) : -1;
			int low = i + 2 < size ? hex(text[i + 2]) : -1;

			byte = high >= 0 && low >= 0 ? high * 16 + low : 0;
			i += 2;
		}
		if (byte == 0) {
			free(copy);
			return NULL;
		}
		copy[used++] = (char)byte;
	}
	if (copy != NULL)
		copy[used] = '\0';
	return copy;
}

/* user:password, :password or user, up to the last @. */
static bool parse_login(struct weir__address *address, const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size);
	size_t user = colon != NULL ? (size_t)(colon - text) : size;

	if (user > 0) {
		address->user = decode(text, user);
		if (address->user == NULL)
			return false;
	}
	if (colon != NULL) {
		address->password = decode(colon + 1, size - user - 1);
		if (address->password == NULL)
			return false;
	}
	return true;
}

/* host, host:port, [::1]:port. */
static const char *parse_host(struct weir__address *address, const char *text, size_t size,
			      const char *port)
{
	const char *end = text + size;
	const char *host_end = memchr(text, ':', size);
	uint32_t number;

	if (size > 0 && *text == '[') {
		host_end = memchr(text, ']', size);
		if (host_end == NULL)
			return "the address lacks a ]";
		address->host = strndup(text + 1, (size_t)(host_end - text) - 1);
		host_end++;
	} else {
		if (host_end == NULL)
			host_end = end;
		address->host = strndup(text, (size_t)(host_end - text));
	}
	address->port = host_end < end && *host_end == ':' ?
				strndup(host_end + 1, (size_t)(end - host_end) - 1) :
				strdup(port);
	if (address->host == NULL || address->port == NULL)
		return "there is no memory";
	if (address->host[0] == '\0')
		return "it names no host";
	if ((host_end < end && *host_end != ':') ||
	    weir__number_parse(address->port, 1, 65535, &number) < 0)
		return "the port must be a number from 1 to 65535";
	return NULL;
}

static const char *parse_hosts(struct weir__address *address, const char *text, size_t size,
			       const char *port)
{
	const char *why = NULL;

	while (why == NULL) {
		const char *comma = memchr(text, ',', size);
		size_t one = comma != NULL ? (size_t)(comma - text) : size;

		why = parse_host(address, text, one, port);
		if (comma == NULL)
			break;
		address->next = calloc(1, sizeof(*address));
		address = address->next;
		if (address == NULL)
			return "there is no memory";
		text += one + 1;
		size -= one + 1;
	}
	return why;
}

/* /master[/db] of sentinels, else [/db]. */
static const char *parse_path(struct weir__address *address, const char *path, bool sentinel)
{
	if (sentinel) {
		size_t size = *path == '/' ? strcspn(path + 1, "/") : 0;

		if (size == 0)
			return "the name of a master must follow the sentinels";
		address->master = strndup(path + 1, size);
		if (address->master == NULL)
			return "there is no memory";
		path += 1 + size;
	}
	if (path[0] == '/' && path[1] != '\0' &&
	    weir__number_parse(path + 1, 0, 65535, &address->db) < 0)
		return "what follows the host must be the number of a database";
	return NULL;
}

static const char *parse_remote(struct weir__address *address, const char *rest, bool sentinel)
{
	if (strncmp(rest, "//", 2) != 0)
		return "// and a host must follow the colon";
	rest += 2;

	size_t size = strcspn(rest, "/");
	const char *path = rest + size;
	const char *at = memrchr(rest, '@', size);
	const char *why;

	if (at != NULL) {
		if (!parse_login(address, rest, (size_t)(at - rest)))
			return "user and password have a % that two hexadecimal digits do not "
			       "follow";
		size -= (size_t)(at + 1 - rest);
		rest = at + 1;
	}
	why = parse_path(address, path, sentinel);
	return why != NULL ? why : parse_hosts(address, rest, size, sentinel ? "26379" : "6379");
}

int weir__address_parse(struct weir__address *address, const char *scheme, const char *rest,
			const char **ret_why)
{
	const char *why = NULL;

	*address = (struct weir__address){
		.tls = strncmp(scheme, "rediss", 6) == 0,
		.local = strcmp(scheme, "redis+unix") == 0,
		.connect_timeout = 5 * WEIR_SECOND,
		.timeout = 5 * WEIR_SECOND,
	};
	if (!address->local) {
		why = parse_remote(address, rest, strstr(scheme, "+sentinel") != NULL);
	} else if (rest[0] != '/') {
		why = "the path of a socket must begin with /";
	} else {
		address->host = strdup(rest);
		address->port = strdup("");
	}
	if (why == NULL && address->host != NULL && address->port != NULL)
		return 0;
	weir__address_done(address);
	*ret_why = why;
	return why != NULL ? -EINVAL : -ENOMEM;
}

static void forget(char *secret)
{
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void weir__address_done(struct weir__address *address)
{
	while (address->next != NULL) {
		struct weir__address *next = address->next;

		address->next = next->next;
		free(next->host);
		free(next->port);
		free(next);
	}
	free(address->master);
	free(address->host);
	free(address->port);
	free(address->user);
	forget(address->password);
	free(address->ca_file);
	free(address->cert_file);
	free(address->key_file);
	*address = (struct weir__address){ 0 };
}

static char *copy_of(const char *text, bool *failed)
{
	char *copy = text != NULL ? strdup(text) : NULL;

	*failed = *failed || (text != NULL && copy == NULL);
	return copy;
}

int weir__address_copy(struct weir__address *address, const struct weir__address *like,
		       const char *host, const char *port)
{
	bool failed = false;

	*address = *like;
	address->next = NULL;
	address->master = NULL;
	address->host = copy_of(host, &failed);
	address->port = copy_of(port, &failed);
	address->user = copy_of(like->user, &failed);
	address->password = copy_of(like->password, &failed);
	address->ca_file = copy_of(like->ca_file, &failed);
	address->cert_file = copy_of(like->cert_file, &failed);
	address->key_file = copy_of(like->key_file, &failed);
	if (failed)
		weir__address_done(address);
	return failed ? -ENOMEM : 0;
}

void weir__address_print(const struct weir__address *address, char *text, size_t size)
{
	if (address->local)
		weir__format(text, size, "%s", address->host);
	else if (strchr(address->host, ':') != NULL)
		weir__format(text, size, "[%s]:%s", address->host, address->port);
	else
		weir__format(text, size, "%s:%s", address->host, address->port);
}

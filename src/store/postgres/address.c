/* store/postgres: addresses. See address.h.
 *
 * libpq takes the URL apart, so that what people know of its URLs is true here: several hosts, a
 * socket's directory, percent signs. Its sentences about a bad URL repeat the URL, with a password
 * in it perhaps, so they are not shown. */
#include "store/postgres/address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "store/postgres/library.h"

static void wipe(char *secret)
{
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

int weir__pg_address_set(struct weir__pg_address *address, const char *keyword, const char *value)
{
	char *copy = strdup(value);
	size_t i = 0;

	if (copy == NULL)
		return -ENOMEM;
	while (i < address->n && strcmp(address->keyword[i], keyword) != 0)
		i++;
	if (i == WEIR__PG_KEYWORDS) {
		free(copy);
		return -ENOMEM;
	}
	if (i == address->n) {
		address->n++;
		address->keyword[i] = strdup(keyword);
		if (address->keyword[i] == NULL) {
			address->n--;
			free(copy);
			return -ENOMEM;
		}
	}
	wipe(address->value[i]);
	address->value[i] = copy;
	return 0;
}

const char *weir__pg_address_get(const struct weir__pg_address *address, const char *keyword)
{
	for (size_t i = 0; i < address->n; i++)
		if (strcmp(address->keyword[i], keyword) == 0)
			return address->value[i];
	return NULL;
}

int weir__pg_address_copy(struct weir__pg_address *to, const struct weir__pg_address *from)
{
	int error = 0;

	for (size_t i = 0; i < from->n && error == 0; i++)
		error = weir__pg_address_set(to, from->keyword[i], from->value[i]);
	if (error == 0 && from->password != NULL) {
		to->password = strdup(from->password);
		error = to->password != NULL ? 0 : -ENOMEM;
	}
	memcpy(to->where, from->where, sizeof(to->where));
	to->has_sslmode = from->has_sslmode;
	to->connect_timeout = from->connect_timeout;
	to->timeout = from->timeout;
	return error;
}

static int take(struct weir__pg_address *address, const PQconninfoOption *option)
{
	for (; option->keyword != NULL; option++) {
		int error = option->val != NULL ?
				    weir__pg_address_set(address, option->keyword, option->val) :
				    0;

		if (error < 0)
			return error;
		if (option->val != NULL && strcmp(option->keyword, "password") == 0) {
			address->password = strdup(option->val);
			if (address->password == NULL)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Whether a password may have a @ or a / of its own: then the URL falls apart elsewhere, and pieces
 * of the password would be taken for names that may be shown. */
static bool is_ambiguous(const char *names)
{
	size_t before = strcspn(names, "@/");

	return strchr(names + before + (names[before] == '@'), '@') != NULL;
}

int weir__pg_address_parse(struct weir__pg_address *address, const char *rest)
{
	char *url = weir__format_new("postgresql:%s", rest);
	PQconninfoOption *options;
	char *sentence = NULL;
	int error = -EINVAL;

	if (url == NULL)
		return -ENOMEM;
	options = strncmp(rest, "//", 2) == 0 && !is_ambiguous(rest + 2) ?
			  weir__pq.PQconninfoParse(url, &sentence) :
			  NULL;
	if (options != NULL)
		error = take(address, options);
	weir__pq.PQconninfoFree(options);
	if (sentence != NULL)
		weir__pq.PQfreemem(sentence);
	explicit_bzero(url, strlen(url));
	weir__free(url);
	address->connect_timeout = address->timeout = 5 * WEIR_SECOND;
	return error;
}

void weir__pg_redact(const struct weir__pg_address *address, char *text)
{
	const char *secret = address->password;
	size_t length = secret != NULL ? strlen(secret) : 0;
	char *at = length > 0 ? strstr(text, secret) : NULL;

	for (; at != NULL; at = strstr(at + length, secret))
		memset(at, '*', length);
	for (at = text; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = ' ';
	while (at > text && at[-1] == ' ')
		*--at = '\0';
}

void weir__pg_address_done(struct weir__pg_address *address)
{
	for (size_t i = 0; i < address->n; i++) {
		wipe(address->value[i]);
		free((char *)(uintptr_t)address->keyword[i]);
	}
	wipe(address->password);
	*address = (struct weir__pg_address){ 0 };
}

/* store/postgres: what a store's URL says: where the server is, who asks, and how. */
#ifndef WEIR_STORE_POSTGRES_ADDRESS_H
#define WEIR_STORE_POSTGRES_ADDRESS_H

#include <stdbool.h>
#include <weir/base.h>

enum { WEIR__PG_KEYWORDS = 24 };

/* What libpq is told, each in memory of its own. */
struct weir__pg_address {
	const char *keyword[WEIR__PG_KEYWORDS + 1]; /* up to a NULL */
	char *value[WEIR__PG_KEYWORDS + 1];
	size_t n;
	char *password;   /* as the URL has it, never to be shown; NULL: none */
	char where[256];  /* for people */
	bool has_sslmode; /* somebody has said whether to use TLS */
	weir_time connect_timeout;
	weir_time timeout; /* of an answer */
};

/* Takes the URL's rest. 0; -ENOMEM; -EINVAL: it is not one. */
int weir__pg_address_parse(struct weir__pg_address *address, const char *rest);

/* Adds what libpq is to be told; replaces what was said before. 0 or -ENOMEM. */
int weir__pg_address_set(struct weir__pg_address *address, const char *keyword, const char *value);
const char *weir__pg_address_get(const struct weir__pg_address *address, const char *keyword);

/* A copy, for another connection. 0 or -ENOMEM. */
int weir__pg_address_copy(struct weir__pg_address *to, const struct weir__pg_address *from);

/* Takes the password out of a text that libpq wrote, and line breaks. */
void weir__pg_redact(const struct weir__pg_address *address, char *text);

void weir__pg_address_done(struct weir__pg_address *address);

#endif

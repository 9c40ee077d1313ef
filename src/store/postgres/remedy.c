/* store/postgres: what an administrator is told to run. See postgres.h. */
#include <string.h>

#include "base/print.h"
#include "store/postgres/postgres.h"
#include "store/postgres/words.h"

/* A sentence is cut off somewhere, and half of a command is worse than none. */
enum { LONGEST = 400 };

/* Where the connection leads: the address alone does not say it, for there are service files, the
 * environment and lists of hosts. */
static void write_place(FILE *out, const struct postgres *pg)
{
	const char *host = weir__pq.PQhost(pg->mouth.conn);
	const char *port = weir__pq.PQport(pg->mouth.conn);
	bool is_socket = host[0] == '/' || host[0] == '@';
	bool is_v6 = strchr(host, ':') != NULL;

	(void)fputs("postgres://", out);
	if (!is_socket) {
		(void)fputs(is_v6 ? "[" : "", out);
		weir__pg_encode(out, host);
		(void)fprintf(out, "%s:%s", is_v6 ? "]" : "", port);
	}
	(void)fputc('/', out);
	weir__pg_encode(out, pg->database);
	(void)fputc('?', out);
	if (is_socket) {
		(void)fputs("host=", out);
		weir__pg_encode(out, host);
		(void)fprintf(out, "&port=%s&", port);
	}
}

/* How it is made sure that this is the server, if somebody has said. */
static void write_trust(FILE *out, const struct postgres *pg)
{
	static const char *const keywords[] = { "sslmode", "sslrootcert" };

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		const char *value = weir__pg_address_get(&pg->address, keywords[i]);

		if (value == NULL)
			continue;
		(void)fprintf(out, "%s=", keywords[i]);
		weir__pg_encode(out, value);
		(void)fputc('&', out);
	}
}

char *weir__pg_remedy(const struct postgres *pg)
{
	struct weir__text text;
	FILE *out = weir__text_open(&text);
	const char *written;
	char *command;

	if (out == NULL)
		return NULL;
	(void)fputs("weir store init --grant ", out);
	weir__pg_quote_word(out, pg->admit != NULL ? pg->admit : pg->user);
	(void)fputs(" --store '", out);
	write_place(out, pg);
	write_trust(out, pg);
	(void)fprintf(out, "schema=%s'", pg->schema);
	written = weir__text_close(&text);
	command = written == NULL            ? NULL :
		  strlen(written) <= LONGEST ? weir__format_new("%s", written) :
					       weir__format_new("weir store init there");
	weir__text_free(&text);
	return command;
}

/* store/postgres: scripts. See script.h. */
#include "store/postgres/script.h"

#include <postgres_init.sql.h> /* each made of a script of this directory */
#include <postgres_rules.sql.h>
#include <postgres_schema.sql.h>
#include <postgres_short.sql.h>
#include <postgres_verbs.sql.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From each version to the next. */
static const char *const steps[WEIR__PG_VERSION] = { schema_sql };

/* With the schema's name in its place. */
static void add(FILE *out, const char *script, const char *schema)
{
	static const char place[] = "@schema@";
	const char *at;

	while ((at = strstr(script, place)) != NULL) {
		(void)fwrite(script, 1, (size_t)(at - script), out);
		(void)fputs(schema, out);
		script = at + sizeof(place) - 1;
	}
	(void)fputs(script, out);
}

char *weir__pg_script(const char *schema, int version)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool failed;

	if (out == NULL)
		return NULL;
	add(out, init_sql, schema);
	for (int i = version; i < WEIR__PG_VERSION; i++)
		add(out, steps[i], schema);
	add(out, rules_sql, schema);
	add(out, short_sql, schema);
	add(out, verbs_sql, schema);
	add(out, "INSERT INTO store (version, identity) VALUES (0, '') ON CONFLICT DO NOTHING;\n",
	    schema);
	(void)fprintf(out, "UPDATE store SET version = %d;\nCOMMIT;\n", WEIR__PG_VERSION);
	failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}

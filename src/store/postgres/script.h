/* store/postgres: the scripts that make the schema, and bring an older one up to date. */
#ifndef WEIR_STORE_POSTGRES_SCRIPT_H
#define WEIR_STORE_POSTGRES_SCRIPT_H

/* The version of the schema that this library works with. */
enum { WEIR__PG_VERSION = 1 };

/* What makes of a schema of one version the present one, or of none (0); for free(). NULL when
 * there is no memory. */
char *weir__pg_script(const char *schema, int version);

#endif

/* store/postgres: the options of a store's URL. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/print.h"
#include "store/postgres/postgres.h"
#include "store/postgres/words.h"

const char *const weir__pg_options[] = {
	"schema",
	"grant",
	"connect_timeout",
	"timeout",
	"attempts",
	"multiplier",
	"min_delay",
	"max_delay",
	"failover",
	"synchronous_commit",
	"direct",
	"reaper_cadence",
	"reaper_batch",
	/* libpq's, as it understands them */
	"host",
	"port",
	"user",
	"dbname",
	"service",
	"passfile",
	"sslmode",
	"sslrootcert",
	"sslcert",
	"sslkey",
	"sslcrl",
	NULL,
};

/* How many of them are ours. */
enum { OWN = 13 };

static const char *set_batch(struct postgres *pg, const char *value)
{
	return weir__number_parse(value, 1, 1000000, &pg->reaper_batch) == 0 ?
		       NULL :
		       "must be a number from 1 to 1000000";
}

/* It becomes a part of statements. */
static const char *set_schema(struct postgres *pg, const char *value)
{
	size_t size = strlen(value);

	if (size == 0 || size > 31 ||
	    strspn(value, "abcdefghijklmnopqrstuvwxyz_0123456789") != size ||
	    (value[0] >= '0' && value[0] <= '9') || strncmp(value, "pg_", 3) == 0)
		return "must be 1 to 31 of a-z 0-9 _, and begin with neither a digit nor pg_";
	if (strcmp(value, "public") == 0 || strcmp(value, "information_schema") == 0)
		return "must be a schema of its own, neither public nor information_schema";
	weir__format(pg->schema, sizeof(pg->schema), "%s", value);
	return NULL;
}

static const char *set_commit(struct postgres *pg, const char *value)
{
	static const char *const known[] = { "on", "off", "local", "remote_write", "remote_apply" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(value, known[i]) == 0)
			pg->synchronous_commit = known[i];
	return pg->synchronous_commit != NULL ?
		       NULL :
		       "must be on, off, local, remote_write or remote_apply";
}

/* One, or several with commas between; an empty one is the usual one. */
static bool are_ports(const char *ports)
{
	while (true) {
		size_t size = strcspn(ports, ",");
		uint32_t number;
		char one[8];

		if (size >= sizeof(one))
			return false;
		weir__format(one, sizeof(one), "%.*s", (int)size, ports);
		if (size != 0 && weir__number_parse(one, 1, 65535, &number) < 0)
			return false;
		if (ports[size] == '\0')
			return true;
		ports += size + 1;
	}
}

static bool is_sslmode(const char *mode)
{
	static const char *const known[] = { "disable", "allow",     "prefer",
					     "require", "verify-ca", "verify-full" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(mode, known[i]) == 0)
			return true;
	return false;
}

/* What libpq would find out only when it connects, and call a failure of that. */
static int check_address(const struct weir__pg_address *address, char **ret_error)
{
	const char *port = weir__pg_address_get(address, "port");
	const char *mode = weir__pg_address_get(address, "sslmode");

	if (port != NULL && !are_ports(port))
		*ret_error = weir__format_new("the store's port must be a number from 1 to 65535");
	else if (mode != NULL && !is_sslmode(mode))
		*ret_error = weir__format_new("the store's option sslmode must be disable, allow, "
					      "prefer, require, verify-ca or verify-full");
	else
		return 0;
	return -EINVAL;
}

static const char *set_direct(struct postgres *pg, const char *value)
{
	/* Around an address that has colons itself. */
	const char *bracket = value[0] == '[' ? strchr(value, ']') : NULL;
	const char *host = bracket != NULL ? value + 1 : value;
	const char *colon = strrchr(bracket != NULL ? bracket : value, ':');
	size_t size = bracket != NULL ? (size_t)(bracket - host) :
		      colon != NULL   ? (size_t)(colon - host) :
					strlen(host);

	if (size == 0 || (value[0] == '[' && bracket == NULL) ||
	    (bracket != NULL && bracket[1] != '\0' && colon != bracket + 1) ||
	    (colon != NULL && !are_ports(colon + 1)))
		return "must be HOST:PORT, or DIRECTORY:PORT of a socket, with a port up to 65535";
	pg->has_direct = true;
	free(pg->direct_host);
	pg->direct_host = strndup(host, size);
	free(pg->direct_port);
	pg->direct_port = colon != NULL ? strdup(colon + 1) : NULL;
	return NULL;
}

static const char *set_cadence(struct postgres *pg, const char *value)
{
	if (strcmp(value, "0") == 0) {
		pg->reaper_cadence = 0;
		return NULL;
	}
	return weir__backoff_set_time(&pg->reaper_cadence, value);
}

static const char *set_failover(struct postgres *pg, const char *value)
{
	pg->desk.go_on = strcmp(value, "continue") == 0;
	return pg->desk.go_on || strcmp(value, "wait") == 0 ? NULL : "must be wait or continue";
}

static const char *set_admit(struct postgres *pg, const char *value)
{
	free(pg->admit);
	pg->admit = strdup(value);
	return value[0] != '\0' && strlen(value) < 64 ? NULL : "must be the name of a role";
}

/* What a value must be, or NULL: it is. */
static const char *set_option(struct postgres *pg, const char *name, const char *value)
{
	const char *why;

	if (weir__backoff_set(&pg->desk.backoff, name, value, &why))
		return why;
	if (strcmp(name, "schema") == 0)
		return set_schema(pg, value);
	if (strcmp(name, "grant") == 0)
		return set_admit(pg, value);
	if (strcmp(name, "connect_timeout") == 0)
		return weir__backoff_set_time(&pg->address.connect_timeout, value);
	if (strcmp(name, "timeout") == 0)
		return weir__backoff_set_time(&pg->address.timeout, value);
	if (strcmp(name, "reaper_batch") == 0)
		return set_batch(pg, value);
	if (strcmp(name, "reaper_cadence") == 0)
		return set_cadence(pg, value);
	if (strcmp(name, "failover") == 0)
		return set_failover(pg, value);
	if (strcmp(name, "synchronous_commit") == 0)
		return set_commit(pg, value);
	return set_direct(pg, value);
}

static bool is_own(const char *name)
{
	for (size_t i = 0; i < OWN; i++)
		if (strcmp(weir__pg_options[i], name) == 0)
			return true;
	return false;
}

static int set_one(struct postgres *pg, const char *name, const char *value, char **ret_error)
{
	const char *why = "has a % without the two digits of a byte";
	char *decoded = NULL;
	int error = weir__pg_decode(value, &decoded);

	if (error == 0 && is_own(name)) {
		why = set_option(pg, name, decoded);
		error = why != NULL ? -EINVAL : 0;
	} else if (error == 0) {
		error = weir__pg_address_set(&pg->address, name, decoded);
	}
	if (error == -EINVAL)
		*ret_error = weir__format_new("the store's option %s %s", name, why);
	if (decoded != NULL)
		explicit_bzero(decoded, strlen(decoded)); /* it may be a password */
	free(decoded);
	return error;
}

static int set_all(struct postgres *pg, const struct weir__url *url, char **ret_error)
{
	int error = 0;

	for (size_t i = 0; i < url->n_extra && error == 0; i++)
		error = set_one(pg, url->extra[i].name, url->extra[i].value, ret_error);
	return error;
}

static int set_keyword(struct postgres *pg, const char *keyword, long long number)
{
	char digits[24];

	weir__format(digits, sizeof(digits), "%lld", number);
	return weir__pg_address_set(&pg->address, keyword, digits);
}

/* What every connection is told. Of several hosts, one that can be written to. */
static int complete(struct postgres *pg)
{
	const char *host = weir__pg_address_get(&pg->address, "host");
	long long timeout = pg->address.timeout / WEIR_MS;
	int error = weir__pg_address_set(&pg->address, "fallback_application_name", "weir");

	if (error == 0 && host != NULL && strchr(host, ',') != NULL)
		error = weir__pg_address_set(&pg->address, "target_session_attrs", "read-write");
	if (error == 0)
		error = set_keyword(pg, "tcp_user_timeout", timeout);
	if (error == 0)
		error = set_keyword(pg, "keepalives_idle", 15);
	if (error == 0)
		error = set_keyword(pg, "keepalives_interval", 5);
	if (error == 0)
		error = set_keyword(pg, "keepalives_count", 3);
	return error;
}

static void write_where(struct postgres *pg)
{
	const char *host = weir__pg_address_get(&pg->address, "host");
	const char *port = weir__pg_address_get(&pg->address, "port");
	const char *database = weir__pg_address_get(&pg->address, "dbname");
	const char *service = weir__pg_address_get(&pg->address, "service");

	if (host == NULL)
		host = service != NULL ? service : getenv("PGHOST");
	weir__format(pg->address.where, sizeof(pg->address.where), "%s%s%s%s%s",
		     host != NULL ? host : "its default place", port != NULL ? ":" : "",
		     port != NULL ? port : "", database != NULL ? "/" : "",
		     database != NULL ? database : "");
}

/* What a session, or a transaction behind a pooler, is to be: given up before we do. Whether
 * commits wait for the disk must stay as it was when the server was greeted, whatever its files say
 * meanwhile: semaphores remember it. A plan that was made while a table was small is kept, so it
 * must be one that is good for large ones, too. That makes a scan of a table of one row look so
 * dear that it would be compiled, which takes 0.1 s. */
static char *write_settings(const struct postgres *pg, bool local)
{
	const char *quote = pg->synchronous_commit != NULL ? "'" : "";
	const char *commit = pg->synchronous_commit != NULL ?
				     pg->synchronous_commit :
				     "current_setting('synchronous_commit')";
	long long timeout = pg->address.timeout / WEIR_MS;
	const char *is_local = local ? "true" : "false";
	char more[400] = "";

	if (!local)
		weir__format(
			more, sizeof(more),
			", set_config('idle_in_transaction_session_timeout', '%lld', false)"
			", set_config('default_transaction_isolation', 'read committed', false)"
			", set_config('tcp_keepalives_idle', '15', false)"
			", set_config('tcp_keepalives_interval', '5', false)"
			", set_config('tcp_keepalives_count', '3', false)",
			timeout);
	return weir__format_new("SELECT set_config('statement_timeout', '%lld', %s)"
				", set_config('lock_timeout', '%lld', %s)"
				", set_config('enable_seqscan', 'off', %s)"
				", set_config('jit', 'off', %s)"
				", set_config('search_path', 'pg_catalog, %s, pg_temp', %s)"
				", set_config('synchronous_commit', %s%s%s, %s)%s",
				timeout, is_local, timeout - timeout / 4, is_local, is_local,
				is_local, pg->schema, is_local, quote, commit, quote, is_local,
				more);
}

/* The ear goes to the server itself, where somebody has said where that is. */
static int set_ear(struct postgres *pg)
{
	int error = weir__pg_address_copy(&pg->direct, &pg->address);

	if (error == 0 && pg->has_direct && pg->direct_host == NULL)
		error = -ENOMEM;
	if (error == 0 && pg->has_direct)
		error = weir__pg_address_set(&pg->direct, "host", pg->direct_host);
	if (error == 0 && pg->direct_port != NULL)
		error = weir__pg_address_set(&pg->direct, "port", pg->direct_port);
	return error;
}

int weir__pg_read_url(struct postgres *pg, const struct weir__url *url, char **ret_error)
{
	int error = weir__pg_address_parse(&pg->address, url->rest);

	pg->reaper_cadence = 30 * WEIR_SECOND;
	pg->reaper_batch = 1000;
	weir__format(pg->schema, sizeof(pg->schema), "weir");
	if (error == -EINVAL)
		*ret_error = weir__format_new("a PostgreSQL store is named as postgres://USER:"
					      "PASSWORD@HOST:PORT/DATABASE, with %%40 %%2F %%3F "
					      "for @ / ? in a password, and this is not");
	if (error == 0)
		error = set_all(pg, url, ret_error);
	if (error == 0)
		error = check_address(&pg->address, ret_error);
	pg->address.has_sslmode = weir__pg_address_get(&pg->address, "sslmode") != NULL ||
				  getenv("PGSSLMODE") != NULL;
	if (error == 0)
		error = complete(pg);
	if (error < 0)
		return error;
	write_where(pg);
	pg->settings = write_settings(pg, false);
	pg->pooled_settings = write_settings(pg, true);
	if (pg->settings == NULL || pg->pooled_settings == NULL)
		return -ENOMEM;
	error = weir__pg_write_texts(pg);
	return error == 0 ? set_ear(pg) : error;
}

void weir__pg_url_done(struct postgres *pg)
{
	weir__pg_address_done(&pg->address);
	weir__pg_address_done(&pg->direct);
	free(pg->admit);
	free(pg->direct_host);
	free(pg->direct_port);
	weir__free(pg->settings);
	weir__free(pg->pooled_settings);
	for (int i = 0; i < WEIR__PG_VERBS; i++)
		weir__free(pg->text[i]);
}

/* store/postgres: wires that come up and go down. See postgres.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/print.h"
#include "store/postgres/fault.h"
#include "store/postgres/postgres.h"
#include "store/postgres/script.h"

enum { WHY_SIZE = 700, OLDEST = 140000 };

static struct postgres *pg_of_mouth(struct weir__pg_wire *wire)
{
	return (struct postgres *)(void *)((char *)wire - offsetof(struct postgres, mouth));
}

static struct postgres *pg_of_ear(struct weir__pg_wire *wire)
{
	return (struct postgres *)(void *)((char *)wire - offsetof(struct postgres, ear));
}

/* ---- questions before the first -------------------------------------------------------------- */

/* A store is known by a table whose name nobody else would use. A word of SQL's cannot be the name
 * of a schema everywhere; only the server knows all of them. Who finds a schema need not ask. */
static const char facts[] =
	"SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery()::int,"
	" pg_catalog.current_setting('server_version_num'), current_user,"
	" pg_catalog.current_database(), f.tables, CASE f.tables WHEN 0 THEN"
	" (SELECT count(*) FROM pg_catalog.pg_get_keywords() k"
	" WHERE k.word = $1 AND k.catcode <> 'U') ELSE 0 END,"
	" pg_catalog.split_part(pg_catalog.current_setting('server_version'), ' ', 1),"
	" pg_catalog.current_setting('synchronous_commit'),"
	" (pg_catalog.current_setting('fsync')::bool AND"
	" pg_catalog.current_setting('full_page_writes')::bool)::int"
	" FROM (SELECT count(*) AS tables FROM pg_catalog.pg_class c"
	" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
	" WHERE n.nspname = $1 AND c.relname = 'incarnation') f";
enum {
	PID,
	IS_REPLICA,
	SERVER_VERSION,
	USER,
	DATABASE,
	HAS_SCHEMA,
	IS_WORD,
	VERSION_TEXT,
	COMMIT,
	IS_SAFE,
	FACTS
};

static void ask(struct postgres *pg, enum hello what, const char *text, const char *value)
{
	int sent = value == NULL ? weir__pq.PQsendQuery(pg->mouth.conn, text) :
				   weir__pq.PQsendQueryParams(pg->mouth.conn, text, 1, NULL, &value,
							      NULL, NULL, 0);

	pg->hello = what;
	if (sent == 1)
		weir__pg_wire_flush(&pg->mouth);
	else
		weir__server_lost(&pg->primary, "there is no memory");
}

static void mouth_up(struct weir__pg_wire *wire)
{
	struct postgres *pg = pg_of_mouth(wire);

	ask(pg, HELLO_FACTS, facts, pg->schema);
}

static void ask_version(struct postgres *pg)
{
	char text[WHY_SIZE + 400];

	/* What a session is told behind a pooler would be told to others. */
	weir__format(text, sizeof(text), "%s%sSELECT h.version, h.server FROM \"%s\".hello() h",
		     pg->pooled ? "" : pg->settings, pg->pooled ? "" : "; ", pg->schema);
	ask(pg, HELLO_VERSION, text, NULL);
}

/* found: the version of what is there, -1: nothing. */
static void init(struct postgres *pg, int found)
{
	char *script = weir__pg_script(pg->schema, found < 0 ? 0 : found);

	pg->found = found;
	if (script == NULL) {
		weir__server_lost(&pg->primary, "there is no memory");
		return;
	}
	ask(pg, HELLO_INIT, script, NULL);
	free(script);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static char *say_forbidden(const struct postgres *pg, const char *remedy)
{
	switch (pg->hello) {
	case HELLO_INIT:
		if (pg->found >= 0)
			return weir__format_new("the schema %s is of version %d, version %d is "
						"needed, and %s may not migrate it; its owner "
						"runs: %s",
						pg->schema, pg->found, WEIR__PG_VERSION, pg->user,
						remedy);
		return weir__format_new("there is no store in the schema %s, and %s may not make "
					"it; somebody who may runs: %s",
					pg->schema, pg->user, remedy);
	case HELLO_ADMIT:
		return weir__format_new("%s may not let others use the schema %s; its owner runs: "
					"%s",
					pg->user, pg->schema, remedy);
	default:
		return weir__format_new("%s may not use the schema %s; its owner runs: %s",
					pg->user, pg->schema, remedy);
	}
}

static void forbid(struct postgres *pg)
{
	char *remedy = weir__pg_remedy(pg);
	char *why = remedy != NULL ? say_forbidden(pg, remedy) : NULL;

	weir__server_give_up(&pg->primary, -EHOSTUNREACH, why != NULL ? why : "there is no memory");
	weir__free(why);
	weir__free(remedy);
}

static void refuse_hello(struct postgres *pg, const PGresult *result)
{
	const char *code = weir__pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
	char said[WHY_SIZE / 2];

	weir__pg_quote(pg, result, said, sizeof(said));
	switch (weir__pg_fault_of(code)) {
	case WEIR__PG_FORBIDDEN:
		forbid(pg);
		break;
	case WEIR__PG_NEVER_EVER:
		/* Two who make the schema at the same time: the second finds it made. */
		if (pg->hello == HELLO_INIT && code != NULL &&
		    (strncmp(code, "42P0", 4) == 0 || strcmp(code, "23505") == 0))
			weir__server_lost(&pg->primary, said);
		else
			weir__server_give_up(&pg->primary, -EPROTO, said);
		break;
	default:
		weir__server_lost(&pg->primary, said);
		break;
	}
}

static const char *value(const PGresult *result, int column)
{
	return weir__pq.PQgetvalue(result, 0, column);
}

static void hear_facts(struct postgres *pg, const PGresult *result)
{
	int version = atoi(value(result, SERVER_VERSION));
	char why[WHY_SIZE];

	weir__format(pg->user, sizeof(pg->user), "%s", value(result, USER));
	weir__format(pg->database, sizeof(pg->database), "%s", value(result, DATABASE));
	weir__format(pg->self.version, sizeof(pg->self.version), "%s", value(result, VERSION_TEXT));
	weir__format(pg->self.commit, sizeof(pg->self.commit), "%s", value(result, COMMIT));
	pg->self.safe = atoi(value(result, IS_SAFE)) != 0;
	pg->pooled = atoi(value(result, PID)) != weir__pq.PQbackendPID(pg->mouth.conn);
	if (version < OLDEST) {
		weir__format(why, sizeof(why), "it is version %d; 14 or newer is needed",
			     version / 10000);
		weir__server_give_up(&pg->primary, -EHOSTUNREACH, why);
	} else if (atoi(value(result, IS_REPLICA)) != 0) {
		weir__server_lost(&pg->primary, "it is a replica; its primary is needed");
	} else if (atoi(value(result, IS_WORD)) != 0) {
		weir__format(why, sizeof(why),
			     "the store's option schema must not be a word of SQL's, such as %s",
			     pg->schema);
		weir__server_give_up(&pg->primary, -EINVAL, why);
	} else if (atoi(value(result, HAS_SCHEMA)) == 0) {
		init(pg, -1);
	} else {
		ask_version(pg);
	}
}

/* Another server may have lost what this handle was granted. */
static void recognise(struct postgres *pg, const PGresult *result)
{
	const char *server = value(result, 1);
	size_t size = strcspn(pg->server, " ");

	if (size != 0 && (strncmp(pg->server, server, size) != 0 || server[size] != ' '))
		pg->primary.cautious = weir__boottime() + pg->desk.longest;
	weir__format(pg->server, sizeof(pg->server), "%s", server);
}

static void begin(struct postgres *pg)
{
	pg->hello = HELLO_DONE;
	if (weir__pq.PQenterPipelineMode(pg->mouth.conn) != 1) {
		weir__server_lost(&pg->primary, "it cannot be asked now");
		return;
	}
	weir__server_found(&pg->primary);
	weir__pg_wire_rest(&pg->mouth);
	weir__pg_listen(&pg->desk);
	weir__pg_look_at_all(pg);
	weir__pg_send(pg);
}

static void hear_version(struct postgres *pg, const PGresult *result)
{
	int version = atoi(value(result, 0));
	char why[WHY_SIZE];

	if (version > WEIR__PG_VERSION) {
		weir__format(why, sizeof(why),
			     "the schema %s is of version %d, made by a newer weir; this one knows "
			     "version %d",
			     pg->schema, version, WEIR__PG_VERSION);
		weir__server_give_up(&pg->primary, -EPROTO, why);
		return;
	}
	if (version < WEIR__PG_VERSION) {
		init(pg, version);
		return;
	}
	recognise(pg, result);
	if (pg->admit != NULL) {
		char text[WHY_SIZE];

		weir__format(text, sizeof(text), "SELECT \"%s\".admit($1)", pg->schema);
		ask(pg, HELLO_ADMIT, text, pg->admit);
		return;
	}
	begin(pg);
}

static void greet(struct postgres *pg, const PGresult *result)
{
	ExecStatusType status = weir__pq.PQresultStatus(result);
	bool rows = status == PGRES_TUPLES_OK && weir__pq.PQntuples(result) == 1;

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		refuse_hello(pg, result);
	else if (pg->hello == HELLO_INIT)
		ask_version(pg);
	else if (pg->hello == HELLO_ADMIT)
		begin(pg);
	else if (!rows || weir__pq.PQnfields(result) < (pg->hello == HELLO_FACTS ? FACTS : 2))
		weir__server_give_up(&pg->primary, -EPROTO, "its answer is not understood");
	else if (pg->hello == HELLO_FACTS)
		hear_facts(pg, result);
	else
		hear_version(pg, result);
}

/* The last result of a question; a script has many, and an error ends it. */
static void mouth_input(struct weir__pg_wire *wire)
{
	struct postgres *pg = pg_of_mouth(wire);

	if (pg->primary.ready) {
		weir__pg_input(pg);
		return;
	}
	while (wire->is_up && !pg->primary.ready && !weir__pq.PQisBusy(wire->conn)) {
		PGresult *result = weir__pq.PQgetResult(wire->conn);

		if (result != NULL) {
			bool failed = weir__pq.PQresultStatus(result) == PGRES_FATAL_ERROR;

			if (pg->greeting != NULL &&
			    weir__pq.PQresultStatus(pg->greeting) == PGRES_FATAL_ERROR && !failed) {
				weir__pq.PQclear(result);
				continue;
			}
			weir__pq.PQclear(pg->greeting);
			pg->greeting = result;
			continue;
		}
		if (pg->greeting == NULL)
			return;
		result = pg->greeting;
		pg->greeting = NULL;
		weir__pg_wire_rest(wire);
		greet(pg, result);
		weir__pq.PQclear(result);
	}
}

static void mouth_down(struct weir__pg_wire *wire, int error, const char *why)
{
	struct postgres *pg = pg_of_mouth(wire);

	weir__pq.PQclear(pg->greeting);
	pg->greeting = NULL;
	if (error == -EACCES)
		weir__server_give_up(&pg->primary, -EHOSTUNREACH, why);
	else
		weir__server_lost(&pg->primary, why);
}

const struct weir__pg_owner weir__pg_mouth = {
	.up = mouth_up,
	.input = mouth_input,
	.down = mouth_down,
};

/* ---- the ear --------------------------------------------------------------------------------- */

/* A heartbeat finds out what it does not hear, so there is no hurry to open it again; and the mouth
 * tells everybody of what is wrong. */
static void ear_down(struct weir__pg_wire *wire, int error, const char *why)
{
	struct postgres *pg = pg_of_ear(wire);

	(void)error;
	(void)why;
	pg->listening = false;
	pg->ear_pausing = true;
	weir__agent_timer_set(pg->desk.agent, &pg->ear_pause,
			      weir__boottime() + pg->desk.store->bounds.heartbeat);
}

static void ear_up(struct weir__pg_wire *wire)
{
	if (weir__pq.PQsendQuery(wire->conn, pg_of_ear(wire)->listen) == 1) {
		weir__pg_wire_flush(wire);
	} else {
		weir__pg_wire_close(wire);
		ear_down(wire, 0, "");
	}
}

static void ear_input(struct weir__pg_wire *wire)
{
	struct postgres *pg = pg_of_ear(wire);

	while (!pg->listening && !weir__pq.PQisBusy(wire->conn)) {
		PGresult *result = weir__pq.PQgetResult(wire->conn);
		bool failed = result != NULL && weir__pq.PQresultStatus(result) != PGRES_COMMAND_OK;

		pg->listening = result == NULL;
		weir__pq.PQclear(result);
		if (failed) {
			weir__pg_wire_close(wire);
			ear_down(wire, 0, "");
			return;
		}
		if (pg->listening) {
			weir__pg_wire_rest(wire);
			weir__pg_look_at_all(pg); /* what was told before it listened */
		}
	}
	weir__pg_notifications(pg, wire);
	weir__pg_send(pg);
}

const struct weir__pg_owner weir__pg_ear = {
	.up = ear_up,
	.input = ear_input,
	.down = ear_down,
};

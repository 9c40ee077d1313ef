/* store/postgres: what the server has said about itself, for whoever looks after it. See
 * postgres.h.
 */
#include <string.h>

#include "store/postgres/postgres.h"
#include "store/postgres/script.h"
#include "store/remark.h"

static int on_server(struct weir__picture *picture, const struct postgres *pg)
{
	return weir__picture_remark(picture, false, "server",
				    "%s is PostgreSQL %s; %s uses its schema %s, of version %d",
				    pg->address.where, pg->self.version, pg->user, pg->schema,
				    WEIR__PG_VERSION);
}

static int on_disk(struct weir__picture *picture, const struct postgres *pg)
{
	const char *commit = pg->synchronous_commit != NULL ? pg->synchronous_commit :
							      pg->self.commit;

	if (!pg->self.safe)
		return weir__picture_remark(
			picture, true, "disk",
			"fsync or full_page_writes is off at %s: if its machine "
			"crashes, its data may be damaged; turn them on",
			pg->address.where);
	if (strcmp(commit, "off") == 0)
		return weir__picture_remark(picture, false, "disk",
					    "synchronous_commit is off: a crash of %s may lose the "
					    "last moments%s",
					    pg->address.where, remark_after_loss(pg->desk.go_on));
	return weir__picture_remark(picture, false, "disk",
				    "%s loses nothing that was answered when it crashes",
				    pg->address.where);
}

static int on_pooler(struct weir__picture *picture, const struct postgres *pg)
{
	if (!pg->pooled || pg->has_direct)
		return 0;
	return weir__picture_remark(picture, true, "pooler",
				    "%s is reached through a pooler, so those who wait only ask "
				    "once in a heartbeat: say direct=HOST:PORT in the store's URL",
				    pg->address.where);
}

static int on_reach(struct weir__picture *picture, const struct postgres *pg)
{
	const char *host = weir__pq.PQhost(pg->mouth.conn);
	struct weir__reach reach = {
		.where = pg->address.where,
		.hosts = host != NULL ? host : "",
		.tls = "sslmode=verify-full",
		.encrypted = weir__pq.PQsslInUse(pg->mouth.conn) == 1,
		.has_password = pg->address.password != NULL,
		.goes_on = pg->desk.go_on,
	};

	return weir__remark_reach(picture, &reach);
}

int weir__pg_remark(const struct postgres *pg, struct weir__picture *picture)
{
	int error = on_server(picture, pg);

	if (error == 0)
		error = on_disk(picture, pg);
	if (error == 0)
		error = on_pooler(picture, pg);
	return error == 0 ? on_reach(picture, pg) : error;
}

/* store/postgres: opening and closing, and what comes from askers. See postgres.h. */
#include "store/postgres/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/print.h"
#include "base/random.h"
#include "store/postgres/postgres.h"

/* ---- in the agent's thread ------------------------------------------------------------------- */

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	struct postgres *pg = self;

	(void)weir__desk_serve(&pg->desk, operations, withdrawn);
	weir__pg_send(pg);
}

static const struct weir__agent_work work = { .serve = serve, .distant = true };

#define PG_OF(timer, member) \
	((struct postgres *)(void *)((char *)(timer)-offsetof(struct postgres, member)))

static void end_pause(struct weir__timer *timer)
{
	struct postgres *pg = PG_OF(timer, primary.pause);

	pg->primary.pausing = false;
	if (pg->primary.ready)
		weir__pg_send(pg);
	else if (!weir__server_is_idle(&pg->primary))
		weir__pg_connect(&pg->primary);
}

static void end_ear_pause(struct weir__timer *timer)
{
	struct postgres *pg = PG_OF(timer, ear_pause);

	pg->ear_pausing = false;
	weir__pg_listen(&pg->desk);
}

static void beat(struct weir__timer *timer)
{
	struct postgres *pg = PG_OF(timer, desk.heartbeat);

	pg->desk.beats_at = 0;
	if (pg->primary.ready)
		weir__pg_send(pg);
	else if (pg->desk.waiting.first != NULL)
		weir__pg_connect(&pg->primary);
	/* Until there is a server again, nothing is due. */
	if (!pg->primary.ready)
		pg->desk.beats_at = WEIR_NEVER;
}

/* ---- the reaper ------------------------------------------------------------------------------ */

static void set_reaper(struct postgres *pg)
{
	uint16_t random = 0;

	if (pg->reaper_cadence == 0)
		return;
	(void)weir__random(&random, sizeof(random)); /* without, it does without */
	weir__agent_timer_set(pg->desk.agent, &pg->reaper,
			      weir__boottime() + pg->reaper_cadence +
				      pg->reaper_cadence / 8 / UINT16_MAX * random);
}

static void reaped(struct weir__op *op)
{
	struct postgres *pg =
		(struct postgres *)(void *)((char *)op - offsetof(struct postgres, reaping));

	weir__free(op->error);
	op->error = NULL;
	pg->is_reaping = false;
}

/* Housekeeping only: nothing waits for it, and nothing is wrong if it never comes. */
static void reap(struct weir__timer *timer)
{
	struct postgres *pg = PG_OF(timer, reaper);

	set_reaper(pg);
	if (!pg->primary.ready || pg->is_reaping || weir__gate_is_shut(pg->desk.store))
		return;
	pg->reaping = (struct weir__op){
		.verb = WEIR__REAP, .name = "", .max_rows = pg->reaper_batch, .done = reaped
	};
	pg->is_reaping = true;
	if (weir__desk_take(&pg->desk, &pg->reaping))
		weir__pg_send(pg);
}

/* ---- what differs from other engines --------------------------------------------------------- */

static struct server *server_of(struct desk *desk, const struct call *call)
{
	(void)call;
	return &weir__pg_of(desk)->primary;
}

static void hang_up(struct server *server)
{
	weir__pg_wire_close(&weir__pg_of(server->desk)->mouth);
}

static const struct desk_kind kind = {
	.product = "PostgreSQL",
	.server_of = server_of,
	.prepare = weir__pg_survey_start,
	.listen = weir__pg_listen,
	.connect = weir__pg_connect,
	.hang_up = hang_up,
	.unsend = weir__pg_unsend,
	.part = weir__pg_part,
};

/* ---- open and close -------------------------------------------------------------------------- */

static void free_pg(struct postgres *pg)
{
	weir__agent_stop(pg->desk.agent);
	weir__desk_done(&pg->desk);
	weir__pg_url_done(pg);
	weir__free(pg);
}

static int prepare(struct postgres *pg, const struct weir__url *url, char **ret_error)
{
	uint64_t random[2];
	int error = weir__pq_load() ? 0 : -EHOSTUNREACH;

	if (error < 0)
		*ret_error = weir__format_new("%s cannot be loaded; install it to use PostgreSQL",
					      WEIR_PQ_SONAME);
	if (error == 0)
		error = weir__pg_read_url(pg, url, ret_error);
	if (error == 0)
		error = weir__random(random, sizeof(random));
	if (error < 0)
		return error;
	weir__format(pg->listen, sizeof(pg->listen), "LISTEN weir_%016llx%016llx",
		     (unsigned long long)random[0], (unsigned long long)random[1]);
	pg->channel = pg->listen + strlen("LISTEN ");
	return weir__agent_new(&work, pg, &pg->desk.agent);
}

/* Waits until the server is known to be there and to do: what is wrong with a store is said when it
 * is opened. */
static int open_pg(struct weir_store *store, const struct weir__url *url, char **ret_error)
{
	struct postgres *pg = weir__alloc(sizeof(*pg));
	int error;

	if (pg == NULL)
		return -ENOMEM;
	weir__desk_init(&pg->desk, &kind, store);
	pg->primary.desk = &pg->desk;
	pg->primary.where = pg->address.where;
	pg->primary.pause.fire = end_pause;
	pg->ear_pause.fire = end_ear_pause;
	pg->desk.wake_up.fire = weir__pg_wake_up;
	pg->desk.heartbeat.fire = beat;
	pg->reaper.fire = reap;
	error = prepare(pg, url, ret_error);
	weir__pg_wire_init(&pg->mouth, &weir__pg_mouth, pg->desk.agent, &pg->address);
	weir__pg_wire_init(&pg->ear, &weir__pg_ear, pg->desk.agent, &pg->direct);
	if (error == 0)
		error = weir__desk_say_hello(&pg->desk, ret_error);
	if (error < 0) {
		free_pg(pg);
		return error;
	}
	set_reaper(pg);
	store->state = pg;
	store->agent = pg->desk.agent;
	return 0;
}

static void close_pg(struct weir_store *store)
{
	struct postgres *pg = store->state;

	weir__desk_say_goodbye(&pg->desk);
	free_pg(pg);
}

static void submit(struct weir_store *store, struct weir__op *op)
{
	weir__agent_submit(store->agent, op);
}

static void withdraw(struct weir_store *store, struct weir__op *op)
{
	weir__agent_withdraw(store->agent, op);
}

#define ENGINE(scheme_)                                                            \
	{                                                                          \
		.scheme = (scheme_), .options = weir__pg_options, .open = open_pg, \
		.close = close_pg, .submit = submit, .withdraw = withdraw,         \
	}

const struct weir__engine weir__postgres_engine = ENGINE("postgres");
const struct weir__engine weir__postgresql_engine = ENGINE("postgresql");

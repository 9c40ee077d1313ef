/* store/postgres: opening and closing, and what comes from askers. See postgres.h. */
#include "store/postgres/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/print.h"
#include "base/random.h"
#include "lease/op.h"
#include "store/postgres/postgres.h"

/* ---- in the agent's thread ------------------------------------------------------------------- */

static void take(struct postgres *pg, struct weir__op *op)
{
	if (op->name == weir__pg_goodbye) {
		pg->goodbye = op;
		return;
	}
	if (!weir__pg_take(pg, op))
		return;
	/* Whoever may wait, or hold for long, may have to be told something. */
	if (op->verb == WEIR__REQUEST && (op->wait || !op->detached) && !pg->wants_ear) {
		pg->wants_ear = true;
		if (pg->ready)
			weir__pg_listen(pg);
	}
}

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	struct postgres *pg = self;

	while (operations != NULL) {
		struct weir__op *next = operations->next;

		take(pg, operations);
		operations = next;
	}
	while (withdrawn != NULL) {
		struct weir__op *next = withdrawn->withdraw_next;

		weir__pg_withdraw(pg, withdrawn);
		withdrawn = next;
	}
	weir__pg_send(pg);
}

static const struct weir__agent_work work = { .serve = serve, .distant = true };

#define PG_OF(timer, member) \
	((struct postgres *)(void *)((char *)(timer)-offsetof(struct postgres, member)))

static void end_pause(struct weir__timer *timer)
{
	struct postgres *pg = PG_OF(timer, pause);

	pg->pausing = false;
	if (pg->ready)
		weir__pg_send(pg);
	else if (pg->todo.first != NULL || pg->waiting.first != NULL)
		weir__pg_connect(pg);
}

static void end_ear_pause(struct weir__timer *timer)
{
	struct postgres *pg = PG_OF(timer, ear_pause);

	pg->ear_pausing = false;
	if (pg->ready)
		weir__pg_listen(pg);
}

static void beat(struct weir__timer *timer)
{
	struct postgres *pg = PG_OF(timer, heartbeat);

	pg->beats_at = 0;
	if (pg->ready)
		weir__pg_send(pg);
	else if (pg->waiting.first != NULL)
		weir__pg_connect(pg);
	/* Until there is a server again, nothing is due. */
	if (!pg->ready)
		pg->beats_at = WEIR_NEVER;
}

/* ---- the reaper ------------------------------------------------------------------------------ */

static void set_reaper(struct postgres *pg)
{
	uint16_t random = 0;

	if (pg->reaper_cadence == 0)
		return;
	(void)weir__random(&random, sizeof(random)); /* without, it does without */
	weir__agent_timer_set(pg->agent, &pg->reaper,
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
	if (!pg->ready || pg->is_reaping || weir__gate_is_shut(pg->store))
		return;
	pg->reaping = (struct weir__op){
		.verb = WEIR__REAP, .name = "", .max_rows = pg->reaper_batch, .done = reaped
	};
	pg->is_reaping = true;
	if (weir__pg_take(pg, &pg->reaping))
		weir__pg_send(pg);
}

/* ---- open and close -------------------------------------------------------------------------- */

static void free_pg(struct postgres *pg)
{
	weir__agent_stop(pg->agent);
	while (pg->parked.first != NULL)
		weir__pg_bury(pg, pg->parked.first);
	weir__table_done(&pg->tokens);
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
	weir__format(pg->channel, sizeof(pg->channel), "weir_%016llx%016llx",
		     (unsigned long long)random[0], (unsigned long long)random[1]);
	return weir__agent_new(&work, pg, &pg->agent);
}

/* Asks the agent for something that is not the store's, and waits. */
static int ask(struct postgres *pg, const char *what, char **ret_error)
{
	struct weir__op op = {
		.verb = WEIR__LIST, .name = what, .agent = pg->agent, .done = weir__op_wake
	};

	weir__agent_submit(pg->agent, &op);
	weir__op_wait(&op);
	*ret_error = op.error;
	return op.result;
}

/* Waits until the server is known to be there and to do: what is wrong with a store is said when it
 * is opened. */
static int open_pg(struct weir_store *store, const struct weir__url *url, char **ret_error)
{
	struct postgres *pg = weir__alloc(sizeof(*pg));
	int error;

	if (pg == NULL)
		return -ENOMEM;
	pg->store = store;
	pg->beats_at = WEIR_NEVER;
	pg->pause.fire = end_pause;
	pg->ear_pause.fire = end_ear_pause;
	pg->heartbeat.fire = beat;
	pg->reaper.fire = reap;
	error = prepare(pg, url, ret_error);
	weir__pg_wire_init(&pg->mouth, &weir__pg_mouth, pg->agent, &pg->address);
	weir__pg_wire_init(&pg->ear, &weir__pg_ear, pg->agent, &pg->direct);
	if (error == 0)
		error = ask(pg, weir__pg_hello, ret_error);
	if (error < 0) {
		free_pg(pg);
		return error;
	}
	set_reaper(pg);
	store->state = pg;
	store->agent = pg->agent;
	return 0;
}

static void close_pg(struct weir_store *store)
{
	struct postgres *pg = store->state;
	char *error = NULL;

	(void)ask(pg, weir__pg_goodbye, &error);
	weir__free(error);
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

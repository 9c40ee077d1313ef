/* store/sqlite: the engine. */
#include "store/sqlite/engine.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/sqlite/lite.h"

enum { LEFT_LOG = 250 }; /* frames that are left for the next one to read through */

static const struct weir__agent_work work = { .serve = weir__lite_serve };

static void destroy(struct weir__lite *lite)
{
	weir__lite_file_close(lite);
	weir__slots_done(&lite->kept.rec.slots);
	weir__lite_forget(lite);
	weir__free(lite->blocks);
	weir__lite_bound_free(lite);
	weir__lite_abandoned_free(lite);
	weir__lite_unwatched_free(lite);
	weir__free(lite);
}

static int open_store(struct weir_store *store, const struct weir__url *url, char **ret_error)
{
	struct weir__lite *lite = weir__alloc(sizeof(*lite));
	int error;

	if (lite == NULL)
		return -ENOMEM;
	lite->store = store;
	lite->dir = -1;
	lite->lock.fd = -1;
	lite->inbox.fd = -1;
	lite->look_timer.fire = weir__lite_look;
	lite->tidy_timer.fire = weir__lite_tidy;
	lite->last_tiding = &lite->tidings;
	lite->book = &weir__lite_book;
	error = weir__lite_self(lite, ret_error);
	if (error == 0)
		error = weir__lite_file_open(lite, url->rest, ret_error);
	if (error == 0)
		error = weir__lite_schema(lite, ret_error);
	if (lite->lock.fd >= 0)
		weir__lite_unlock(lite->lock.fd);
	if (error == 0)
		error = weir__agent_new(&work, lite, &store->agent);
	if (error < 0) {
		destroy(lite);
		return error;
	}
	store->state = lite;
	return 0;
}

static void nobody_waits(struct weir__op *op)
{
	(void)op;
}

/* What is watched can only be left alone in the agent's thread, so that is where it ends: with a
 * last operation, which asks for nothing. */
static void close_store(struct weir_store *store)
{
	struct weir__lite *lite = store->state;
	struct weir__op last = { .verb = WEIR__REAP, .done = nobody_waits };

	/* In a child of a fork nothing here may be touched: it is the parent's. */
	if (lite->self.pid != getpid())
		return;
	if (WEIR__LOAD(&lite->served, __ATOMIC_ACQUIRE)) {
		WEIR__STORE(&lite->closing, true, __ATOMIC_RELEASE);
		weir__agent_submit(store->agent, &last);
	}
	weir__agent_stop(store->agent);
	weir__lite_cut(lite, LEFT_LOG);
	destroy(lite);
}

static void submit(struct weir_store *store, struct weir__op *op)
{
	struct weir__lite *lite = store->state;

	WEIR__STORE(&lite->served, true, __ATOMIC_RELEASE);
	weir__agent_submit(store->agent, op);
}

static void withdraw(struct weir_store *store, struct weir__op *op)
{
	weir__agent_withdraw(store->agent, op);
}

const struct weir__engine weir__sqlite_engine = {
	.scheme = "sqlite",
	.open = open_store,
	.close = close_store,
	.submit = submit,
	.withdraw = withdraw,
	.bind = weir__lite_bind,
};

/* lease: weir_acquire. */
#include <errno.h>
#include <string.h>

#include "base/boottime.h"
#include "lease/keeper.h"
#include "lease/names.h"
#include "lease/namesakes.h"
#include "lease/op.h"
#include "lease/say.h"

/* ---- what is asked --------------------------------------------------------------------------- */

static int check_times(const struct weir_store *store, const struct weir_request *request)
{
	if (request->max_hold < 0)
		return weir__fail(-EINVAL, "max_hold is negative");
	return weir__check_ttl(&store->bounds, request->ttl);
}

static int check_sizes(const struct weir_store *store, const struct weir_request *request)
{
	uint32_t max_limit = store->bounds.max_limit;

	if (request->limit > max_limit)
		return weir__fail(-EINVAL, "a limit is from 1 to %u here, not %u", max_limit,
				  request->limit);
	if (request->weight > max_limit)
		return weir__fail(-E2BIG,
				  "%u permits could never be granted: no limit is above %u here",
				  request->weight, max_limit);
	return 0;
}

static int check_flags(const struct weir_request *request)
{
	if (request->detached && weir__keeper_is_wanted(request))
		return weir__fail(-EINVAL, "a detached lease has no keepalive, and nobody is told "
					   "of its end");
	if (request->cancel_on_lost && weir_self() == NULL)
		return weir__fail(-EINVAL, "cancel_on_lost is for a task, and the caller is none");
	return 0;
}

static int check(const struct weir_store *store, const struct weir_request *request)
{
	int error = weir__check_name(request->name);

	if (error == 0 && request->owner != NULL)
		error = weir__check_words(request->owner, "owner");
	if (error == 0 && request->request_id != NULL)
		error = weir__check_words(request->request_id, "request id");
	if (error == 0)
		error = check_times(store, request);
	if (error == 0)
		error = check_sizes(store, request);
	return error == 0 ? check_flags(request) : error;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Puts the operation among those that closing the store ends. False: it is being closed, and the
 * operation was withdrawn. */
static bool join_waits(struct weir_store *store, struct weir__op *op)
{
	bool open;

	weir__lock(&store->lock);
	open = !weir__gate_is_shut(store);
	if (!open)
		weir__namesakes_give_up(store, op, -ESHUTDOWN);
	if (open) {
		op->waits_next = store->waits;
		if (store->waits != NULL)
			store->waits->waits_prev = op;
		store->waits = op;
	}
	weir__unlock(&store->lock);
	return open;
}

/* Takes it out again, and withdraws it if the asker has given up first. */
static void leave_waits(struct weir_store *store, struct weir__op *op, int give_up)
{
	weir__lock(&store->lock);
	if (op->waits_prev != NULL)
		op->waits_prev->waits_next = op->waits_next;
	else
		store->waits = op->waits_next;
	if (op->waits_next != NULL)
		op->waits_next->waits_prev = op->waits_prev;
	if (give_up != 0 && !op->withdrawn)
		weir__namesakes_give_up(store, op, give_up);
	weir__unlock(&store->lock);
}

/* Returns what ended the wait before there was an answer, or 0. In either case there is one now
 * (P5): a withdrawal is answered, too, and perhaps by a grant in the last moment. A try does not
 * wait for anybody but the engine, so there is nothing to withdraw. */
static int wait(struct weir_store *store, struct weir__op *op, weir_time deadline)
{
	int give_up = 0;
	bool joined = op->wait && join_waits(store, op);

	if (joined) {
		give_up = weir__op_wait_until(op, deadline);
		leave_waits(store, op, give_up);
	}
	if (!joined || give_up != 0)
		weir__op_wait(op);
	/* The answer may have been on its way already: then nobody has looked at the withdrawal,
	 * and nobody may, for the operation ends here. */
	if (op->withdrawn)
		weir__agent_forget(store->agent, op);
	return weir__gate_is_shut(store) ? -ESHUTDOWN : give_up;
}

/* ---- what came of it ------------------------------------------------------------------------- */

/* A handle that never became anybody's. One who releases a lease of its id may see it still. */
static void drop_unused(struct weir_lease *lease)
{
	weir__lock(&lease->lock);
	WEIR__POKE(&lease->gone, true);
	weir__unlock(&lease->lock);
	weir_lease_unref(lease);
}

static int ask(struct weir_store *store, struct weir_lease *lease, struct weir__op *op,
	       weir_time deadline)
{
	weir_time begun = op->sent;
	int give_up = 0;

	store->engine->submit(store, op);
	if (!weir__op_is_answered(op)) {
		begun = begun != 0 ? begun : weir__boottime();
		/* One that only tries is answered soon, and has nothing to withdraw. */
		if (op->wait)
			give_up = wait(store, op, deadline);
		else
			weir__op_wait(op);
		lease->waited = weir__boottime() - begun;
	}
	/* One whose time is up keeps what it was granted in the last moment. */
	return give_up == -ETIMEDOUT ? 0 : give_up;
}

static int ask_and_take(struct weir_store *store, struct weir_lease *lease, struct weir__op *op,
			weir_time deadline, struct weir_lease **ret_lease)
{
	struct weir_lease *taken = NULL;
	int give_up;

	if (!weir__namesakes_join(op)) {
		drop_unused(lease);
		return weir__fail_plainly(-ENOMEM);
	}
	give_up = ask(store, lease, op, deadline);
	if (op->result == 0 && give_up != 0) {
		weir__namesakes_pass_on(op);
		op->result = give_up;
	} else if (op->result == 0) {
		taken = weir__namesakes_take(op);
		*ret_lease = taken;
	}
	weir__namesakes_leave(store, op);
	if (op->result < 0)
		(void)weir__fail_op(op);
	if (taken != lease)
		drop_unused(lease);
	return op->result;
}

static int prepare(struct weir_store *store, const struct weir_request *request,
		   struct weir_lease **ret_lease)
{
	uint8_t token[WEIR_TOKEN_SIZE];
	struct weir_future *self = weir_self();
	struct weir_lease *lease;
	int error = weir__store_draw(store, token);

	if (error < 0)
		return error;
	lease = weir__lease_new(store, request->name, request->owner, request->request_id, token);
	if (lease == NULL)
		return weir__fail_plainly(-ENOMEM);
	lease->adopted = request->detached;
	if (self != NULL)
		lease->task = weir_future_ref(self);
	if (weir__keeper_is_wanted(request)) {
		error = weir__keeper_new(lease, request);
		if (error == 0)
			error = weir__agent_start(store->agent);
		if (error < 0) {
			drop_unused(lease);
			return weir__fail_plainly(error);
		}
	}
	*ret_lease = lease;
	return 0;
}

static int acquire(struct weir_store *store, const struct weir_request *request,
		   struct weir_lease **ret_lease)
{
	struct weir_lease *lease = NULL;
	int error = prepare(store, request, &lease);

	if (error < 0)
		return error;

	struct weir__op op = {
		.verb = WEIR__REQUEST,
		.name = lease->name,
		.limit = request->limit,
		.weight = request->weight != 0 ? request->weight : 1,
		.ttl = request->ttl != 0 ? request->ttl : store->bounds.default_ttl,
		.max_hold = request->max_hold,
		.wait = request->deadline != 0,
		.detached = request->detached,
		.owner = lease->owner,
		.request_id = lease->request_id,
		.private_id = request->request_id == NULL,
		.lease = lease,
		/* An engine in this process says it itself, on the very same clock. */
		.sent = store->engine->immediate ? 0 : weir__boottime(),
		.agent = store->engine->immediate ? NULL : store->agent,
		.done = weir__op_wake,
	};

	memcpy(op.token, lease->token, WEIR_TOKEN_SIZE);
	return ask_and_take(store, lease, &op, request->deadline, ret_lease);
}

int weir_acquire(struct weir_store *store, const struct weir_request *request,
		 struct weir_lease **ret_lease)
{
	int error;

	if (store == NULL || request == NULL || ret_lease == NULL)
		return weir__fail_plainly(-EINVAL);
	error = weir__gate_enter(store);
	if (error < 0)
		return error;
	error = check(store, request);
	if (error == 0)
		error = acquire(store, request, ret_lease);
	weir__gate_leave(store);
	return error;
}

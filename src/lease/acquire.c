/* lease: weir_acquire. */
#include <errno.h>
#include <string.h>

#include "base/boottime.h"
#include "lease/keeper.h"
#include "lease/names.h"
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

/* Puts the operation among those that closing the store ends. False: it is being closed. */
static bool join_waits(struct weir_store *store, struct weir__op *op)
{
	bool open;

	weir__lock(&store->lock);
	open = !weir__gate_is_shut(store);
	if (open) {
		op->waits_next = store->waits;
		if (store->waits != NULL)
			store->waits->waits_prev = op;
		store->waits = op;
	}
	weir__unlock(&store->lock);
	return open;
}

/* Takes it out again. Whether the caller is the one to withdraw it. */
static bool leave_waits(struct weir_store *store, struct weir__op *op, int give_up)
{
	bool withdraw;

	weir__lock(&store->lock);
	if (op->waits_prev != NULL)
		op->waits_prev->waits_next = op->waits_next;
	else
		store->waits = op->waits_next;
	if (op->waits_next != NULL)
		op->waits_next->waits_prev = op->waits_prev;
	withdraw = give_up != 0 && !op->withdrawn;
	if (withdraw) {
		op->withdrawn = true;
		op->give_up = give_up;
	}
	weir__unlock(&store->lock);
	return withdraw;
}

/* Returns what ended the wait before there was an answer, or 0. In either case there is one now
 * (P5): a withdrawal is answered, too, and perhaps by a grant in the last moment. A try does not
 * wait for anybody but the engine, so there is nothing to withdraw. */
static int wait(struct weir_store *store, struct weir__op *op, weir_time deadline)
{
	int give_up = 0;
	bool joined = op->wait && join_waits(store, op);

	if (op->wait && !joined) {
		op->withdrawn = true;
		op->give_up = -ESHUTDOWN;
		store->engine->withdraw(store, op);
	}
	if (joined) {
		give_up = weir__op_wait_until(op, deadline);
		if (leave_waits(store, op, give_up))
			store->engine->withdraw(store, op);
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

/* Granted, to one who cannot keep it: a task that was cancelled, a store that is being closed. What
 * was granted before under the same id is somebody else's. */
static void pass_on(struct weir_store *store, struct weir_lease *lease, struct weir__op *op,
		    int give_up)
{
	struct weir__op release = { .verb = WEIR__RELEASE,
				    .name = op->name,
				    .slot_hint = op->grant.slot + 1,
				    .weight = op->grant.weight };

	memcpy(release.token, op->grant.token, WEIR_TOKEN_SIZE);
	if (memcmp(lease->token, release.token, WEIR_TOKEN_SIZE) == 0)
		(void)weir__store_ask(store, &release);
	op->result = give_up;
}

/* A handle by which a lease was adopted is no holder's: it has no id. */
static bool was_acquired(const struct weir_lease *lease)
{
	return lease->request_id[0] != '\0';
}

/* The lease had been granted before under the same id (L4). If its handle is here, that is the one;
 * its keeper and its place on a stack stay as they were asked for first. */
static struct weir_lease *earlier(struct weir_store *store, struct weir_lease *lease,
				  const struct weir__grant *grant)
{
	struct weir_lease *found;

	if (memcmp(lease->token, grant->token, WEIR_TOKEN_SIZE) == 0)
		return NULL;
	found = weir__ledger_find(&store->ledger, grant->token, was_acquired);
	if (found != NULL) {
		bool held = weir__lease_check(found) && weir__ledger_ref(found);

		weir__lease_unpin(found);
		if (held)
			return found;
	}
	weir__ledger_remove(&store->ledger, lease);
	memcpy(lease->token, grant->token, WEIR_TOKEN_SIZE);
	weir__ledger_add(&store->ledger, lease);
	return NULL;
}

static int begin(struct weir_store *store, struct weir_lease *lease, struct weir__op *op,
		 struct weir_lease **ret_lease)
{
	struct weir_lease *found = earlier(store, lease, &op->grant);

	if (found != NULL) {
		lease->gone = true;
		weir_lease_unref(lease);
		*ret_lease = found;
		return 0;
	}
	(void)weir__lease_begin(lease, &op->grant, op->sent);
	weir__ledger_push(&store->ledger, lease, weir__ledger_caller());
	/* Whoever is told of its end may drop the handle before this has returned. */
	if (lease->keeper != NULL) {
		(void)WEIR__ADD(&lease->pins, 1, __ATOMIC_RELAXED);
		weir__keeper_start(lease, op->sent);
		weir__lease_unpin(lease);
	}
	*ret_lease = lease;
	return 0;
}

static int ask(struct weir_store *store, struct weir_lease *lease, struct weir__op *op,
	       weir_time deadline, struct weir_lease **ret_lease)
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
	if (op->result == 0 && give_up != 0 && give_up != -ETIMEDOUT)
		pass_on(store, lease, op, give_up);
	if (op->result == 0)
		return begin(store, lease, op, ret_lease);
	lease->gone = true;
	(void)weir__fail_op(op);
	weir_lease_unref(lease);
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
			lease->gone = true;
			weir_lease_unref(lease);
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
	return ask(store, lease, &op, request->deadline, ret_lease);
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

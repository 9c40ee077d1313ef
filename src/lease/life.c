/* lease: the life of a handle. See lease.h. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/descriptor.h"
#include "base/futex.h"
#include "lease/lease.h"
#include "lease/namesakes.h"
#include "lease/op.h"

enum { ID_SIZE = 33 };

static char *put_text(char *at, const char *text, const char **ret)
{
	size_t size = strlen(text) + 1;

	memcpy(at, text, size);
	*ret = at;
	return at + size;
}

/* 32 digits: a random number of the store's, and one of the request's. */
static void put_private_id(char *at, const struct weir_store *store, const uint8_t *token)
{
	static const char digits[] = "0123456789abcdef";
	/* Not the token, which is nobody's to know; but as different as tokens are. */
	uint64_t word[2] = { store->id_base, weir__token_hash(token) ^ store->id_base };

	for (int i = 0; i < ID_SIZE - 1; i++)
		at[i] = digits[word[i / 16] >> (60 - i % 16 * 4) & 15];
	at[ID_SIZE - 1] = '\0';
}

struct weir_lease *weir__lease_new(struct weir_store *store, const char *name, const char *owner,
				   const char *request_id, const uint8_t *token)
{
	size_t size = strlen(name) + 1 + (owner != NULL ? strlen(owner) + 1 : 0) +
		      (request_id != NULL ? strlen(request_id) + 1 : ID_SIZE);
	struct weir_lease *lease = weir__alloc_small(sizeof(*lease) + size);
	char *at;

	if (lease == NULL)
		return NULL;
	at = put_text(lease->text, name, &lease->name);
	if (owner != NULL)
		at = put_text(at, owner, &lease->owner);
	else
		lease->owner = store->owner;
	if (request_id != NULL)
		(void)put_text(at, request_id, &lease->request_id);
	else
		put_private_id(at, store, token);
	if (request_id == NULL)
		lease->request_id = at;
	lease->named = request_id != NULL && request_id[0] != '\0';
	lease->refs = 1;
	lease->pins = 1;
	lease->bound_fd = -1;
	lease->store = store;
	memcpy(lease->token, token, WEIR_TOKEN_SIZE);
	weir__store_ref(store);
	weir__ledger_add(&store->ledger, lease);
	return lease;
}

/* L5: counted from before the request was sent, less the guard. */
static weir_time deadline_of(const struct weir_lease *lease, weir_time left, weir_time sent)
{
	weir_time guard = lease->store->bounds.guard;

	if (guard == 0) {
		guard = left / 100;
		if (guard > WEIR_SECOND)
			guard = WEIR_SECOND;
	}
	return weir__time_add(sent, left) - guard;
}

bool weir__lease_begin(struct weir_lease *lease, const struct weir__grant *grant, weir_time sent)
{
	bool begun;

	lease->weight = grant->weight;
	lease->slot = grant->slot;
	lease->fence = grant->fence;
	lease->ttl = grant->ttl;
	weir__lock(&lease->lock);
	WEIR__POKE(&lease->deadline, deadline_of(lease, grant->left, sent));
	begun = !lease->ended;
	WEIR__STORE(&lease->state, begun ? WEIR__HELD : WEIR__LOST, __ATOMIC_RELEASE);
	weir__unlock(&lease->lock);
	return begun;
}

/* With the lock held. */
static bool still_held(struct weir_lease *lease)
{
	if (lease->state != WEIR__HELD)
		return false;
	if (weir__boottime() < lease->deadline)
		return true;
	WEIR__STORE(&lease->state, WEIR__LOST, __ATOMIC_RELEASE);
	return false;
}

bool weir__lease_extend(struct weir_lease *lease, const struct weir__grant *grant, weir_time sent)
{
	weir_time deadline = deadline_of(lease, grant->left, sent);
	bool held;

	weir__lock(&lease->lock);
	/* An answer that comes after the deadline does not bring it back. */
	held = still_held(lease);
	if (held && deadline > lease->deadline)
		WEIR__POKE(&lease->deadline, deadline);
	weir__unlock(&lease->lock);
	return held;
}

bool weir__lease_check(struct weir_lease *lease)
{
	bool held;

	if (WEIR__LOAD(&lease->state, __ATOMIC_ACQUIRE) != WEIR__HELD)
		return false;
	if (weir__boottime() < WEIR__PEEK(&lease->deadline))
		return true;
	weir__lock(&lease->lock);
	held = still_held(lease);
	weir__unlock(&lease->lock);
	return held;
}

/* With the lock held. */
static enum weir__heritage heritage_of(struct weir_lease *lease)
{
	if (lease->gone)
		return WEIR__OVER;
	if (!still_held(lease))
		return WEIR__PASS;
	if (weir__ledger_ref(lease))
		return WEIR__SHARE;
	return lease->adopted ? WEIR__PASS : WEIR__OVER;
}

enum weir__heritage weir__lease_bequeath(struct weir_lease *lease)
{
	enum weir__heritage heritage;

	weir__lock(&lease->lock);
	heritage = heritage_of(lease);
	if (heritage == WEIR__PASS)
		WEIR__POKE(&lease->passed, true);
	weir__unlock(&lease->lock);
	return heritage;
}

void weir__lease_lose(struct weir_lease *lease, bool ended)
{
	weir__lock(&lease->lock);
	if (ended) {
		WEIR__POKE(&lease->ended, true);
		WEIR__POKE(&lease->gone, true);
	}
	if (lease->state == WEIR__HELD)
		WEIR__STORE(&lease->state, WEIR__LOST, __ATOMIC_RELEASE);
	weir__unlock(&lease->lock);
}

bool weir__lease_give_up(struct weir_lease *lease, bool dropped, bool *ret_ask)
{
	bool held;

	weir__lock(&lease->lock);
	held = still_held(lease);
	*ret_ask = !lease->gone && !lease->passed && !(dropped && lease->adopted);
	if (*ret_ask)
		WEIR__POKE(&lease->gone, true);
	if (held)
		WEIR__STORE(&lease->state, WEIR__RELEASED, __ATOMIC_RELEASE);
	weir__unlock(&lease->lock);
	weir__ledger_leave(&lease->store->ledger, lease);
	return held;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Whoever asked before its end must find that here. The memory goes, and the gate is left. */
static void let_go(struct weir_lease *lease)
{
	weir__namesakes_keep(lease);
	weir__gate_leave(lease->store);
	weir__lease_unpin(lease);
}

/* An end that nobody waits for. */
struct parting {
	struct weir__op op;
	struct weir_lease *lease;
};

static void parted(struct weir__op *op)
{
	struct parting *parting = (struct parting *)op;
	struct weir_lease *lease = parting->lease;

	weir__free(op->error);
	weir__free(parting);
	let_go(lease);
}

static void ask_to_end(struct weir_lease *lease, struct weir__op *op)
{
	op->verb = WEIR__RELEASE;
	op->name = lease->name;
	op->request_id = lease->request_id;
	op->slot_hint = lease->slot + 1;
	op->weight = lease->weight;
	memcpy(op->token, lease->token, WEIR_TOKEN_SIZE);
	lease->store->engine->submit(lease->store, op);
}

/* Asks the engine to end it, without waiting if it can be helped, and lets it go when that is
 * done. */
static void end_by_itself(struct weir_lease *lease)
{
	struct weir_store *store = lease->store;
	struct parting *parting = NULL;

	if (!store->engine->immediate)
		parting = weir__alloc_small(sizeof(*parting));
	if (parting != NULL) {
		parting->op.done = parted;
		parting->lease = lease;
		ask_to_end(lease, &parting->op);
	} else if (store->engine->immediate || !weir__agent_is_self(store->agent)) {
		struct weir__op op = { .done = weir__op_wake };

		ask_to_end(lease, &op);
		weir__op_wait(&op);
		weir__free(op.error);
		let_go(lease);
	} else {
		/* The agent cannot wait for itself: without memory, the TTL ends the lease. */
		let_go(lease);
	}
}

void weir__lease_wake_keeper(struct weir_lease *lease, weir_time boottime)
{
	weir__lock(&lease->lock);
	if (lease->keeper != NULL && lease->keeper->armed)
		weir__agent_timer_set(lease->store->agent, &lease->keeper->timer, boottime);
	weir__unlock(&lease->lock);
}

void weir__lease_stop_keeper(struct weir_lease *lease)
{
	bool armed;

	weir__lock(&lease->lock);
	armed = lease->keeper != NULL && lease->keeper->armed;
	if (armed)
		lease->keeper->armed = false;
	weir__unlock(&lease->lock);
	if (!armed)
		return;
	weir__agent_timer_unset(lease->store->agent, &lease->keeper->timer);
	weir__lease_unpin(lease);
}

/* The lease of which this thread is telling. */
static WEIR__TLS const struct weir_lease *telling_of;

/* Whoever has dropped its last handle is not told any more, and may have freed what it gave us. */
void weir__lease_tell(struct weir_lease *lease)
{
	struct weir__keeper *keeper = lease->keeper;
	bool tell;

	if (keeper == NULL)
		return;
	weir__lock(&lease->lock);
	tell = lease->state == WEIR__LOST && !keeper->told &&
	       WEIR__LOAD(&lease->refs, __ATOMIC_ACQUIRE) != 0;
	if (tell) {
		keeper->told = true;
		keeper->telling = 1;
	}
	weir__unlock(&lease->lock);
	if (!tell)
		return;
	telling_of = lease;
	if (keeper->on_lost != NULL)
		keeper->on_lost(lease, keeper->on_lost_arg);
	telling_of = NULL;
	if (keeper->cancel)
		(void)weir_cancel(lease->task);
	WEIR__STORE(&keeper->telling, 0, __ATOMIC_RELEASE);
	weir__futex_wake(&keeper->telling, INT32_MAX);
}

/* For one whose last handle has gone: returns when nobody is being told of it, or the caller itself
 * is. */
static void wait_until_told(struct weir_lease *lease)
{
	struct weir__keeper *keeper = lease->keeper;
	bool telling = keeper != NULL && telling_of != lease;

	while (telling) {
		weir__lock(&lease->lock);
		telling = WEIR__LOAD(&keeper->telling, __ATOMIC_ACQUIRE) != 0;
		weir__unlock(&lease->lock);
		if (telling)
			(void)weir__futex_wait(&keeper->telling, 1, WEIR_NEVER);
	}
}

struct weir_lease *weir_lease_ref(struct weir_lease *lease)
{
	(void)WEIR__ADD(&lease->refs, 1, __ATOMIC_RELAXED);
	return lease;
}

void weir__lease_unpin(struct weir_lease *lease)
{
	struct weir_store *store = lease->store;

	if (WEIR__SUB(&lease->pins, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	weir__ledger_leave(&store->ledger, lease);
	weir__ledger_remove(&store->ledger, lease);
	weir__descriptor_close(lease->bound_fd);
	weir_future_unref(lease->task);
	weir__free(lease->keeper);
	weir__free(lease);
	weir__store_unref(store);
}

/* Behind a gate that is shut, the closer ends leases: one that it has not come to yet is left to
 * it, pin and all. */
static bool leave_to_closer(struct weir_lease *lease)
{
	bool leave;

	weir__lock(&lease->lock);
	leave = !lease->gone;
	lease->orphan = leave;
	weir__unlock(&lease->lock);
	return leave;
}

void weir_lease_unref(struct weir_lease *lease)
{
	bool ask = false;

	if (lease == NULL || WEIR__SUB(&lease->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	/* In a child after a fork nothing of the parent's may be touched, its locks least of all.
	 */
	if (!weir__store_is_here(lease->store))
		return;
	if (weir__gate_enter(lease->store) == 0) {
		(void)weir__lease_give_up(lease, true, &ask);
		weir__lease_stop_keeper(lease);
		if (ask)
			end_by_itself(lease);
		else
			let_go(lease);
		return;
	}
	wait_until_told(lease);
	if (!leave_to_closer(lease))
		weir__lease_unpin(lease);
}

static bool does_not_know(const struct weir_lease *lease)
{
	return !WEIR__PEEK(&lease->ended);
}

void weir__store_lost(struct weir_store *store, const uint8_t *token)
{
	struct weir_lease *lease;

	while ((lease = weir__ledger_find(&store->ledger, token, does_not_know)) != NULL) {
		weir__lease_lose(lease, true);
		/* The agent tells. */
		if (lease->keeper != NULL && weir__gate_enter(store) == 0) {
			weir__lease_wake_keeper(lease, 0);
			weir__gate_leave(store);
		}
		weir__lease_unpin(lease);
	}
}

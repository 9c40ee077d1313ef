/* lease: keeping leases alive. See keeper.h. */
#include "lease/keeper.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/random.h"

enum { RETRIES = 12 }; /* about so many in the life of a TTL */

/* Up to a tenth less, so that leases that were acquired together are not renewed together. Without
 * random numbers it does without. */
static weir_time jittered(weir_time duration)
{
	uint16_t random = 0;

	if (weir__random(&random, sizeof(random)) < 0)
		random = 0;
	return duration - duration / 10 * random / UINT16_MAX;
}

static void set(struct weir_lease *lease, weir_time time)
{
	weir_time deadline = WEIR__PEEK(&lease->deadline);

	weir__lease_wake_keeper(lease, time < deadline ? time : deadline);
}

static void renewed(struct weir__op *op);

static bool begin_renewal(struct weir_lease *lease)
{
	struct weir__keeper *keeper = lease->keeper;
	bool begin;

	weir__lock(&lease->lock);
	begin = keeper->keepalive && !keeper->renewing && lease->state == WEIR__HELD;
	keeper->renewing = keeper->renewing || begin;
	weir__unlock(&lease->lock);
	return begin;
}

/* Passes the gate and pins the lease until it is answered. */
static void renew(struct weir_lease *lease)
{
	struct weir__op *op = &lease->keeper->renewal;

	if (weir__gate_enter(lease->store) < 0)
		return;
	(void)WEIR__ADD(&lease->pins, 1, __ATOMIC_RELAXED);
	*op = (struct weir__op){
		.verb = WEIR__RENEW,
		.name = lease->name,
		.slot_hint = lease->slot + 1,
		.weight = lease->weight,
		.ttl = lease->ttl,
		.sent = weir__boottime(),
		.done = renewed,
		.lease = lease,
	};
	memcpy(op->token, lease->token, WEIR_TOKEN_SIZE);
	lease->store->engine->submit(lease->store, op);
}

static void renewed(struct weir__op *op)
{
	struct weir_lease *lease = op->lease;
	struct weir_store *store = lease->store;
	int result = op->result;
	weir_time sent = op->sent;

	weir__free(op->error);
	if (result == 0)
		(void)weir__lease_extend(lease, &op->grant, sent);
	else if (result == -ESTALE || result == -ENOENT)
		weir__lease_lose(lease, true);
	weir__lock(&lease->lock);
	lease->keeper->renewing = false;
	weir__unlock(&lease->lock);
	if (result == 0)
		set(lease, sent + jittered(lease->ttl / 3));
	else if (weir__lease_check(lease))
		set(lease, weir__boottime() + jittered(lease->ttl / RETRIES));
	else
		weir__lease_wake_keeper(lease, 0);
	weir__store_ref(store);
	weir__lease_unpin(lease);
	weir__gate_leave(store);
	weir__store_unref(store);
}

static void fire(struct weir__timer *timer)
{
	struct weir_lease *lease = ((struct weir__keeper *)(void *)timer)->lease;

	/* What is told may drop the handle and stop the keeper, which then does not wait for us. */
	(void)WEIR__ADD(&lease->pins, 1, __ATOMIC_RELAXED);
	if (weir__lease_check(lease)) {
		/* The deadline is watched while a renewal is on its way. */
		set(lease, WEIR_NEVER);
		if (begin_renewal(lease))
			renew(lease);
	}
	weir__lease_tell(lease);
	weir__lease_unpin(lease);
}

bool weir__keeper_is_wanted(const struct weir_request *request)
{
	return request->keepalive || request->cancel_on_lost || request->on_lost != NULL;
}

int weir__keeper_new(struct weir_lease *lease, const struct weir_request *request)
{
	struct weir__keeper *keeper = weir__alloc_small(sizeof(*keeper));

	_Static_assert(offsetof(struct weir__keeper, timer) == 0, "a timer is its keeper");
	if (keeper == NULL)
		return -ENOMEM;
	keeper->timer.fire = fire;
	keeper->lease = lease;
	keeper->keepalive = request->keepalive;
	keeper->cancel = request->cancel_on_lost;
	keeper->on_lost = request->on_lost;
	keeper->on_lost_arg = request->on_lost_arg;
	lease->keeper = keeper;
	return 0;
}

void weir__keeper_start(struct weir_lease *lease, weir_time sent)
{
	struct weir__keeper *keeper = lease->keeper;

	(void)WEIR__ADD(&lease->pins, 1, __ATOMIC_RELAXED);
	weir__lock(&lease->lock);
	keeper->armed = true;
	weir__unlock(&lease->lock);
	if (weir__lease_check(lease))
		set(lease, keeper->keepalive ? sent + jittered(lease->ttl / 3) : WEIR_NEVER);
	else
		weir__lease_wake_keeper(lease, 0); /* it has ended meanwhile */
}

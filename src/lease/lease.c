/* lease: what can be done with a lease, once there is one. */
#include "lease/lease.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "base/descriptor.h"
#include "lease/names.h"
#include "lease/op.h"
#include "lease/say.h"

static int stale(const struct weir_lease *lease)
{
	return weir__fail(-ESTALE, "the lease is lost: it expired, was released or was evicted: %s",
			  lease->name);
}

/* A name that the store has dropped is one that nobody holds. */
static int ask_about(struct weir_lease *lease, struct weir__op *op)
{
	int result;

	op->name = lease->name;
	op->request_id = lease->request_id;
	op->lease = lease;
	op->slot_hint = lease->slot + 1;
	op->weight = lease->weight;
	if (op->verb == WEIR__RENEW)
		op->sent = weir__boottime();
	memcpy(op->token, lease->token, WEIR_TOKEN_SIZE);
	result = weir__store_ask(lease->store, op);
	return result == -ENOENT ? stale(lease) : result;
}

/* The gate of a lease's store: a store that was closed has lost its leases. */
static int enter(struct weir_lease *lease)
{
	int error = weir__gate_enter(lease->store);

	return error < 0 && weir__store_is_here(lease->store) ? stale(lease) : error;
}

/* What a public function of one lease is, inside that gate. */
static int enter_and(int (*act)(struct weir_lease *), struct weir_lease *lease)
{
	int result;

	if (lease == NULL)
		return weir__fail_plainly(-EINVAL);
	result = enter(lease);
	if (result < 0)
		return result;
	result = act(lease);
	weir__gate_leave(lease->store);
	return result;
}

static int renew(struct weir_lease *lease, weir_time ttl)
{
	struct weir__op op = { .verb = WEIR__RENEW, .ttl = ttl != 0 ? ttl : lease->ttl };
	int result;

	if (!weir__lease_check(lease))
		return stale(lease);
	result = ask_about(lease, &op);
	if (result == 0 && !weir__lease_extend(lease, &op.grant, op.sent))
		result = stale(lease);
	else if (result == -ESTALE)
		weir__lease_lose(lease, true);
	/* Whoever wants to be told is told by the agent. */
	if (result == -ESTALE)
		weir__lease_wake_keeper(lease, 0);
	return result;
}

int weir_renew(struct weir_lease *lease, weir_time ttl)
{
	int error;

	if (lease == NULL)
		return weir__fail_plainly(-EINVAL);
	error = weir__check_ttl(&lease->store->bounds, ttl);
	if (error == 0)
		error = enter(lease);
	if (error < 0)
		return error;
	error = renew(lease, ttl);
	weir__gate_leave(lease->store);
	return error;
}

static void unbind(struct weir_lease *lease)
{
	int fd;

	weir__lock(&lease->lock);
	fd = lease->bound_fd;
	lease->bound_fd = -1;
	weir__unlock(&lease->lock);
	weir__descriptor_close(fd);
}

/* Inside the gate. */
static int release(struct weir_lease *lease)
{
	struct weir__op op = { .verb = WEIR__RELEASE };
	bool ask = false;
	bool held = weir__lease_give_up(lease, false, &ask);
	int result = 0;

	/* Also one that this side believes lost: the engine may have it a moment longer. */
	if (ask)
		result = ask_about(lease, &op);
	unbind(lease);
	weir__lease_stop_keeper(lease);
	/* The holder from whom it was adopted may be here, or one who has it under the same id. */
	if ((lease->adopted || lease->named) && ask && result == 0)
		weir__store_lost(lease->store, lease->token);
	return held ? result : stale(lease);
}

int weir_release(struct weir_lease *lease)
{
	return enter_and(release, lease);
}

int weir_release_last(struct weir_store *store, const char *name)
{
	struct weir_lease *lease;
	int error;

	if (store == NULL)
		return weir__fail_plainly(-EINVAL);
	error = weir__check_name(name);
	if (error == 0)
		error = weir__gate_enter(store);
	if (error < 0)
		return error;
	lease = weir__ledger_pop(&store->ledger, weir__ledger_caller(), name);
	if (lease == NULL) {
		error = weir__fail(-ENOENT,
				   "nothing of that name is held by this task or thread: %s", name);
	} else {
		error = release(lease);
		weir__lease_unpin(lease);
	}
	weir__gate_leave(store);
	return error;
}

static int adopt(struct weir_store *store, const char *name, const uint8_t *token,
		 struct weir_lease **ret_lease)
{
	struct weir_lease *lease = weir__lease_new(store, name, "", "", token);
	struct weir__op op = { .verb = WEIR__RENEW, .name = name };

	if (lease == NULL)
		return weir__fail_plainly(-ENOMEM);
	lease->adopted = true;
	op.lease = lease;
	op.sent = weir__boottime();
	memcpy(op.token, token, WEIR_TOKEN_SIZE);

	int result = weir__store_ask(store, &op);

	if (result == 0 && !weir__lease_begin(lease, &op.grant, op.sent))
		result = stale(lease);
	if (result < 0)
		weir_lease_unref(lease);
	else
		*ret_lease = lease;
	return result;
}

int weir_lease_adopt(struct weir_store *store, const char *name,
		     const uint8_t token[WEIR_TOKEN_SIZE], struct weir_lease **ret_lease)
{
	int error;

	if (store == NULL || token == NULL || ret_lease == NULL)
		return weir__fail_plainly(-EINVAL);
	error = weir__check_name(name);
	if (error == 0)
		error = weir__gate_enter(store);
	if (error < 0)
		return error;
	error = adopt(store, name, token, ret_lease);
	weir__gate_leave(store);
	return error;
}

static bool is_held(const struct weir_lease *lease)
{
	if (!weir__store_is_here(lease->store))
		return false;
	/* Looking may find that it is over, and must then remember it. */
	return weir__lease_check((struct weir_lease *)(uintptr_t)lease);
}

bool weir_lease_held(const struct weir_lease *lease)
{
	return lease != NULL && is_held(lease);
}

void weir_lease_get(const struct weir_lease *lease, struct weir_lease_info *ret_info)
{
	struct weir_lease_info info = {
		.name = lease->name,
		.owner = lease->owner,
		.request_id = lease->request_id,
		.weight = lease->weight,
		.slot = lease->slot,
		.fence = lease->fence,
		.ttl = lease->ttl,
		.waited = lease->waited,
		.held = is_held(lease),
	};

	memcpy(info.token, lease->token, WEIR_TOKEN_SIZE);
	if (info.held) {
		weir_time left = WEIR__PEEK(&lease->deadline) - weir__boottime();

		info.left = left > 0 ? left : 0;
	}
	*ret_info = info;
}

static int bind(struct weir_lease *lease)
{
	char *error = NULL;
	bool held;
	int fd;
	int kept;

	if (!weir__lease_check(lease))
		return stale(lease);
	weir__lock(&lease->lock);
	fd = lease->bound_fd;
	weir__unlock(&lease->lock);
	if (fd >= 0)
		return fd;
	if (lease->store->engine->bind == NULL)
		return weir__fail(-ENOTSUP, "this store cannot bind a lease to processes");
	fd = lease->store->engine->bind(lease->store, lease, &error);
	if (fd == -ESTALE)
		return stale(lease);
	if (fd < 0) {
		(void)weir__fail(fd, "%s", error != NULL ? error : weir_strerror(fd));
		weir__free(error);
		return fd;
	}
	weir__lock(&lease->lock);
	held = lease->state == WEIR__HELD;
	/* Another thread may have done the same meanwhile: one is enough. */
	if (held && lease->bound_fd < 0)
		lease->bound_fd = fd;
	kept = lease->bound_fd;
	weir__unlock(&lease->lock);
	if (kept != fd)
		weir__descriptor_close(fd);
	return held ? kept : stale(lease);
}

int weir_lease_bind_fd(struct weir_lease *lease)
{
	return enter_and(bind, lease);
}

int weir_fence_check(uint64_t *marks, size_t n, uint32_t slot, uint64_t fence)
{
	if (marks == NULL || slot >= n)
		return -EINVAL;
	if (fence < marks[slot])
		return -ESTALE;
	marks[slot] = fence;
	return 0;
}

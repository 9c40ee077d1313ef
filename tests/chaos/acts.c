/* chaos: what a client of a store does, written down. See acts.h. */
#include "chaos/acts.h"

#include <errno.h>
#include <stdlib.h>

struct weir_lease *acts_acquire(struct acts *acts, uint32_t name, struct weir_request request,
				uint8_t flags)
{
	struct history_op *op = recorder_begin(acts->recorder, HISTORY_ACQUIRE, name, acts->client);
	uint64_t number = (uint64_t)acts->client << 24 | ++acts->requests;
	char id[32];
	struct weir_lease *lease = NULL;
	struct weir_lease_info info;
	int error;

	if (op == NULL)
		return NULL;
	(void)snprintf(id, sizeof(id), "%llx", (unsigned long long)number);
	request.name = acts->name_of(name);
	request.request_id = id;
	op->weight = request.weight;
	op->ttl = request.ttl;
	op->request = number;
	op->flags = (uint8_t)((request.deadline != 0 ? HISTORY_WAITED : 0) | flags);
	error = weir_acquire(acts->store, &request, &lease);
	if (error == -EHOSTUNREACH && acts->distant)
		return NULL;
	if (error == 0) {
		weir_lease_get(lease, &info);
		op->token = recorder_token(info.token);
		op->fence = info.fence;
		op->slot = info.slot;
	} else if (error != -EAGAIN && error != -ETIMEDOUT) {
		acts->die("acquire");
	}
	recorder_end(op, error);
	return lease;
}

int acts_on_token(struct acts *acts, uint32_t name, enum history_kind kind,
		  struct weir_lease *lease, weir_time ttl)
{
	struct history_op *op = recorder_begin(acts->recorder, kind, name, acts->client);
	struct weir_lease_info info;
	int error;

	if (op == NULL)
		return 0;
	weir_lease_get(lease, &info);
	op->token = recorder_token(info.token);
	op->ttl = ttl;
	error = kind == HISTORY_RENEW ? weir_renew(lease, ttl) : weir_release(lease);
	if (acts->distant && error == -EHOSTUNREACH)
		return error;
	if (error < 0 && error != -ESTALE && !(acts->forgets && error == -ENOENT))
		acts->die("renew or release");
	recorder_end(op, error);
	return error;
}

bool acts_sample(struct acts *acts, uint32_t name, struct weir_lease *lease)
{
	weir_time now = weir_now(); /* before the question: it may be stopped here */
	struct weir_lease_info info;
	struct history_op *op;

	if (!weir_lease_held(lease))
		return false;
	weir_lease_get(lease, &info);
	op = recorder_begin(acts->recorder, HISTORY_HELD, name, acts->client);
	if (op == NULL)
		return false;
	op->inv = now;
	op->token = recorder_token(info.token);
	recorder_end(op, 0);
	return true;
}

struct looking {
	struct acts *acts;
	uint32_t name;
	weir_time began;
	size_t n;
	struct history_op *seen[64];
};

static int see(void *arg, const struct weir_claim_info *info)
{
	struct looking *looking = arg;
	struct history_op *op;

	if (looking->n == 64)
		return 0;
	op = recorder_begin(looking->acts->recorder, HISTORY_SEEN, looking->name,
			    looking->acts->client);
	if (op == NULL)
		return 0;
	op->inv = looking->began;
	op->request = strtoull(info->request_id, NULL, 16);
	looking->seen[looking->n++] = op;
	return 0;
}

void acts_look(struct acts *acts, uint32_t name)
{
	static const struct weir_visitor visitor = { .waiter = see };
	struct looking looking = { .acts = acts, .name = name, .began = weir_now() };
	const char *text = acts->name_of(name);
	int error = weir_list(acts->store, &text, 1, &visitor, &looking);

	if (error < 0 && !acts->distant)
		acts->die("list");
	for (size_t i = 0; i < looking.n; i++)
		recorder_end(looking.seen[i], 0);
}

struct ending {
	struct acts *acts;
	uint32_t name;
};

static int end_name(void *arg, const struct weir_sem_info *info)
{
	const struct ending *ending = arg;
	struct history_op *op = recorder_begin(ending->acts->recorder, HISTORY_END, ending->name,
					       0);

	if (op == NULL)
		return 0;
	op->weight = info->held;
	op->slot = info->waiting;
	op->fence = info->fence;
	recorder_end(op, 0);
	return 0;
}

void acts_end(struct acts *acts, uint32_t name)
{
	static const struct weir_visitor visitor = { .semaphore = end_name };
	struct ending ending = { acts, name };
	const char *text = acts->name_of(name);

	if (weir_list(acts->store, &text, 1, &visitor, &ending) < 0)
		acts->die("list");
}

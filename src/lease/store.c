/* lease: opening and closing a store, and what is asked of it besides leases. */
#include "lease/store.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/host.h"
#include "base/print.h"
#include "base/random.h"
#include "lease/lease.h"
#include "lease/names.h"
#include "lease/namesakes.h"
#include "lease/picture.h"
#include "lease/say.h"
#include "lease/url.h"

/* ---- open and close -------------------------------------------------------------------------- */

static const struct weir__engine *find_engine(const struct weir__engine *const *engines,
					      const char *scheme)
{
	while (*engines != NULL && strcmp((*engines)->scheme, scheme) != 0)
		engines++;
	return *engines;
}

/* host-pid-random, of bytes that may be in an owner. */
static void name_owner(struct weir_store *store, uint32_t random)
{
	char host[65];

	weir__host_name(host, sizeof(host));
	for (char *at = host; *at != '\0'; at++) {
		if (*at <= ' ' || *at > '~')
			*at = '_';
	}
	weir__format(store->owner, sizeof(store->owner), "%s-%lld-%08x", host,
		     (long long)weir__process(), random);
}

static int prepare(struct weir_store *store)
{
	uint32_t random = 0;
	int error = weir__random(store->token_base, sizeof(store->token_base));

	if (error == 0)
		error = weir__random(&store->id_base, sizeof(store->id_base));
	if (error == 0)
		error = weir__random(&random, sizeof(random));
	if (error < 0)
		return weir__fail(error, "no random numbers: %s", weir_strerror(error));
	name_owner(store, random);
	store->refs = 1;
	store->forks = weir__forks();
	return 0;
}

/* What was asked for is not repeated: where the scheme was forgotten, that may be a password. */
static int no_such_engine(const struct weir__engine *const *engines)
{
	char known[200] = "";

	for (; *engines != NULL; engines++) {
		size_t length = strlen(known);

		weir__format(known + length, sizeof(known) - length, " %s:", (*engines)->scheme);
	}
	return weir__fail(-EINVAL, "no such kind of store; this build has%s", known);
}

static int open_engine(struct weir_store *store, const struct weir__url *url)
{
	char *sentence = NULL;
	int error = prepare(store);

	if (error < 0)
		return error;
	error = store->engine->open(store, url, &sentence);
	if (error < 0)
		(void)weir__fail(error, "%s", sentence != NULL ? sentence : weir_strerror(error));
	weir__free(sentence);
	return error;
}

static int open_store(const struct weir__url *url, const struct weir__engine *engine,
		      struct weir_store **ret_store)
{
	struct weir_store *store;
	int error;

	error = weir__url_check(url, engine);
	if (error < 0)
		return error;
	store = weir__alloc(sizeof(*store));
	if (store == NULL)
		return weir__fail_plainly(-ENOMEM);
	store->engine = engine;
	store->bounds = url->bounds;
	error = open_engine(store, url);
	if (error < 0)
		weir__free(store);
	else
		*ret_store = store;
	return error;
}

int weir__store_open(const char *url, const struct weir__engine *const *engines,
		     struct weir_store **ret_store)
{
	const struct weir__engine *engine;
	struct weir__url parsed;
	char *text = NULL;
	int error;

	if (ret_store == NULL)
		return weir__fail_plainly(-EINVAL);
	error = weir__url_parse(url, &parsed, &text);
	if (error < 0)
		return error;
	engine = find_engine(engines, parsed.scheme);
	error = engine != NULL ? open_store(&parsed, engine, ret_store) : no_such_engine(engines);
	weir__free(text);
	return error;
}

static void end_waits(struct weir_store *store)
{
	weir__lock(&store->lock);
	for (struct weir__op *op = store->waits; op != NULL; op = op->waits_next) {
		if (op->withdrawn)
			continue;
		/* The asker cannot leave before it has been taken out of this list. */
		weir__namesakes_give_up(store, op, -ESHUTDOWN);
	}
	weir__unlock(&store->lock);
}

static bool is_open_business(const struct weir_lease *lease)
{
	return WEIR__PEEK(&lease->state) == WEIR__HELD || !WEIR__PEEK(&lease->gone) ||
	       (lease->keeper != NULL && WEIR__PEEK(&lease->keeper->armed));
}

/* Nobody else is inside any more; handles may still be dropped. */
static void close_lease(struct weir_store *store, struct weir_lease *lease)
{
	struct weir__op op = { .verb = WEIR__RELEASE,
			       .name = lease->name,
			       .slot_hint = lease->slot + 1,
			       .weight = lease->weight };
	bool ask;
	bool orphan;

	weir__lease_stop_keeper(lease);
	weir__lock(&lease->lock);
	ask = !lease->gone && !lease->adopted && !lease->passed;
	orphan = lease->orphan;
	lease->orphan = false;
	WEIR__POKE(&lease->gone, true);
	weir__unlock(&lease->lock);
	weir__lease_lose(lease, false);
	memcpy(op.token, lease->token, WEIR_TOKEN_SIZE);
	if (ask)
		(void)weir__store_ask(store, &op);
	weir__lease_tell(lease);
	if (orphan)
		weir__lease_unpin(lease);
}

void weir_store_close(struct weir_store *store)
{
	struct weir_lease *lease;

	/* A child after a fork has no agent, and locks that nobody will unlock. */
	if (store == NULL || !weir__store_is_here(store))
		return;
	weir__gate_shut(store);
	end_waits(store);
	weir__gate_wait(store);
	while ((lease = weir__ledger_any(&store->ledger, is_open_business)) != NULL) {
		close_lease(store, lease);
		weir__lease_unpin(lease);
	}
	store->engine->close(store);
	weir__store_unref(store);
}

/* ---- semaphores ------------------------------------------------------------------------------ */

static int enter(struct weir_store *store, const char *name)
{
	int error;

	if (store == NULL)
		return weir__fail_plainly(-EINVAL);
	error = weir__check_name(name);
	return error == 0 ? weir__gate_enter(store) : error;
}

static int ask(struct weir_store *store, struct weir__op *op)
{
	int result = weir__store_ask(store, op);

	weir__gate_leave(store);
	return result;
}

static int check_limit(const struct weir_store *store, uint32_t least, uint32_t limit)
{
	if (limit >= least && limit <= store->bounds.max_limit)
		return 0;
	return weir__fail(-EINVAL, "a limit is from %u to %u here, not %u", least,
			  store->bounds.max_limit, limit);
}

static int set_limit(struct weir_store *store, struct weir__op *op, uint32_t least)
{
	int error = enter(store, op->name);

	if (error < 0)
		return error;
	error = check_limit(store, least, op->limit);
	if (error == 0)
		return ask(store, op);
	weir__gate_leave(store);
	return error;
}

int weir_ensure(struct weir_store *store, const char *name, uint32_t limit)
{
	struct weir__op op = { .verb = WEIR__ENSURE, .name = name, .limit = limit };

	return set_limit(store, &op, 1);
}

int weir_set_limit(struct weir_store *store, const char *name, uint32_t limit)
{
	struct weir__op op = { .verb = WEIR__SET_LIMIT, .name = name, .limit = limit };

	return set_limit(store, &op, 0);
}

int weir_evict(struct weir_store *store, const char *name, const uint8_t token[WEIR_TOKEN_SIZE])
{
	struct weir__op op = { .verb = WEIR__EVICT, .name = name };
	int error;

	if (token == NULL)
		return weir__fail_plainly(-EINVAL);
	error = enter(store, name);
	if (error < 0)
		return error;
	memcpy(op.token, token, WEIR_TOKEN_SIZE);
	return ask(store, &op);
}

int weir_reap(struct weir_store *store, uint32_t max_rows)
{
	struct weir__op op = { .verb = WEIR__REAP, .name = "", .max_rows = max_rows };
	int error;

	if (store == NULL)
		return weir__fail_plainly(-EINVAL);
	error = weir__gate_enter(store);
	return error < 0 ? error : ask(store, &op);
}

int weir_list(struct weir_store *store, const char *const *names, size_t n,
	      const struct weir_visitor *visitor, void *arg)
{
	struct weir__op op = { .verb = WEIR__LIST, .name = "", .names = names, .n_names = n };
	int result;

	if (store == NULL || visitor == NULL || (n > 0 && names == NULL))
		return weir__fail_plainly(-EINVAL);
	for (size_t i = 0; i < n; i++) {
		result = weir__check_name(names[i]);
		if (result < 0)
			return result;
	}
	op.remarks = visitor->remark != NULL;
	result = weir__gate_enter(store);
	if (result < 0)
		return result;
	result = ask(store, &op);
	/* Outside the gate: the visitor may call the store. */
	if (result >= 0)
		result = weir__picture_show(op.picture, visitor, arg);
	weir__picture_free(op.picture);
	return result;
}

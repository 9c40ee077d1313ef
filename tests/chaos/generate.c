/* chaos: histories that are right, made with the naive account of leases.
 *
 * Each call takes effect at one moment, in one order, on the naive account. What is written down is
 * that moment blurred: the call began somewhat earlier, its answer came somewhat later. */
#define NAIVE_CLAIMS 64
#include "chaos/generate.h"
#include "support/naive_leases.h"

#include <stdlib.h>

enum { MOST_CLIENTS = 16 };

struct client {
	uint32_t id;
	int64_t ready;  /* it may begin its next call */
	size_t waiting; /* 1 + the operation that waits */
	uint64_t token; /* what it holds or waits for */
	bool holds;
	int64_t believed; /* it holds until */
	uint64_t request;
};

struct world {
	struct rng *rng;
	const struct generate *how;
	struct history *history;
	size_t room;
	struct naive naive;
	struct client clients[MOST_CLIENTS];
	uint32_t next_client;
	uint64_t next_token;
	int64_t now;
};

static size_t add(struct world *world, const struct client *client, enum history_kind kind)
{
	struct history *history = world->history;
	int64_t early = rng_below(world->rng, (uint32_t)world->how->delay + 1);
	int64_t late = rng_below(world->rng, (uint32_t)world->how->delay + 1);

	if (history->n == world->room) {
		world->room = 2 * world->room + 64;
		history->ops = realloc(history->ops, world->room * sizeof(*history->ops));
		if (history->ops == NULL)
			abort();
	}

	int64_t inv = world->now - early;

	if (client != NULL && inv < client->ready)
		inv = client->ready;
	history->ops[history->n] = (struct history_op){
		.kind = (uint8_t)kind,
		.client = client != NULL ? client->id : 0,
		.inv = inv,
		.ret = world->now + late,
		.ttl = world->how->ttl,
	};
	return history->n++;
}

static void token_bytes(uint8_t bytes[WEIR_TOKEN_SIZE], uint64_t token)
{
	memset(bytes, 0, WEIR_TOKEN_SIZE);
	memcpy(bytes, &token, sizeof(token));
}

static struct naive_claim *claim_of(struct world *world, uint64_t token)
{
	uint8_t bytes[WEIR_TOKEN_SIZE];

	token_bytes(bytes, token);
	return naive_find(&world->naive, bytes);
}

static void granted(struct world *world, struct client *client, size_t i,
		    const struct naive_claim *claim)
{
	struct history_op *op = &world->history->ops[i];

	op->ret = world->now + rng_below(world->rng, (uint32_t)world->how->delay + 1);
	op->result = 0;
	op->token = client->token;
	op->fence = claim->fence;
	op->slot = claim->slot;
	client->waiting = 0;
	client->holds = true;
	client->ready = op->ret + 1;
	client->believed = op->inv + world->how->ttl;
}

static void refused(struct world *world, struct client *client, size_t i, int result)
{
	struct history_op *op = &world->history->ops[i];

	op->ret = world->now + rng_below(world->rng, (uint32_t)world->how->delay + 1);
	op->result = result;
	client->waiting = 0;
	client->holds = false;
	client->ready = op->ret + 1;
}

static void acquire(struct world *world, struct client *client)
{
	size_t i = add(world, client, HISTORY_ACQUIRE);
	struct history_op *op = &world->history->ops[i];
	bool wait = !rng_one_in(world->rng, 3);
	struct naive_claim asked = { .ttl = world->how->ttl };
	struct naive_claim *got;

	op->weight = 1 + rng_below(world->rng, world->how->limit > 1 ? 2 : 1);
	op->flags = wait ? HISTORY_WAITED : 0;
	op->request = ++client->request * 1000 + client->id;
	asked.weight = op->weight;
	client->token = ++world->next_token;
	token_bytes(asked.token, client->token);

	int result = naive_request(&world->naive, world->now, &asked, wait, WEIR_NEVER / 4, &got);

	if (result == 0)
		granted(world, client, i, got);
	else if (result == 1)
		client->waiting = i + 1;
	else
		refused(world, client, i, result);
}

static void use(struct world *world, struct client *client)
{
	uint8_t token[WEIR_TOKEN_SIZE];
	uint32_t what = rng_below(world->rng, 4);
	struct naive_claim *found;
	size_t i;

	token_bytes(token, client->token);
	if (what == 0) {
		i = add(world, client, HISTORY_HELD);
		world->history->ops[i].ret = world->history->ops[i].inv;
		world->history->ops[i].token = client->token;
		if (world->history->ops[i].inv >= client->believed)
			world->history->n--;
		return;
	}
	i = add(world, client, what == 1 ? HISTORY_RENEW : HISTORY_RELEASE);

	struct history_op *op = &world->history->ops[i];

	op->token = client->token;
	if (what == 1) {
		op->result = naive_renew(&world->naive, world->now, token, world->how->ttl, &found);
		if (op->result == 0)
			client->believed = op->inv + world->how->ttl;
		client->holds = op->result == 0;
	} else {
		op->result = naive_end(&world->naive, world->now, token, false);
		client->holds = false;
	}
	client->ready = op->ret + 1;
}

static void wait_on(struct world *world, struct client *client)
{
	size_t i = client->waiting - 1;
	uint8_t token[WEIR_TOKEN_SIZE];
	struct naive_claim *claim;

	if (!rng_one_in(world->rng, 40))
		return;
	token_bytes(token, client->token);
	if (naive_withdraw(&world->naive, world->now, token, true, &claim) == 0)
		refused(world, client, i, -ETIMEDOUT);
}

/* Its last call, if it was in one, has an unknown outcome. */
static void kill_client(struct world *world, struct client *client)
{
	struct naive_claim *claim = claim_of(world, client->token);
	size_t i;

	if (client->waiting != 0)
		world->history->ops[client->waiting - 1].ret = HISTORY_NEVER;
	for (size_t k = world->history->n; client->ready > world->now && k-- > 0;)
		if (world->history->ops[k].client == client->id) {
			if (world->history->ops[k].kind != HISTORY_HELD)
				world->history->ops[k].ret = HISTORY_NEVER;
			break;
		}
	if (claim != NULL)
		naive_bury(&world->naive, world->now, claim->token);
	i = add(world, client, HISTORY_DEATH);
	world->history->ops[i].inv = world->now; /* nothing of it was later */
	*client = (struct client){ .id = world->next_client++, .ready = world->now };
}

static void look(struct world *world)
{
	size_t first = world->history->n;

	for (size_t i = 0; i < world->naive.n; i++)
		if (world->naive.all[i].fence == 0)
			for (uint32_t k = 0; k < world->how->clients; k++) {
				const struct client *client = &world->clients[k];
				size_t op;

				if (client->waiting == 0 ||
				    claim_of(world, client->token) != &world->naive.all[i])
					continue;
				op = add(world, NULL, HISTORY_SEEN);
				world->history->ops[op].request =
					world->history->ops[client->waiting - 1].request;
			}
	for (size_t i = first; i < world->history->n; i++) {
		world->history->ops[i].inv = world->history->ops[first].inv;
		world->history->ops[i].ret = world->history->ops[first].ret;
	}
}

/* Whoever waits and was granted, or can never be, meanwhile. */
static void deliver(struct world *world)
{
	for (uint32_t i = 0; i < world->how->clients; i++) {
		struct client *client = &world->clients[i];
		struct naive_claim *claim = client->waiting != 0 ? claim_of(world, client->token) :
								   NULL;

		if (client->waiting == 0)
			continue;
		if (claim == NULL)
			refused(world, client, client->waiting - 1, -E2BIG);
		else if (claim->fence != 0)
			granted(world, client, client->waiting - 1, claim);
	}
}

static void step(struct world *world)
{
	struct client *client = &world->clients[rng_below(world->rng, world->how->clients)];

	naive_clear(&world->naive, world->now, UINT32_MAX);
	deliver(world);
	if (world->how->kills && rng_one_in(world->rng, 60))
		kill_client(world, client);
	else if (client->waiting != 0)
		wait_on(world, client);
	else if (client->ready <= world->now && client->holds)
		use(world, client);
	else if (client->ready <= world->now)
		acquire(world, client);
	if (rng_one_in(world->rng, 20))
		look(world);
	deliver(world);
	world->naive.n_news = world->naive.n_waits = 0;
	world->now += 1 + rng_below(world->rng, 2);
}

static void resize(struct world *world, uint32_t limit)
{
	size_t i = add(world, NULL, HISTORY_RESIZE);

	world->history->ops[i].limit = limit;
	naive_resize(&world->naive, world->now, limit);
	world->naive.n_news = world->naive.n_waits = 0;
	deliver(world);
	world->now += 2 * world->how->delay + 1; /* an administrator does one thing at a time */
}

void generate(struct rng *rng, const struct generate *how, struct history *ret_history)
{
	struct world *world = calloc(1, sizeof(*world));
	struct history_op *op;

	if (world == NULL)
		abort();
	*ret_history = (struct history){ .slack = 4 * how->delay + 8 };
	ret_history->deaths_free_at_once = true;
	*world = (struct world){ .rng = rng, .how = how, .history = ret_history, .now = 1000 };
	world->next_client = 1 + how->clients;
	for (uint32_t i = 0; i < how->clients; i++)
		world->clients[i].id = 1 + i;
	resize(world, how->limit);
	for (size_t i = 0; i < how->steps; i++) {
		step(world);
		if (how->resizes && rng_one_in(rng, 200))
			resize(world, 2 + rng_below(rng, how->limit));
	}
	if (how->cut) {
		for (uint32_t i = 0; i < how->clients; i++)
			if (world->clients[i].waiting != 0)
				ret_history->ops[world->clients[i].waiting - 1].ret = HISTORY_NEVER;
		free(world);
		return;
	}
	for (uint32_t i = 0; i < how->clients; i++) {
		world->now = world->now > world->clients[i].ready ? world->now :
								    world->clients[i].ready;
		kill_client(world, &world->clients[i]);
		deliver(world);
	}
	op = &ret_history->ops[add(world, NULL, HISTORY_END)];
	op->weight = naive_held(&world->naive);
	op->slot = (uint32_t)world->naive.n;
	op->fence = world->naive.fence;
	free(world);
}

/* Those who ask through one store under one request id, of an engine that is the test itself, which
 * so chooses who is answered when, and with what. */
#ifndef TESTS_SUPPORT_NAMESAKES_H
#define TESTS_SUPPORT_NAMESAKES_H

#include "lease/lease.h"
#include "lease/namesakes.h"
#include "lease/op.h"
#include "support/acquirer.h"
#include "support/idle_agent.h"
#include "support/leases.h"
#include "support/tasks.h"

enum { ASKERS = 12 };

static struct weir__op *asked[ASKERS]; /* in their order */
static int n_asked;
static struct weir_sem submitted; /* a permit for each */
static int releases;
static int places_ended;
static int places_inherited; /* of those */
static uint8_t released[WEIR_TOKEN_SIZE];
static bool withholds; /* the answers of releases and withdrawals */
static struct weir__op *withheld;
static struct weir_store *store;

static int open_fake(struct weir_store *opened, const struct weir__url *url, char **ret_error)
{
	(void)url;
	(void)ret_error;
	return idle_agent_open(opened);
}

static void submit(struct weir_store *in, struct weir__op *op)
{
	(void)in;
	if (op->verb == WEIR__REQUEST) {
		assert_true(n_asked < ASKERS);
		asked[n_asked++] = op;
		(void)weir_sem_release(&submitted, 1);
		return;
	}
	assert_int_equal(op->verb, WEIR__RELEASE);
	releases++;
	memcpy(released, op->token, WEIR_TOKEN_SIZE);
	if (withholds)
		withheld = op;
	else
		weir__op_answer(op, 0);
}

static void withdraw(struct weir_store *in, struct weir__op *op)
{
	(void)in;
	if (weir__op_is_answered(op))
		return;
	if (withholds) {
		withheld = op;
		return;
	}
	if (!op->place_stays)
		places_ended++;
	if (!op->place_stays && op->place_was_left)
		places_inherited++;
	weir__op_answer(op, op->give_up);
}

static const struct weir__engine fake = {
	.scheme = "fake",
	.open = open_fake,
	.close = idle_agent_close,
	.submit = submit,
	.withdraw = withdraw,
};
static const struct weir__engine *const engines[] = { &fake, NULL };

static int start(void **state)
{
	(void)state;
	n_asked = releases = 0;
	withholds = false;
	assert_int_equal(weir_sem_init(&submitted, 1000), 0);
	assert_int_equal(weir_sem_acquire(&submitted, 1000), 0);
	return weir__store_open("fake:", engines, &store);
}

static int stop(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

/* ---- those who ask --------------------------------------------------------------------------- */

struct asker {
	struct weir_request request;
	struct weir_future *task;
	struct weir_lease *lease;
	uint8_t token[WEIR_TOKEN_SIZE]; /* that it would have */
};

static struct asker askers[ASKERS];

TASK(asks)
{
	struct asker *asker = arg;

	return weir_acquire(store, &asker->request, &asker->lease);
}

/* It is in the hands of the engine when this returns. */
static void ask_as(int which)
{
	struct asker *asker = &askers[which];

	*asker = (struct asker){
		.request = { .name = "a", .request_id = "x", .deadline = WEIR_NEVER },
	};
	asker->task = spawn(asks, asker);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(n_asked, which + 1);
	memcpy(asker->token, asked[which]->token, WEIR_TOKEN_SIZE);
}

static inline void ask(int count)
{
	for (int i = 0; i < count; i++)
		ask_as(i);
}

static void grant_for(int which, const uint8_t *token, weir_time left)
{
	struct weir__op *op = asked[which];

	op->grant = (struct weir__grant){
		.weight = 1, .fence = 1, .left = left, .ttl = op->ttl, .hard_left = WEIR_NEVER
	};
	memcpy(op->grant.token, token, WEIR_TOKEN_SIZE);
	weir__op_answer(op, 0);
}

/* Answers one by a lease, the first one's for example. */
static void grant(int which, const uint8_t *token)
{
	grant_for(which, token, asked[which]->ttl);
}

static inline int result_of(int which)
{
	return join(askers[which].task, NULL);
}

static inline void cancel(int which)
{
	assert_int_equal(weir_cancel(askers[which].task), 0);
}

#define namesake_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

#endif

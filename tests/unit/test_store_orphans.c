/* store: what is left of a call that nobody waits for any more, when somebody asks under the same
 * request id again (L4, L6). The server is the test itself, which so chooses when it is there, and
 * what it answers. */
#include "lease/op.h"
#include "store/hear.h"
#include "store/server.h"
#include "support/unit.h"

#include <errno.h>
#include <string.h>

static struct weir_store store = { .bounds = { .heartbeat = WEIR_SECOND } };
static struct desk desk;
static struct server server;

static struct server *only_server(struct desk *of, const struct call *call)
{
	(void)of;
	(void)call;
	return &server;
}

static bool prepare(struct call *call)
{
	(void)call;
	return true;
}

static void nothing_to_desk(struct desk *of)
{
	(void)of;
}

static void nothing_to_server(struct server *of)
{
	(void)of;
}

static void nothing_to_timer(struct weir__timer *timer)
{
	(void)timer;
}

static const struct desk_kind kind = {
	.product = "a test",
	.server_of = only_server,
	.prepare = prepare,
	.listen = nothing_to_desk,
	.connect = nothing_to_server,
	.hang_up = nothing_to_server,
	.unsend = nothing_to_server,
	.part = nothing_to_desk,
};

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	(void)operations;
	(void)withdrawn;
}

static const struct weir__agent_work work = { .serve = serve };

static int setup(void **state)
{
	(void)state;
	desk = (struct desk){ 0 };
	server = (struct server){ .desk = &desk, .where = "here" };
	weir__desk_init(&desk, &kind, &store);
	desk.heartbeat.fire = nothing_to_timer;
	weir__server_found(&server);
	return weir__agent_new(&work, NULL, &desk.agent);
}

static int teardown(void **state)
{
	(void)state;
	weir__desk_done(&desk);
	weir__agent_stop(desk.agent);
	return 0;
}

#define ORPHAN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- askers ---------------------------------------------------------------------------------- */

static bool answered[3];

static void note(struct weir__op *op)
{
	answered[op->token[0] - 'a'] = true;
}

/* Its token is that letter, and its id "x". */
static struct weir__op asks(char letter)
{
	struct weir__op op = {
		.verb = WEIR__REQUEST, .name = "name", .request_id = "x", .wait = true, .done = note
	};

	memset(op.token, letter, WEIR_TOKEN_SIZE);
	answered[letter - 'a'] = false;
	return op;
}

static bool is_answered(const struct weir__op *op)
{
	return answered[op->token[0] - 'a'];
}

/* ---- the server ------------------------------------------------------------------------------ */

/* The next of what is to do is sent: whose it is. */
static struct call *sent(enum call_verb verb, char letter)
{
	struct call *call = server.todo.first;

	assert_non_null(call);
	assert_int_equal(call->verb, verb);
	assert_int_equal(call->token[0], letter);
	weir__call_move(call, CALL_SENT);
	call->expected++;
	return call;
}

static void says(struct call *call, int result, char letter)
{
	struct heard heard = { .result = result, .again = -1 };

	heard.grant.ttl = heard.grant.left = WEIR_SECOND;
	memset(heard.grant.token, letter, WEIR_TOKEN_SIZE);
	weir__call_hear(call, &heard);
	weir__call_heard_of(call);
}

static void gives_up(struct weir__op *op)
{
	op->give_up = -ETIMEDOUT;
	weir__desk_withdraw(op);
}

/* One has waited, and gave up while there was no server. */
static void leave_a_place(struct weir__op *op)
{
	assert_true(weir__desk_take(&desk, op));
	says(sent(CALL_REQUEST, 'a'), 1, 'a');
	assert_false(is_answered(op));
	server.ready = false;
	gives_up(op);
	assert_true(is_answered(op));
	assert_int_equal(op->result, -ETIMEDOUT);
}

TEST(a_place_that_nobody_wants_is_given_back_L6)
{
	struct weir__op first = asks('a');

	leave_a_place(&first);
	weir__server_found(&server);
	says(sent(CALL_WITHDRAW, 'a'), 0, 'a'); /* it was granted meanwhile */
	says(sent(CALL_RELEASE, 'a'), 0, 'a');
	assert_null(server.todo.first);
}

/* It was granted while there was no server: the lease is the second one's. */
TEST(who_asks_again_keeps_what_the_first_has_left_L4_L5)
{
	struct weir__op first = asks('a'), second = asks('b');

	leave_a_place(&first);
	assert_true(weir__desk_take(&desk, &second));
	weir__server_found(&server);
	says(sent(CALL_REQUEST, 'b'), 0, 'a');
	assert_true(is_answered(&second));
	assert_int_equal(second.result, 0);
	assert_int_equal(second.grant.token[0], 'a');
	assert_null(server.todo.first); /* and nobody takes it back */
}

/* The same, when the first one's withdrawal has been sent already. */
TEST(a_withdrawal_on_its_way_leaves_the_lease_to_who_asks_again_L4_L5)
{
	struct weir__op first = asks('a'), second = asks('b');
	struct call *withdrawal, *request;

	leave_a_place(&first);
	weir__server_found(&server);
	withdrawal = sent(CALL_WITHDRAW, 'a');
	assert_true(weir__desk_take(&desk, &second));
	request = sent(CALL_REQUEST, 'b');
	says(withdrawal, 0, 'a'); /* it holds */
	says(request, 0, 'a');    /* and is this one's */
	assert_int_equal(second.result, 0);
	assert_null(server.todo.first);
}

/* The second one never got to ask: what the first has left is still taken back. */
TEST(who_asks_again_in_vain_takes_back_what_the_first_has_left_L6)
{
	struct weir__op first = asks('a'), second = asks('b');

	leave_a_place(&first);
	assert_true(weir__desk_take(&desk, &second));
	gives_up(&second);
	assert_true(is_answered(&second));
	weir__server_found(&server);
	says(sent(CALL_WITHDRAW, 'a'), 1, 'a');
	assert_null(server.todo.first);
}

/* Another id is another matter. */
TEST(who_asks_under_another_id_inherits_nothing)
{
	struct weir__op first = asks('a'), second = asks('b');

	second.request_id = "y";
	leave_a_place(&first);
	assert_true(weir__desk_take(&desk, &second));
	weir__server_found(&server);
	says(sent(CALL_REQUEST, 'b'), 0, 'b');
	says(sent(CALL_WITHDRAW, 'a'), 0, 'a');
	says(sent(CALL_RELEASE, 'a'), 0, 'a');
	assert_null(server.todo.first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ORPHAN_TEST(a_place_that_nobody_wants_is_given_back_L6),
		ORPHAN_TEST(who_asks_again_keeps_what_the_first_has_left_L4_L5),
		ORPHAN_TEST(a_withdrawal_on_its_way_leaves_the_lease_to_who_asks_again_L4_L5),
		ORPHAN_TEST(who_asks_again_in_vain_takes_back_what_the_first_has_left_L6),
		ORPHAN_TEST(who_asks_under_another_id_inherits_nothing),
	};

	return RUN_TESTS(tests);
}

/* lease: several who ask through one store under one request id at the same time (L4). The engine
 * is the test itself, which so chooses who is answered when, and with what. */
#include "lease/lease.h"
#include "lease/op.h"
#include "support/acquirer.h"
#include "support/leases.h"
#include "support/tasks.h"

enum { ASKERS = 12 };

static struct weir__op *asked[ASKERS]; /* in their order */
static int n_asked;
static struct weir_sem submitted; /* a permit for each */
static int releases;
static int places_ended;
static uint8_t released[WEIR_TOKEN_SIZE];
static struct weir_store *store;

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	(void)operations;
	(void)withdrawn;
}

static const struct weir__agent_work work = { .serve = serve };

static int open_fake(struct weir_store *opened, const struct weir__url *url, char **ret_error)
{
	(void)url;
	(void)ret_error;
	return weir__agent_new(&work, NULL, &opened->agent);
}

static void close_fake(struct weir_store *closed)
{
	weir__agent_stop(closed->agent);
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
	weir__op_answer(op, 0);
}

static void withdraw(struct weir_store *in, struct weir__op *op)
{
	(void)in;
	if (weir__op_is_answered(op))
		return;
	if (!op->place_stays)
		places_ended++;
	weir__op_answer(op, op->give_up);
}

static const struct weir__engine fake = {
	.scheme = "fake",
	.open = open_fake,
	.close = close_fake,
	.submit = submit,
	.withdraw = withdraw,
};
static const struct weir__engine *const engines[] = { &fake, NULL };

static int start(void **state)
{
	(void)state;
	n_asked = releases = 0;
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

/* So many are in the hands of the engine when this returns. */
static void ask(int count)
{
	for (int i = 0; i < count; i++) {
		askers[i] = (struct asker){
			.request = { .name = "a", .request_id = "x", .deadline = WEIR_NEVER },
		};
		askers[i].task = spawn(asks, &askers[i]);
		assert_int_equal(weir_yield(), 0);
		assert_int_equal(n_asked, i + 1);
		memcpy(askers[i].token, asked[i]->token, WEIR_TOKEN_SIZE);
	}
}

/* Answers one by a lease, the first one's for example. */
static void grant(int which, const uint8_t *token)
{
	struct weir__op *op = asked[which];

	op->grant = (struct weir__grant){
		.weight = 1, .fence = 1, .left = op->ttl, .ttl = op->ttl, .hard_left = WEIR_NEVER
	};
	memcpy(op->grant.token, token, WEIR_TOKEN_SIZE);
	weir__op_answer(op, 0);
}

static int result_of(int which)
{
	return join(askers[which].task, NULL);
}

static void cancel(int which)
{
	assert_int_equal(weir_cancel(askers[which].task), 0);
}

/* ---- one lease, one handle ------------------------------------------------------------------- */

static void assert_shared(int first, int second)
{
	assert_int_equal(result_of(first), 0);
	assert_int_equal(result_of(second), 0);
	assert_ptr_equal(askers[first].lease, askers[second].lease);
	assert_memory_equal(info_of(askers[0].lease).token, askers[0].token, WEIR_TOKEN_SIZE);
	weir_lease_unref(askers[first].lease);
	assert_true(weir_lease_held(askers[second].lease));
	assert_int_equal(releases, 0);
	weir_lease_unref(askers[second].lease);
	assert_int_equal(releases, 1);
}

TASK(the_first_is_told_first)
{
	(void)arg;
	ask(2);
	grant(0, askers[0].token);
	grant(1, askers[0].token);
	assert_shared(0, 1);
	return 0;
}

TASK(the_second_is_told_first)
{
	(void)arg;
	ask(2);
	grant(1, askers[0].token);
	grant(0, askers[0].token);
	assert_shared(1, 0);
	return 0;
}

TEST(they_get_one_handle_whoever_is_told_first)
{
	run_on(WEIR_CLOCK_REAL, the_first_is_told_first, NULL);
	n_asked = releases = 0;
	run_on(WEIR_CLOCK_REAL, the_second_is_told_first, NULL);
}

/* The other one's handle counts from its grant, not from when it looks. */
TASK(one_drops_it_before_the_other_looks)
{
	(void)arg;
	ask(2);
	grant(0, askers[0].token);
	assert_int_equal(result_of(0), 0);
	weir_lease_unref(askers[0].lease);
	assert_int_equal(releases, 0);
	grant(1, askers[0].token);
	assert_int_equal(result_of(1), 0);
	assert_true(weir_lease_held(askers[1].lease));
	weir_lease_unref(askers[1].lease);
	assert_int_equal(releases, 1);
	return 0;
}

TEST(what_one_drops_the_other_has)
{
	run_on(WEIR_CLOCK_REAL, one_drops_it_before_the_other_looks, NULL);
}

TASK(one_releases_it_before_the_other_looks)
{
	(void)arg;
	ask(2);
	grant(0, askers[0].token);
	assert_int_equal(result_of(0), 0);
	release(askers[0].lease);
	grant(1, askers[0].token);
	assert_int_equal(result_of(1), 0);
	assert_false(weir_lease_held(askers[1].lease));
	assert_int_equal(weir_release(askers[1].lease), -ESTALE);
	weir_lease_unref(askers[1].lease);
	assert_int_equal(releases, 1);
	return 0;
}

TEST(what_one_has_released_the_other_does_not_believe_in)
{
	run_on(WEIR_CLOCK_REAL, one_releases_it_before_the_other_looks, NULL);
}

/* ---- those who give up ----------------------------------------------------------------------- */

TASK(they_give_up_one_by_one)
{
	(void)arg;
	ask(ASKERS);
	for (int i = 0; i < ASKERS; i++) {
		assert_int_equal(places_ended, 0);
		cancel(i);
		assert_int_equal(result_of(i), -ECANCELED);
	}
	assert_int_equal(places_ended, 1);
	assert_int_equal(releases, 0);
	return 0;
}

TEST(their_place_stays_until_the_last_gives_up)
{
	places_ended = 0;
	run_on(WEIR_CLOCK_REAL, they_give_up_one_by_one, NULL);
}

static void *ask_in_thread(void *arg)
{
	return (void *)(intptr_t)asks(arg, NULL);
}

/* Closing ends all waits at once, and the place with the last of them. */
TEST(their_place_ends_when_the_store_is_closed)
{
	pthread_t threads[ASKERS];
	void *result;

	places_ended = 0;
	for (int i = 0; i < ASKERS; i++) {
		askers[i] = (struct asker){
			.request = { .name = "a", .request_id = "x", .deadline = WEIR_NEVER },
		};
		threads[i] = start_thread(ask_in_thread, &askers[i]);
		assert_int_equal(weir_sem_acquire(&submitted, 1), 0);
	}
	weir_store_close(store);
	for (int i = 0; i < ASKERS; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_int_equal((intptr_t)result, -ESHUTDOWN);
	}
	assert_int_equal(places_ended, 1);
	(void)start(NULL);
}

/* ---- those who cannot keep it ---------------------------------------------------------------- */

static int to_be_cancelled;

TASK(one_is_cancelled_as_it_is_granted)
{
	int other = 1 - to_be_cancelled;

	(void)arg;
	ask(2);
	grant(0, askers[0].token);
	grant(1, askers[0].token);
	cancel(to_be_cancelled);
	assert_int_equal(result_of(to_be_cancelled), -ECANCELED);
	assert_int_equal(result_of(other), 0);
	assert_true(weir_lease_held(askers[other].lease));
	assert_int_equal(releases, 0);
	release(askers[other].lease);
	return 0;
}

TEST(a_cancelled_one_leaves_the_grant_to_the_other_P5)
{
	for (to_be_cancelled = 0; to_be_cancelled < 2; to_be_cancelled++) {
		n_asked = releases = 0;
		run_on(WEIR_CLOCK_REAL, one_is_cancelled_as_it_is_granted, NULL);
	}
}

TASK(all_are_cancelled_as_they_are_granted)
{
	(void)arg;
	ask(ASKERS);
	for (int i = 0; i < ASKERS; i++)
		grant(i, askers[0].token);
	for (int i = 0; i < ASKERS; i++)
		cancel(i);
	for (int i = 0; i < ASKERS; i++)
		assert_int_equal(result_of(i), -ECANCELED);
	assert_int_equal(releases, 1);
	assert_memory_equal(released, askers[0].token, WEIR_TOKEN_SIZE);
	return 0;
}

/* The other has left the queue before the grant, and looks after it. */
TASK(one_is_cancelled_and_the_other_gave_up)
{
	(void)arg;
	ask(2);
	cancel(1);
	grant(0, askers[0].token);
	cancel(0);
	assert_int_equal(result_of(0), -ECANCELED);
	assert_int_equal(result_of(1), -ECANCELED);
	assert_int_equal(releases, 1);
	return 0;
}

/* The place in the queue was that of one who has left long ago. */
TASK(the_heir_of_a_place_is_cancelled_as_it_is_granted)
{
	(void)arg;
	ask(2);
	cancel(0);
	assert_int_equal(result_of(0), -ECANCELED);
	assert_int_equal(releases, 0);
	grant(1, askers[0].token);
	cancel(1);
	assert_int_equal(result_of(1), -ECANCELED);
	assert_int_equal(releases, 1);
	assert_memory_equal(released, askers[0].token, WEIR_TOKEN_SIZE);
	return 0;
}

/* Likewise, and that one came after many others. */
TASK(the_heirs_of_a_late_comers_place_are_cancelled_as_it_is_granted)
{
	const uint8_t *token = askers[ASKERS - 1].token;

	(void)arg;
	ask(ASKERS);
	cancel(ASKERS - 1);
	assert_int_equal(result_of(ASKERS - 1), -ECANCELED);
	for (int i = 0; i < ASKERS - 1; i++) {
		grant(i, token);
		cancel(i);
		assert_int_equal(result_of(i), -ECANCELED);
	}
	assert_int_equal(releases, 1);
	assert_memory_equal(released, token, WEIR_TOKEN_SIZE);
	return 0;
}

TEST(the_last_gives_back_what_nobody_took_P5)
{
	static weir_task_fn *const cases[] = {
		all_are_cancelled_as_they_are_granted,
		one_is_cancelled_and_the_other_gave_up,
		the_heir_of_a_place_is_cancelled_as_it_is_granted,
		the_heirs_of_a_late_comers_place_are_cancelled_as_it_is_granted,
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n_asked = releases = 0;
		run_on(WEIR_CLOCK_REAL, cases[i], NULL);
	}
}

TASK(they_are_cancelled_as_they_find_somebody_elses)
{
	static const uint8_t theirs[WEIR_TOKEN_SIZE] = "somebody else's";

	(void)arg;
	ask(2);
	for (int i = 0; i < 2; i++) {
		grant(i, theirs);
		cancel(i);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(result_of(i), -ECANCELED);
	assert_int_equal(releases, 0);
	return 0;
}

TEST(what_another_process_holds_is_left_alone)
{
	run_on(WEIR_CLOCK_REAL, they_are_cancelled_as_they_find_somebody_elses, NULL);
}

#define namesake_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		namesake_test(they_get_one_handle_whoever_is_told_first),
		namesake_test(what_one_drops_the_other_has),
		namesake_test(what_one_has_released_the_other_does_not_believe_in),
		namesake_test(their_place_stays_until_the_last_gives_up),
		namesake_test(their_place_ends_when_the_store_is_closed),
		namesake_test(a_cancelled_one_leaves_the_grant_to_the_other_P5),
		namesake_test(the_last_gives_back_what_nobody_took_P5),
		namesake_test(what_another_process_holds_is_left_alone),
	};

	return RUN_TESTS(tests);
}

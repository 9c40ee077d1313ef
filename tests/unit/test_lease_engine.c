/* lease: what this layer does with an engine that is slow, fails, or cannot be reached: one that
 * the test plays itself. */
#include "base/alloc.h"
#include "base/print.h"
#include "lease/lease.h"
#include "lease/op.h"
#include "support/acquirer.h"
#include "support/idle_agent.h"
#include "support/leases.h"

static struct weir__op *kept;     /* one that was not answered yet */
static struct weir_sem submitted; /* a permit for each */
static int renew_result;
static int release_result;
static int open_result;
static bool answers_requests;
static bool ends_before_it_begins;
static weir_time slowness; /* of its answers to requests and renewals */
static uint32_t renewals;
static uint32_t releases;

static int open_fake(struct weir_store *store, const struct weir__url *url, char **ret_error)
{
	assert_string_equal(url->scheme, "fake");
	assert_string_equal(url->rest, "//user:secret@host");
	if (open_result < 0) {
		*ret_error = weir__format_new("the host says no");
		return open_result;
	}
	return idle_agent_open(store);
}

static void grant(struct weir__op *op)
{
	if (slowness != 0)
		assert_int_equal(weir_sleep(slowness), 0);
	op->grant = (struct weir__grant){ .weight = op->weight,
					  .fence = 1,
					  .left = op->ttl,
					  .ttl = op->ttl,
					  .hard_left = WEIR_NEVER };
	memcpy(op->grant.token, op->token, WEIR_TOKEN_SIZE);
	weir__op_answer(op, 0);
}

static void submit(struct weir_store *store, struct weir__op *op)
{
	if (op->verb == WEIR__REQUEST && answers_requests) {
		if (ends_before_it_begins)
			weir__store_lost(store, op->token);
		grant(op);
	} else if (op->verb == WEIR__RENEW) {
		int result = __atomic_load_n(&renew_result, __ATOMIC_RELAXED);

		(void)__atomic_add_fetch(&renewals, 1, __ATOMIC_RELAXED);
		(void)weir_sem_release(&submitted, 1);
		if (result == 0)
			grant(op);
		else
			weir__op_answer(op, result);
	} else if (op->verb == WEIR__RELEASE) {
		(void)__atomic_add_fetch(&releases, 1, __ATOMIC_RELAXED);
		if (release_result < 0)
			op->error = weir__format_new("in the engine's own words");
		weir__op_answer(op, release_result);
	} else {
		kept = op;
		(void)weir_sem_release(&submitted, 1);
	}
}

static void withdraw(struct weir_store *store, struct weir__op *op)
{
	(void)store;
	assert_ptr_equal(op, kept);
	weir__op_answer(op, op->give_up);
}

static int bind_fake(struct weir_store *store, struct weir_lease *lease, char **ret_error)
{
	(void)store;
	(void)lease;
	*ret_error = weir__format_new("no room for a pipe");
	return -ENOSPC;
}

static const struct weir__engine fake = {
	.scheme = "fake",
	.open = open_fake,
	.close = idle_agent_close,
	.submit = submit,
	.withdraw = withdraw,
	.bind = bind_fake,
};
static const struct weir__engine *const engines[] = { &fake, NULL };

static struct weir_store *store;

static int start(void **state)
{
	(void)state;
	kept = NULL;
	renew_result = release_result = open_result = 0;
	renewals = releases = 0;
	answers_requests = true;
	ends_before_it_begins = false;
	slowness = 0;
	assert_int_equal(weir_sem_init(&submitted, 1000), 0);
	assert_int_equal(weir_sem_acquire(&submitted, 1000), 0);
	return weir__store_open("fake://user:secret@host?min_ttl=10ms", engines, &store);
}

static int stop(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

static void note(struct weir_lease *lease, void *arg)
{
	(void)lease;
	(void)weir_sem_release(arg, 1);
}

TEST(an_engine_that_does_not_open_says_why)
{
	struct weir_store *untouched = NULL;

	open_result = -EHOSTUNREACH;
	assert_int_equal(weir__store_open("fake://user:secret@host", engines, &untouched),
			 -EHOSTUNREACH);
	assert_null(untouched);
	assert_string_equal(weir_store_error(NULL), "the host says no");
}

/* Until there have been so many. The life of the lease is longer than machines stall. */
static void await_renewals(struct weir_lease *lease, uint32_t count)
{
	while (weir_lease_held(lease) && __atomic_load_n(&renewals, __ATOMIC_RELAXED) < count) {
		int error = weir_sem_acquire_until(&submitted, 1, weir_after(60 * WEIR_MS));

		assert_true(error == 0 || error == -ETIMEDOUT);
	}
	assert_true(weir_lease_held(lease));
}

TEST(a_renewal_that_fails_is_tried_again_CHECKLIST_32)
{
	struct weir_request request = { .name = "a", .ttl = 2 * WEIR_SECOND, .keepalive = true };
	struct weir_lease *lease;

	renew_result = -EHOSTUNREACH;
	lease = acquire(store, &request);
	await_renewals(lease, 2);
	__atomic_store_n(&renew_result, 0, __ATOMIC_RELAXED);
	await_renewals(lease, 4);
	weir_lease_unref(lease);
}

/* One that is kept, with an engine that answers renewals so, until its loss is told. */
static struct weir_lease *lose(weir_time ttl, int renewals_end)
{
	struct weir_sem told;
	struct weir_request request = {
		.name = "a", .ttl = ttl, .keepalive = true, .on_lost = note, .on_lost_arg = &told
	};
	struct weir_lease *lease;

	assert_int_equal(weir_sem_init(&told, 1), 0);
	assert_int_equal(weir_sem_acquire(&told, 1), 0);
	renew_result = renewals_end;
	lease = acquire(store, &request);
	assert_int_equal(weir_sem_acquire(&told, 1), 0);
	return lease;
}

TEST(an_engine_that_stays_away_costs_the_lease_at_its_deadline_CHECKLIST_38)
{
	struct weir_lease *lease = lose(20 * WEIR_MS, -EHOSTUNREACH);

	assert_false(weir_lease_held(lease));
	weir_lease_unref(lease);
}

TEST(a_lease_that_the_engine_does_not_know_is_lost_at_once)
{
	struct weir_sem told;
	struct weir_request request = {
		.name = "a", .ttl = 30 * WEIR_SECOND, .on_lost = note, .on_lost_arg = &told
	};
	struct weir_lease *lease;

	assert_int_equal(weir_sem_init(&told, 1), 0);
	assert_int_equal(weir_sem_acquire(&told, 1), 0);
	lease = acquire(store, &request);
	renew_result = -ESTALE;
	assert_int_equal(weir_renew(lease, 0), -ESTALE);
	assert_int_equal(weir_sem_acquire(&told, 1), 0);
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
	assert_int_equal(releases, 0); /* there is nothing to release */
}

TEST(a_release_that_fails_speaks_the_engines_words)
{
	struct weir_request request = { .name = "a" };
	struct weir_lease *lease = acquire(store, &request);

	release_result = -EHOSTUNREACH;
	assert_int_equal(weir_release(lease), -EHOSTUNREACH);
	assert_string_equal(weir_store_error(store), "in the engine's own words");
	assert_false(weir_lease_held(lease));
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
	assert_int_equal(releases, 1);
}

TEST(dropping_a_lease_releases_it_without_waiting)
{
	struct weir_request request = { .name = "a" };

	weir_lease_unref(acquire(store, &request));
	assert_int_equal(releases, 1);
	release_result = -EHOSTUNREACH;
	weir_lease_unref(acquire(store, &request));
	assert_int_equal(releases, 2);
}

TEST(a_failed_binding_is_told_in_words)
{
	struct weir_request request = { .name = "a" };
	struct weir_lease *lease = acquire(store, &request);

	assert_int_equal(weir_lease_bind_fd(lease), -ENOSPC);
	assert_string_equal(weir_store_error(store), "no room for a pipe");
	release(lease);
}

static void *ask(void *arg)
{
	struct weir_request request = { .name = "a", .deadline = WEIR_NEVER };
	struct weir_lease *lease = NULL;

	*(int *)arg = weir_acquire(store, &request, &lease);
	weir_lease_unref(lease);
	return NULL;
}

/* CHECKLIST 36: news of the end may come before the grant has been looked at. */
TEST(a_lease_that_ended_before_it_began_is_not_held)
{
	struct weir_request request = { .name = "a" };

	for (int i = 0; i < 2; i++) {
		struct weir_lease *lease;

		ends_before_it_begins = i == 1;
		lease = acquire(store, &request);
		if (i == 0)
			weir__store_lost(store, info_of(lease).token);
		assert_false(weir_lease_held(lease));
		assert_int_equal(weir_release(lease), -ESTALE);
		weir_lease_unref(lease);
	}
	assert_int_equal(releases, 0);
}

/* L5: also when the answer took longer than the guard. */
TEST(a_life_is_counted_from_before_the_question_CHECKLIST_33)
{
	struct weir_request request = { .name = "a", .ttl = 60 * WEIR_SECOND };
	struct weir_store *strict;
	struct weir_lease *lease;

	assert_int_equal(weir__store_open("fake://user:secret@host?guard=1ms", engines, &strict),
			 0);
	slowness = 50 * WEIR_MS;
	lease = acquire(strict, &request);
	assert_true(info_of(lease).left <= request.ttl - slowness);
	assert_int_equal(weir_renew(lease, 2 * request.ttl), 0);
	assert_true(info_of(lease).left <= 2 * request.ttl - slowness);
	slowness = 0;
	release(lease);
	weir_store_close(strict);
}

TEST(an_answer_after_the_deadline_brings_nothing_back_CHECKLIST_34)
{
	struct weir_request request = { .name = "a", .ttl = 20 * WEIR_MS };
	struct weir_lease *lease = acquire(store, &request);

	slowness = 25 * WEIR_MS;
	assert_int_equal(weir_renew(lease, WEIR_SECOND), -ESTALE);
	assert_false(weir_lease_held(lease));
	weir_lease_unref(lease);
}

/* With a renewal that finds it gone it is known to be lost, and not asked for again. */
TEST(a_keeper_that_learns_of_the_end_asks_no_more_CHECKLIST_38)
{
	struct weir_lease *lease = lose(200 * WEIR_MS, -ESTALE);

	assert_true(__atomic_load_n(&renewals, __ATOMIC_RELAXED) <= 1);
	weir_lease_unref(lease);
}

TEST(closing_a_store_ends_what_the_engine_has_not_answered)
{
	pthread_t thread;
	int result = 0;

	answers_requests = false;
	thread = start_thread(ask, &result);
	assert_int_equal(weir_sem_acquire(&submitted, 1), 0);
	weir_store_close(store);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(result, -ESHUTDOWN);
	(void)start(NULL);
}

/* P5: whoever gave up waits for the answer all the same, and it may be a grant. */
TEST(an_answer_that_comes_after_the_deadline_is_the_answer_P5)
{
	struct weir__op late = { .done = weir__op_wake };

	assert_int_equal(weir__op_wait_until(&late, weir_after(WEIR_MS)), -ETIMEDOUT);
	weir__op_answer(&late, 0);
	weir__op_wait(&late);
	assert_int_equal(late.result, 0);
}

#define engine_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		engine_test(an_engine_that_does_not_open_says_why),
		engine_test(a_renewal_that_fails_is_tried_again_CHECKLIST_32),
		engine_test(an_engine_that_stays_away_costs_the_lease_at_its_deadline_CHECKLIST_38),
		engine_test(a_lease_that_the_engine_does_not_know_is_lost_at_once),
		engine_test(a_release_that_fails_speaks_the_engines_words),
		engine_test(dropping_a_lease_releases_it_without_waiting),
		engine_test(a_failed_binding_is_told_in_words),
		engine_test(a_lease_that_ended_before_it_began_is_not_held),
		engine_test(a_life_is_counted_from_before_the_question_CHECKLIST_33),
		engine_test(an_answer_after_the_deadline_brings_nothing_back_CHECKLIST_34),
		engine_test(a_keeper_that_learns_of_the_end_asks_no_more_CHECKLIST_38),
		engine_test(closing_a_store_ends_what_the_engine_has_not_answered),
		engine_test(an_answer_that_comes_after_the_deadline_is_the_answer_P5),
	};

	return RUN_TESTS(tests);
}

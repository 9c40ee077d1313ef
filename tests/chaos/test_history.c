/* The checker of histories is checked: it accepts what is right, and each of its checks finds a
 * wrong history that no other check finds. */
#include "chaos/generate.h"
#include "chaos/history.h"
#include "support/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- small histories by hand --------------------------------------------------------------------
 */

enum { MOST = 32 };

static struct history_op list[MOST];
static struct history small;

static struct history_op *op(enum history_kind kind, int64_t inv, int64_t ret)
{
	list[small.n] = (struct history_op){ .kind = (uint8_t)kind, .inv = inv, .ret = ret };
	return &list[small.n++];
}

static struct history_op *acquired(int64_t inv, int64_t ret, uint64_t token, uint32_t slot,
				   uint64_t fence)
{
	struct history_op *a = op(HISTORY_ACQUIRE, inv, ret);

	a->weight = 1;
	a->ttl = 100;
	a->token = token;
	a->slot = slot;
	a->fence = fence;
	a->client = (uint32_t)token;
	a->request = token;
	return a;
}

static struct history_op *on(enum history_kind kind, int64_t inv, int64_t ret, uint64_t token)
{
	struct history_op *o = op(kind, inv, ret);

	o->token = token;
	o->client = (uint32_t)token;
	o->ttl = 100;
	return o;
}

static void begin(uint32_t limit)
{
	small = (struct history){ .ops = list, .slack = 20, .guard = 5 };
	op(HISTORY_RESIZE, 0, 1)->limit = limit;
}

static struct history_report report_of(const struct history *history)
{
	struct history_report report;

	assert_int_equal(history_check(history, &report), 0);
	return report;
}

static void assert_right(void)
{
	assert_int_equal(report_of(&small).found[0], 0);
}

/* Found by this check, and by this one alone. */
static void assert_only(int check)
{
	struct history_report report = report_of(&small);

	for (int i = 1; i <= HISTORY_CHECKS; i++)
		assert_int_equal(report.found[i] > 0, i == check);
}

TEST(LIMIT_alone_finds_one_too_many_L1)
{
	begin(2);
	acquired(10, 12, 1, 0, 1);
	acquired(13, 15, 2, 1, 2);
	assert_right();
	acquired(16, 18, 3, 1, 3)->weight = 1;
	list[3].slot = 0; /* so that all slots are below the limit, let it be the slot */
	assert_only(1);
	begin(3);
	acquired(10, 12, 1, 0, 1)->weight = 2;
	acquired(13, 15, 2, 1, 2)->weight = 2;
	assert_only(1);
	begin(2);
	acquired(10, 12, 1, 0, 1);
	acquired(13, 15, 2, 2, 2); /* a slot that does not exist (L2) */
	assert_only(1);
}

TEST(LIMIT_lets_a_lowered_limit_revoke_nobody_P1)
{
	begin(2);
	acquired(10, 12, 1, 0, 1);
	acquired(13, 15, 2, 1, 2);
	op(HISTORY_RESIZE, 20, 21)->limit = 1;
	on(HISTORY_RENEW, 30, 31, 1);
	assert_right();
	on(HISTORY_RELEASE, 40, 41, 1);
	acquired(50, 52, 3, 0, 3); /* but nobody is granted meanwhile */
	assert_only(1);
}

TEST(FENCES_alone_finds_one_that_falls_L2)
{
	begin(2);
	acquired(10, 12, 1, 0, 5);
	acquired(13, 15, 2, 1, 4);
	assert_only(2);
	list[2].inv = 11; /* at the same time it may be */
	assert_right();
	list[2].fence = 5; /* the same is never right */
	assert_only(2);
}

TEST(STABLE_alone_finds_a_fence_that_changes_L4)
{
	begin(2);
	acquired(10, 12, 1, 0, 5);
	acquired(13, 15, 1, 0, 5);
	assert_right();
	list[2].fence = 6;
	assert_only(3);
	list[2].fence = 5;
	list[2].slot = 1;
	assert_only(3);
}

TEST(ORDER_alone_finds_one_who_overtakes_L7)
{
	begin(1);
	acquired(10, 12, 1, 0, 1);
	acquired(13, 60, 2, 0, 3)->flags = HISTORY_WAITED;
	struct history_op *seen = op(HISTORY_SEEN, 14, 16);
	seen->request = 2;
	on(HISTORY_RELEASE, 40, 41, 1);
	acquired(30, 44, 3, 0, 2)->flags = HISTORY_WAITED;
	on(HISTORY_RELEASE, 50, 51, 3);
	assert_only(4);
	seen->ret = 31; /* perhaps it was seen after the other had come */
	assert_right();
	seen->ret = 16;
	list[2].flags |= HISTORY_STOPPED; /* or had lost its place */
	assert_right();
}

TEST(ORDER_allows_for_a_grant_that_nobody_was_told_of)
{
	struct history_op *overtaken, *other;

	begin(1);
	small.slack = HISTORY_NEVER;
	acquired(10, 12, 1, 0, 1);
	on(HISTORY_RELEASE, 40, 41, 1);
	overtaken = acquired(13, 160, 2, 0, 4);
	overtaken->flags = HISTORY_WAITED;
	op(HISTORY_SEEN, 14, 16)->request = 2;
	other = acquired(30, 60, 3, 0, 3);
	other->flags = HISTORY_WAITED;
	on(HISTORY_RELEASE, 61, 62, 3);
	assert_right(); /* the fence 2 may have been its, and have expired */
	overtaken->ret = 100;
	assert_only(4); /* not so soon */
	overtaken->ret = 160;
	overtaken->fence = 3;
	other->fence = 2;
	assert_only(4); /* not if all are known */
}

TEST(REFUSAL_alone_finds_a_try_that_must_have_fitted)
{
	struct history_op *try;

	begin(2);
	acquired(10, 12, 1, 0, 1);
	try = op(HISTORY_ACQUIRE, 20, 22);
	try->weight = 1;
	try->result = -EAGAIN;
	assert_only(5);
	try->weight = 2;
	assert_right();
	on(HISTORY_RELEASE, 15, 16, 1);
	assert_only(5);
	list[3].ret = 20; /* perhaps not yet */
	assert_right();
	list[3].ret = 16;
	acquired(19, 23, 2, 0, 2)->flags = HISTORY_WAITED; /* perhaps one was in the queue */
	assert_right();
}

TEST(IDLE_alone_finds_a_waiter_who_was_forgotten_L8)
{
	begin(1);
	acquired(10, 12, 1, 0, 1);
	on(HISTORY_RELEASE, 30, 31, 1);
	acquired(13, 40, 2, 0, 2)->flags = HISTORY_WAITED;
	assert_right();
	list[3].ret = 54;
	assert_only(6);
	struct history_op *before = op(HISTORY_ACQUIRE, 12, 51); /* perhaps one was before it */
	before->weight = 1;
	before->result = -ETIMEDOUT;
	before->flags = HISTORY_WAITED;
	assert_right();
}

TEST(IDLE_knows_that_the_dead_hold_nothing_L11)
{
	begin(1);
	acquired(10, 12, 1, 0, 1);
	op(HISTORY_DEATH, 30, 31)->client = 1;
	acquired(13, 60, 2, 0, 2)->flags = HISTORY_WAITED;
	assert_right(); /* where the TTL must run out */
	small.deaths_free_at_once = true;
	assert_only(6);
}

TEST(TOKEN_alone_finds_a_token_that_is_good_after_its_end_L3)
{
	begin(1);
	acquired(10, 12, 1, 0, 1);
	on(HISTORY_RENEW, 112, 113, 1); /* at the very end it may have been in time */
	assert_right();
	list[2].inv = 113;
	assert_only(7);
	begin(1);
	acquired(10, 12, 1, 0, 1);
	on(HISTORY_RELEASE, 20, 21, 1);
	on(HISTORY_RELEASE, 30, 31, 1)->result = -ESTALE;
	assert_right();
	list[3].result = 0;
	assert_only(7);
	begin(1);
	on(HISTORY_RELEASE, 30, 31, 1); /* never granted */
	assert_only(7);
	begin(1); /* somebody else has its slot */
	acquired(10, 12, 1, 0, 1)->max_hold = 30;
	acquired(41, 43, 2, 0, 2);
	on(HISTORY_EVICT, 41, 45, 1);
	assert_right();
	list[3].inv = 44;
	list[3].ret = 45;
	assert_only(7);
}

TEST(IDENTITY_alone_finds_two_leases_of_one_request_L4)
{
	begin(2);
	acquired(10, 12, 1, 0, 1);
	acquired(13, 15, 2, 1, 2);
	list[2].request = 1;
	assert_only(8);
	on(HISTORY_RELEASE, 14, 20, 1); /* perhaps it was released just before */
	assert_right();
}

TEST(HONESTY_alone_finds_a_client_that_believes_too_long_L5)
{
	begin(1);
	acquired(10, 12, 1, 0, 1);
	on(HISTORY_HELD, 104, 104, 1);
	assert_right();
	list[2].inv = list[2].ret = 105;
	assert_only(9);
	on(HISTORY_RENEW, 50, 51, 1);
	assert_right();
	on(HISTORY_RELEASE, 60, 61, 1);
	assert_only(9);
}

TEST(END_alone_finds_what_is_left_over_L9)
{
	struct history_op *end;

	begin(1);
	acquired(10, 12, 1, 0, 7);
	end = op(HISTORY_END, 500, 501);
	end->fence = 7;
	assert_right();
	end->fence = 6;
	assert_only(10);
	end->fence = 7;
	end->weight = 1;
	assert_only(10);
	end->weight = 0;
	end->slot = 1;
	assert_only(10);
}

TEST(what_is_not_known_accuses_nobody_L6)
{
	struct history_op *lost;

	begin(1);
	lost = acquired(10, HISTORY_NEVER, 0, 0, 0);
	lost->client = 9;
	acquired(11, 20, 2, 0, 1);
	op(HISTORY_DEATH, 12, 13)->client = 9;
	on(HISTORY_RENEW, 15, HISTORY_NEVER, 2);
	assert_right();
}

/* ---- histories by the million -------------------------------------------------------------------
 */

static void assert_accepted(const struct history *history)
{
	struct history_report report = report_of(history);

	if (report.found[0] > 0) {
		(void)fprintf(stderr, "%s:\n", history_check_name(report.first.check));
		history_write_op(stderr, &history->ops[report.first.op]);
		history_write_op(stderr, &history->ops[report.first.other]);
	}
	assert_int_equal(report.found[0], 0);
}

TEST(what_is_right_is_accepted)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rng rng = { seed };
		struct generate how = { .steps = 2000,
					.ttl = 60,
					.clients = 2 + (uint32_t)seed % 9,
					.limit = 1 + (uint32_t)seed % 4,
					.delay = (int64_t)seed % 7,
					.kills = seed % 3 == 0,
					.resizes = seed % 5 == 0 && seed % 4 != 0 };
		struct history history;

		generate(&rng, &how, &history);
		assert_accepted(&history);
		free(history.ops);
	}
}

TEST(a_million_operations_are_checked_and_judged)
{
	struct rng rng = { 42 };
	struct generate how = { .steps = 2200000, .clients = 8, .limit = 4, .delay = 3, .ttl = 60 };
	struct history history;
	struct history_report report;

	generate(&rng, &how, &history);
	assert_true(history.n > 1000000);
	report = report_of(&history);
	(void)printf("%zu operations, %zu leases; judged: %zu tries, %zu waits, %zu places\n",
		     history.n, report.leases, report.tries_judged, report.waits_judged,
		     report.order_judged);
	assert_accepted(&history);
	assert_true(report.tries_judged > 1000 && report.waits_judged > 1000 &&
		    report.order_judged > 1000);
	free(history.ops);
}

TEST(a_history_is_written_and_read_as_it_was)
{
	struct rng rng = { 7 };
	struct generate how = {
		.steps = 3000, .clients = 5, .limit = 2, .delay = 3, .ttl = 60, .kills = true
	};
	struct history history, again;
	FILE *file = tmpfile();
	size_t line;

	assert_non_null(file);
	generate(&rng, &how, &history);
	assert_int_equal(history_write(file, &history), 0);
	rewind(file);
	assert_int_equal(history_read(file, &again, &line), 0);
	assert_int_equal(again.n, history.n);
	for (size_t i = 0; i < again.n; i++) {
		assert_int_equal(again.ops[i].inv, history.ops[i].inv);
		assert_int_equal(again.ops[i].ret, history.ops[i].ret);
		assert_int_equal(again.ops[i].fence, history.ops[i].fence);
		assert_int_equal(again.ops[i].flags, history.ops[i].flags);
	}
	free(again.ops);
	free(history.ops);
	(void)fputs("a 0 0 nonsense\n", file);
	rewind(file);
	assert_int_equal(history_read(file, &again, &line), -EINVAL);
	(void)fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(LIMIT_alone_finds_one_too_many_L1),
		cmocka_unit_test(LIMIT_lets_a_lowered_limit_revoke_nobody_P1),
		cmocka_unit_test(FENCES_alone_finds_one_that_falls_L2),
		cmocka_unit_test(STABLE_alone_finds_a_fence_that_changes_L4),
		cmocka_unit_test(ORDER_alone_finds_one_who_overtakes_L7),
		cmocka_unit_test(ORDER_allows_for_a_grant_that_nobody_was_told_of),
		cmocka_unit_test(REFUSAL_alone_finds_a_try_that_must_have_fitted),
		cmocka_unit_test(IDLE_alone_finds_a_waiter_who_was_forgotten_L8),
		cmocka_unit_test(IDLE_knows_that_the_dead_hold_nothing_L11),
		cmocka_unit_test(TOKEN_alone_finds_a_token_that_is_good_after_its_end_L3),
		cmocka_unit_test(IDENTITY_alone_finds_two_leases_of_one_request_L4),
		cmocka_unit_test(HONESTY_alone_finds_a_client_that_believes_too_long_L5),
		cmocka_unit_test(END_alone_finds_what_is_left_over_L9),
		cmocka_unit_test(what_is_not_known_accuses_nobody_L6),
		cmocka_unit_test(what_is_right_is_accepted),
		cmocka_unit_test(a_million_operations_are_checked_and_judged),
		cmocka_unit_test(a_history_is_written_and_read_as_it_was),
	};

	return RUN_TESTS(tests);
}

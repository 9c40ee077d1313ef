/* lease: how a lease ends that nobody has released, and who is told of it. */
#include "support/short_lives.h"

struct news {
	struct weir_sem told;
	struct weir_lease *lease;
	int times;
	bool drop; /* the handle, from within */
};

static void note(struct weir_lease *lease, void *arg)
{
	struct news *news = arg;

	/* It may come before weir_acquire has returned, so news->lease is not looked at here. */
	assert_false(weir_lease_held(lease));
	news->times++;
	if (news->drop)
		weir_lease_unref(lease);
	(void)weir_sem_release(&news->told, 1);
}

static void expect(struct news *news, struct weir_request *request)
{
	*news = (struct news){ .drop = false };
	assert_int_equal(weir_sem_init(&news->told, 1), 0);
	assert_int_equal(weir_sem_acquire(&news->told, 1), 0);
	request->on_lost = note;
	request->on_lost_arg = news;
}

TEST(max_hold_is_the_hard_end)
{
	struct weir_request request = { .name = "a",
					.limit = 1,
					.ttl = 60 * WEIR_SECOND,
					.max_hold = 20 * WEIR_MS,
					.keepalive = true };
	struct news news;

	expect(&news, &request);
	news.lease = acquire(store, &request);
	assert_true(info_of(news.lease).left < 20 * WEIR_MS);
	assert_int_equal(weir_sem_acquire(&news.told, 1), 0);
	assert_int_equal(weir_renew(news.lease, 0), -ESTALE);
	weir_lease_unref(news.lease);
	assert_int_equal(news.times, 1);
}

/* CHECKLIST 38: and the holder is told, once. */
TEST(a_lease_that_runs_out_is_lost_for_good_L3)
{
	struct weir_request request = { .name = "a", .limit = 1, .ttl = 15 * WEIR_MS };
	struct weir_request patient = { .name = "a", .deadline = WEIR_NEVER };
	struct weir_lease *next;
	struct news news;

	expect(&news, &request);
	news.lease = acquire(store, &request);
	assert_int_equal(weir_sem_acquire(&news.told, 1), 0);
	assert_false(weir_lease_held(news.lease));
	next = acquire(store, &patient);
	assert_int_equal(weir_renew(news.lease, 0), -ESTALE);
	assert_int_equal(weir_release(news.lease), -ESTALE);
	assert_true(weir_lease_held(next));
	weir_lease_unref(news.lease);
	assert_int_equal(news.times, 1);
	release(next);
	assert_int_equal(look(store, "a").expired, 1);
}

/* L5: a guard of nearly all of the TTL shows which side's end came. CHECKLIST 33, 34. */
TEST(this_side_stops_believing_first_L5)
{
	struct weir_store *cautious = open_store("memory:?min_ttl=30s&guard=29.99s");
	struct weir_request request = { .name = "a", .limit = 1 };
	struct news news;

	expect(&news, &request);
	news.lease = acquire(cautious, &request);
	assert_int_equal(weir_sem_acquire(&news.told, 1), 0);
	assert_int_equal(look(cautious, "a").held, 1);
	/* The store would renew it; too late is too late. */
	assert_int_equal(weir_renew(news.lease, 0), -ESTALE);
	assert_false(weir_lease_held(news.lease));
	/* What nobody believes in is given back. */
	weir_lease_unref(news.lease);
	assert_int_equal(look(cautious, "a").held, 0);
	weir_store_close(cautious);
}

TEST(keepalive_outlives_many_ttls)
{
	struct weir_request request = {
		.name = "a", .limit = 1, .ttl = 30 * WEIR_MS, .keepalive = true
	};
	struct weir_request patient = { .name = "a", .deadline = weir_after(200 * WEIR_MS) };
	struct weir_lease *untouched = NULL;
	struct news news;
	int result;

	expect(&news, &request);
	news.lease = acquire(store, &request);
	result = weir_acquire(store, &patient, &untouched);
	/* A machine that stalls for a whole TTL may lose it; then it says so. */
	if (result == -ETIMEDOUT) {
		assert_true(weir_lease_held(news.lease));
		assert_int_equal(weir_release(news.lease), 0);
		assert_int_equal(news.times, 0);
	} else {
		assert_int_equal(result, 0);
		assert_false(weir_lease_held(news.lease));
	}
	weir_lease_unref(untouched);
	weir_lease_unref(news.lease);
	assert_account(store, "a", 0, 0);
}

TEST(an_evicted_holder_is_told)
{
	struct weir_request request = { .name = "a", .limit = 1, .keepalive = true };
	struct news news;

	expect(&news, &request);
	news.lease = acquire(store, &request);
	assert_int_equal(weir_evict(store, "a", info_of(news.lease).token), 0);
	assert_int_equal(weir_sem_acquire(&news.told, 1), 0);
	assert_int_equal(weir_release(news.lease), -ESTALE);
	weir_lease_unref(news.lease);
	assert_int_equal(news.times, 1);
}

TEST(a_holder_is_told_whoever_has_adopted_its_lease)
{
	for (int i = 0; i < 2; i++) {
		struct weir_request request = { .name = "a", .limit = 1 };
		struct weir_lease *adopted[2] = { NULL, NULL };
		struct news news;

		expect(&news, &request);
		news.lease = acquire(store, &request);
		for (int j = 0; j < 2; j++)
			assert_int_equal(weir_lease_adopt(store, "a", info_of(news.lease).token,
							  &adopted[j]),
					 0);
		if (i == 0)
			assert_int_equal(weir_evict(store, "a", info_of(news.lease).token), 0);
		else
			assert_int_equal(weir_release(adopted[0]), 0);
		assert_int_equal(weir_sem_acquire(&news.told, 1), 0);
		assert_false(weir_lease_held(news.lease));
		for (int j = 0; j < 2; j++) {
			assert_false(weir_lease_held(adopted[j]));
			weir_lease_unref(adopted[j]);
		}
		weir_lease_unref(news.lease);
		assert_int_equal(news.times, 1);
	}
}

TEST(whoever_is_told_may_drop_the_handle)
{
	struct weir_request request = { .name = "a", .limit = 1, .ttl = 10 * WEIR_MS };
	struct news news;

	expect(&news, &request);
	news.drop = true;
	news.lease = acquire(store, &request);
	assert_int_equal(weir_sem_acquire(&news.told, 1), 0);
	assert_int_equal(news.times, 1);
}

TEST(a_release_is_no_loss)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct news news;

	expect(&news, &request);
	news.lease = acquire(store, &request);
	release(news.lease);
	assert_int_equal(news.times, 0);
}

/* What any one system must pass, 3: the inner one expires, the outer one must stay held. */
TEST(leases_of_one_name_are_a_stack)
{
	struct weir_request request = { .name = "a", .limit = 3 };
	struct weir_lease *outer = acquire(store, &request);
	struct weir_lease *inner;
	struct news news;

	assert_int_equal(weir_release_last(store, "b"), -ENOENT);
	inner = acquire(store, &request);
	assert_int_equal(weir_release_last(store, "a"), 0);
	assert_false(weir_lease_held(inner));
	assert_true(weir_lease_held(outer));
	weir_lease_unref(inner);

	request.ttl = 10 * WEIR_MS;
	expect(&news, &request);
	news.lease = acquire(store, &request);
	assert_int_equal(weir_sem_acquire(&news.told, 1), 0);
	assert_int_equal(weir_release_last(store, "a"), -ESTALE);
	weir_lease_unref(news.lease);
	assert_true(weir_lease_held(outer));

	/* One that was released by its handle, or dropped, is on it no more. */
	request = (struct weir_request){ .name = "a" };
	release(acquire(store, &request));
	weir_lease_unref(acquire(store, &request));
	assert_int_equal(weir_release_last(store, "a"), 0);
	assert_false(weir_lease_held(outer));
	assert_int_equal(weir_release_last(store, "a"), -ENOENT);
	weir_lease_unref(outer);
}

TEST(a_closed_store_has_lost_its_leases)
{
	struct weir_store *closed = open_store(STORE);
	struct weir_request request = { .name = "a", .limit = 2 };
	struct weir_lease *plain = acquire(closed, &request);
	struct news news;

	expect(&news, &request);
	request.keepalive = true;
	news.lease = acquire(closed, &request);
	weir_store_close(closed);
	assert_int_equal(news.times, 1);
	assert_false(weir_lease_held(plain));
	assert_int_equal(weir_renew(plain, 0), -ESTALE);
	assert_int_equal(weir_release(news.lease), -ESTALE);
	assert_string_equal(info_of(plain).name, "a");
	weir_lease_unref(news.lease);
	weir_lease_unref(plain);
}

TEST(a_loss_is_told_once)
{
	struct weir_store *closed = open_store(STORE);
	struct weir_request request = { .name = "a", .limit = 1 };
	struct news news;

	expect(&news, &request);
	news.lease = acquire(closed, &request);
	assert_int_equal(weir_evict(closed, "a", info_of(news.lease).token), 0);
	assert_int_equal(weir_sem_acquire(&news.told, 1), 0);
	weir_store_close(closed);
	assert_int_equal(news.times, 1);
	weir_lease_unref(news.lease);
}

#define life_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		life_test(max_hold_is_the_hard_end),
		life_test(a_lease_that_runs_out_is_lost_for_good_L3),
		life_test(this_side_stops_believing_first_L5),
		life_test(keepalive_outlives_many_ttls),
		life_test(an_evicted_holder_is_told),
		life_test(a_holder_is_told_whoever_has_adopted_its_lease),
		life_test(whoever_is_told_may_drop_the_handle),
		life_test(a_release_is_no_loss),
		life_test(leases_of_one_name_are_a_stack),
		life_test(a_closed_store_has_lost_its_leases),
		life_test(a_loss_is_told_once),
	};

	return RUN_TESTS(tests);
}

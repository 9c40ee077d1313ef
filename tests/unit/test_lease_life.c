/* lease: the life of a lease: renewal, loss, handles, stacks, ids. */
#include "support/leases.h"

#include <sys/wait.h>
#include <unistd.h>

/* Short lives, and a guard that makes the difference between the two ends visible. */
#define STORE "memory:?min_ttl=10ms&max_ttl=1h"

static struct weir_store *store;

static int start(void **state)
{
	(void)state;
	store = open_store(STORE);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

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

TEST(a_lease_knows_itself)
{
	struct weir_request request = { .name = "a",
					.limit = 3,
					.weight = 2,
					.owner = "me",
					.request_id = "id 1",
					.ttl = 60 * WEIR_SECOND };
	struct weir_lease *lease = acquire(store, &request);
	struct weir_lease_info info = info_of(lease);

	assert_string_equal(info.name, "a");
	assert_string_equal(info.owner, "me");
	assert_string_equal(info.request_id, "id 1");
	assert_int_equal(info.weight, 2);
	assert_int_equal(info.slot, 0);
	assert_int_equal(info.fence, look(store, "a").fence);
	assert_int_equal(info.ttl, 60 * WEIR_SECOND);
	/* L5: less the guard of 1 %. */
	assert_in_range(info.left, 1, 60 * WEIR_SECOND / 100 * 99);
	assert_int_equal(info.waited, 0);
	assert_true(info.held);
	release(lease);

	request = (struct weir_request){ .name = "a" };
	lease = acquire(store, &request);
	info = info_of(lease);
	assert_non_null(strchr(info.owner, '-'));
	assert_int_equal(strlen(info.request_id), 32);
	assert_int_equal(info.ttl, 30 * WEIR_SECOND);
	release(lease);
}

TEST(tokens_ids_and_fences_differ_L2)
{
	struct weir_request request = { .name = "a", .limit = 50 };
	struct weir_lease *leases[50];

	for (int i = 0; i < 50; i++)
		leases[i] = acquire(store, &request);
	for (int i = 0; i < 50; i++) {
		struct weir_lease_info a = info_of(leases[i]);

		assert_int_equal(a.slot, i);
		for (int j = 0; j < i; j++) {
			struct weir_lease_info b = info_of(leases[j]);

			assert_true(a.fence > b.fence);
			assert_memory_not_equal(a.token, b.token, WEIR_TOKEN_SIZE);
			assert_string_not_equal(a.request_id, b.request_id);
		}
	}
	for (int i = 0; i < 50; i++)
		release(leases[i]);
}

TEST(the_same_id_finds_the_same_lease_L4)
{
	struct weir_request request = { .name = "a", .limit = 1, .request_id = "x" };
	struct weir_lease *lease = acquire(store, &request);
	struct weir_lease *again;
	uint64_t fence = info_of(lease).fence;

	request.owner = "somebody else";
	again = acquire(store, &request);
	assert_ptr_equal(again, lease);
	assert_account(store, "a", 1, 0);
	weir_lease_unref(again);
	assert_true(weir_lease_held(lease));
	release(lease);
	lease = acquire(store, &request);
	assert_true(info_of(lease).fence > fence);
	release(lease);
}

TEST(the_same_id_finds_its_holders_handle_whoever_has_adopted_it_L4)
{
	struct weir_request request = { .name = "a", .limit = 1, .request_id = "x" };
	struct weir_lease *lease = acquire(store, &request);
	struct weir_lease *adopted = NULL;
	struct weir_lease *again;

	assert_int_equal(weir_lease_adopt(store, "a", info_of(lease).token, &adopted), 0);
	again = acquire(store, &request);
	assert_ptr_equal(again, lease);
	weir_lease_unref(adopted);
	weir_lease_unref(again);
	assert_account(store, "a", 1, 0);
	weir_lease_unref(lease);
	assert_account(store, "a", 0, 0);
}

TEST(the_same_id_after_its_end_is_a_new_request_L4)
{
	struct weir_request request = {
		.name = "a", .limit = 1, .request_id = "x", .ttl = 10 * WEIR_MS
	};
	struct weir_lease *lease = acquire(store, &request);
	struct weir_request other = { .name = "a", .deadline = WEIR_NEVER };
	struct weir_lease *next = acquire(store, &other);

	assert_refused(store, &request, -EAGAIN);
	release(next);
	next = acquire(store, &request);
	assert_ptr_not_equal(next, lease);
	assert_true(info_of(next).fence > info_of(lease).fence);
	assert_int_equal(weir_release(lease), -ESTALE); /* and the next one stays */
	weir_lease_unref(lease);
	assert_true(weir_lease_held(next));
	release(next);
}

TEST(renewing_extends_and_never_shortens)
{
	struct weir_request request = { .name = "a", .limit = 1, .ttl = 60 * WEIR_SECOND };
	struct weir_lease *lease = acquire(store, &request);
	uint64_t fence = info_of(lease).fence;

	assert_int_equal(weir_renew(lease, 10 * WEIR_SECOND), 0);
	assert_true(info_of(lease).left > 50 * WEIR_SECOND);
	assert_int_equal(weir_renew(lease, 600 * WEIR_SECOND), 0);
	assert_true(info_of(lease).left > 500 * WEIR_SECOND);
	assert_int_equal(weir_renew(lease, 0), 0);
	assert_true(info_of(lease).left > 500 * WEIR_SECOND);
	assert_int_equal(info_of(lease).fence, fence);
	release(lease);
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

TEST(dropping_the_last_handle_gives_it_back)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);

	assert_ptr_equal(weir_lease_ref(lease), lease);
	weir_lease_unref(lease);
	assert_account(store, "a", 1, 0);
	weir_lease_unref(lease);
	assert_account(store, "a", 0, 0);
}

TEST(an_adopted_lease_stays_its_holders)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);
	struct weir_lease *adopted = NULL;

	assert_int_equal(weir_lease_adopt(store, "a", info_of(lease).token, &adopted), 0);
	assert_int_equal(info_of(adopted).fence, info_of(lease).fence);
	assert_int_equal(info_of(adopted).ttl, info_of(lease).ttl);
	assert_true(weir_lease_held(adopted));
	assert_int_equal(weir_renew(adopted, 0), 0);
	weir_lease_unref(adopted);
	assert_true(weir_lease_held(lease));
	assert_account(store, "a", 1, 0);
	assert_int_equal(weir_lease_adopt(store, "a", info_of(lease).token, &adopted), 0);
	assert_int_equal(weir_release(adopted), 0);
	weir_lease_unref(adopted);
	assert_account(store, "a", 0, 0);
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
}

TEST(a_detached_lease_outlives_its_handle_and_its_store)
{
	struct weir_store *one = open_store("memory:detached");
	struct weir_store *other = open_store("memory:detached");
	struct weir_request request = { .name = "a", .limit = 1, .detached = true };
	struct weir_lease *lease = acquire(one, &request);
	struct weir_lease_info info = info_of(lease);
	uint8_t token[WEIR_TOKEN_SIZE];
	struct weir_lease *adopted = NULL;

	memcpy(token, info.token, sizeof(token));
	weir_lease_unref(lease);
	assert_account(one, "a", 1, 0);
	weir_store_close(one);
	assert_account(other, "a", 1, 0);
	assert_int_equal(weir_lease_adopt(other, "a", token, &adopted), 0);
	release(adopted);
	assert_account(other, "a", 0, 0);
	weir_store_close(other);
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

/* CHECKLIST 23. */
TEST(a_child_after_a_fork_cannot_use_the_parents_store)
{
	struct weir_request request = { .name = "a", .limit = 1, .keepalive = true };
	struct weir_lease *lease = acquire(store, &request);
	pid_t child = fork();
	int status;

	if (child == 0) {
		const struct weir_visitor visitor = { 0 };
		bool right = weir_ensure(store, "b", 1) == -ESHUTDOWN &&
			     weir_list(store, NULL, 0, &visitor, NULL) == -ESHUTDOWN &&
			     weir_renew(lease, 0) == -ESHUTDOWN &&
			     weir_release(lease) == -ESHUTDOWN && !weir_lease_held(lease);

		weir_lease_unref(lease);
		weir_store_close(store);
		_exit(right && weir_store_open("memory:", &store) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(weir_lease_held(lease));
	release(lease);
}

#define life_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		life_test(a_lease_knows_itself),
		life_test(tokens_ids_and_fences_differ_L2),
		life_test(the_same_id_finds_the_same_lease_L4),
		life_test(the_same_id_finds_its_holders_handle_whoever_has_adopted_it_L4),
		life_test(the_same_id_after_its_end_is_a_new_request_L4),
		life_test(renewing_extends_and_never_shortens),
		life_test(max_hold_is_the_hard_end),
		life_test(a_lease_that_runs_out_is_lost_for_good_L3),
		life_test(this_side_stops_believing_first_L5),
		life_test(keepalive_outlives_many_ttls),
		life_test(an_evicted_holder_is_told),
		life_test(a_holder_is_told_whoever_has_adopted_its_lease),
		life_test(whoever_is_told_may_drop_the_handle),
		life_test(a_release_is_no_loss),
		life_test(dropping_the_last_handle_gives_it_back),
		life_test(an_adopted_lease_stays_its_holders),
		life_test(a_detached_lease_outlives_its_handle_and_its_store),
		life_test(leases_of_one_name_are_a_stack),
		life_test(a_closed_store_has_lost_its_leases),
		life_test(a_loss_is_told_once),
		life_test(a_child_after_a_fork_cannot_use_the_parents_store),
	};

	return RUN_TESTS(tests);
}

/* lease: the life of a lease: ids, renewal, handles, and processes. */
#include "support/short_lives.h"

#include <sys/wait.h>
#include <unistd.h>

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
		life_test(dropping_the_last_handle_gives_it_back),
		life_test(an_adopted_lease_stays_its_holders),
		life_test(a_detached_lease_outlives_its_handle_and_its_store),
		life_test(a_child_after_a_fork_cannot_use_the_parents_store),
	};

	return RUN_TESTS(tests);
}

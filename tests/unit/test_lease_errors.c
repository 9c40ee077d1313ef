/* lease: every wrong use has its error, and changes nothing (P8). */
#include "support/leases.h"

static struct weir_store *store;

static int start(void **state)
{
	(void)state;
	store = open_store("memory:?max_limit=20&max_waiting=1");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

static void assert_url(const char *url, int error)
{
	struct weir_store *untouched = NULL;

	assert_int_equal(weir_store_open(url, &untouched), error);
	assert_null(untouched);
	assert_true(strlen(weir_store_error(NULL)) > 0);
}

TEST(a_url_that_is_not_understood_is_refused)
{
	static const char *const wrong[] = {
		"",
		"memory",
		":x",
		"nosuch:x",
		"memory:a b",
		"memory:?",
		"memory:?x=1",
		"memory:?min_ttl",
		"memory:?min_ttl=",
		"memory:?min_ttl=-1",
		"memory:?min_ttl=1x",
		"memory:?min_ttl=0",
		"memory:?min_ttl=1s&min_ttl=1s",
		"memory:?min_ttl=10s&max_ttl=5s",
		"memory:?default_ttl=2h",
		"memory:?default_ttl=100ms",
		"memory:?max_limit=0",
		"memory:?max_limit=1000001",
		"memory:?max_limit=ten",
		"memory:?max_waiting=0",
		"memory:?heartbeat=0",
		"memory:?guard=1s",
		"memory:?guard=0.5s&min_ttl=500ms",
		"memory:?min_ttl=1s&",
		"memory:?min_ttl=9223372037",
	};

	assert_url(NULL, -EINVAL);
	assert_int_equal(weir_store_open("memory:", NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_url(wrong[i], -EINVAL);
}

TEST(an_error_never_repeats_what_may_be_a_password)
{
	assert_url("nosuch://user:canary@host/", -EINVAL);
	assert_null(strstr(weir_store_error(NULL), "canary"));
	assert_url("memory:canary secret", -EINVAL);
	assert_null(strstr(weir_store_error(NULL), "secret"));
	assert_url("memory:?password=canary", -EINVAL);
	assert_null(strstr(weir_store_error(NULL), "canary"));
}

TEST(bounds_that_are_not_given_follow_those_that_are)
{
	struct weir_store *other = open_store("memory:?max_ttl=2s");
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(other, &request);

	assert_int_equal(info_of(lease).ttl, 2 * WEIR_SECOND);
	release(lease);
	weir_store_close(other);
	other = open_store("memory:?min_ttl=2h");
	lease = acquire(other, &request);
	assert_int_equal(info_of(lease).ttl, 7200 * WEIR_SECOND);
	release(lease);
	weir_store_close(other);
}

static char long_name[WEIR_NAME_MAX + 2];

TEST(names_are_checked)
{
	static const char *const right[] = { "a", "A-Z_0:9/x.y", "..", "/" };
	static const char *const wrong[] = { "",  " ",        "a b",   "a\n", "a@",
					     "#", "\xc3\xa4", "a\x7f", "%s" };

	memset(long_name, 'a', WEIR_NAME_MAX);
	assert_true(weir_name_valid(long_name));
	long_name[WEIR_NAME_MAX] = 'a';
	assert_false(weir_name_valid(long_name));
	assert_false(weir_name_valid(NULL));
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		assert_true(weir_name_valid(right[i]));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct weir_request request = { .name = wrong[i], .limit = 1 };
		const struct weir_visitor visitor = { 0 };
		uint8_t token[WEIR_TOKEN_SIZE] = { 0 };
		struct weir_lease *lease = NULL;

		assert_false(weir_name_valid(wrong[i]));
		assert_refused(store, &request, -EINVAL);
		assert_int_equal(weir_ensure(store, wrong[i], 1), -EINVAL);
		assert_int_equal(weir_set_limit(store, wrong[i], 1), -EINVAL);
		assert_int_equal(weir_evict(store, wrong[i], token), -EINVAL);
		assert_int_equal(weir_release_last(store, wrong[i]), -EINVAL);
		assert_int_equal(weir_lease_adopt(store, wrong[i], token, &lease), -EINVAL);
		assert_int_equal(weir_list(store, &wrong[i], 1, &visitor, NULL), -EINVAL);
	}
}

TEST(nothing_is_no_argument)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	const struct weir_visitor visitor = { 0 };
	uint8_t token[WEIR_TOKEN_SIZE] = { 0 };
	struct weir_lease *lease = NULL;

	assert_int_equal(weir_acquire(NULL, &request, &lease), -EINVAL);
	assert_int_equal(weir_acquire(store, NULL, &lease), -EINVAL);
	assert_int_equal(weir_acquire(store, &request, NULL), -EINVAL);
	assert_int_equal(weir_ensure(NULL, "a", 1), -EINVAL);
	assert_int_equal(weir_set_limit(NULL, "a", 1), -EINVAL);
	assert_int_equal(weir_evict(store, "a", NULL), -EINVAL);
	assert_int_equal(weir_evict(NULL, "a", token), -EINVAL);
	assert_int_equal(weir_reap(NULL, 1), -EINVAL);
	assert_int_equal(weir_list(NULL, NULL, 0, &visitor, NULL), -EINVAL);
	assert_int_equal(weir_list(store, NULL, 0, NULL, NULL), -EINVAL);
	assert_int_equal(weir_list(store, NULL, 1, &visitor, NULL), -EINVAL);
	assert_int_equal(weir_renew(NULL, 0), -EINVAL);
	assert_int_equal(weir_release(NULL), -EINVAL);
	assert_int_equal(weir_release_last(NULL, "a"), -EINVAL);
	assert_int_equal(weir_lease_bind_fd(NULL), -EINVAL);
	assert_int_equal(weir_lease_adopt(NULL, "a", token, &lease), -EINVAL);
	assert_int_equal(weir_lease_adopt(store, "a", NULL, &lease), -EINVAL);
	assert_int_equal(weir_lease_adopt(store, "a", token, NULL), -EINVAL);
	assert_false(weir_lease_held(NULL));
	weir_lease_unref(NULL);
	weir_store_close(NULL);
}

TEST(every_bound_of_a_request_is_checked)
{
	struct weir_request request = { .name = "a", .limit = 20, .weight = 20 };
	char words[WEIR_NAME_MAX + 2] = { 0 };

	release(acquire(store, &request));
	request.weight = 21;
	assert_refused(store, &request, -E2BIG);
	request = (struct weir_request){ .name = "a", .limit = 21 };
	assert_refused(store, &request, -EINVAL);
	request = (struct weir_request){ .name = "a", .ttl = WEIR_SECOND };
	release(acquire(store, &request));
	request.ttl = 3600 * WEIR_SECOND;
	release(acquire(store, &request));
	request.ttl++;
	assert_refused(store, &request, -EINVAL);
	request.ttl = WEIR_SECOND - 1;
	assert_refused(store, &request, -EINVAL);
	request.ttl = -1;
	assert_refused(store, &request, -EINVAL);
	request = (struct weir_request){ .name = "a", .max_hold = -1 };
	assert_refused(store, &request, -EINVAL);

	memset(words, 'x', WEIR_NAME_MAX);
	request = (struct weir_request){ .name = "a", .owner = words, .request_id = words };
	release(acquire(store, &request));
	words[WEIR_NAME_MAX] = 'x';
	assert_refused(store, &request, -EINVAL);
	request.owner = NULL;
	assert_refused(store, &request, -EINVAL);
	request.request_id = "a\nb";
	assert_refused(store, &request, -EINVAL);
	request.request_id = "  ";
	assert_refused(store, &request, -EINVAL);
	request = (struct weir_request){ .name = "a", .owner = "" };
	assert_refused(store, &request, -EINVAL);
	request = (struct weir_request){ .name = "a", .detached = true, .keepalive = true };
	assert_refused(store, &request, -EINVAL);
	request = (struct weir_request){ .name = "a", .cancel_on_lost = true };
	assert_refused(store, &request, -EINVAL);
	assert_account(store, "a", 0, 0);
}

TEST(limits_are_within_bounds_and_the_stored_one_counts_CHECKLIST_30)
{
	struct weir_request request = { .name = "a" };

	assert_int_equal(weir_ensure(store, "a", 0), -EINVAL);
	assert_int_equal(weir_ensure(store, "a", 21), -EINVAL);
	assert_refused(store, &request, -ENOENT);
	assert_int_equal(weir_set_limit(store, "a", 1), -ENOENT);
	assert_int_equal(weir_ensure(store, "a", 20), 1);
	assert_int_equal(weir_ensure(store, "a", 5), 0);
	assert_int_equal(look(store, "a").limit, 20);
	assert_int_equal(weir_set_limit(store, "a", 21), -EINVAL);
	request.limit = 3;
	assert_refused(store, &request, -EEXIST);
	assert_non_null(strstr(weir_store_error(store), "limit 20, not 3"));
	assert_int_equal(weir_set_limit(store, "a", 3), 0);
	request.weight = 4;
	assert_refused(store, &request, -E2BIG);
	assert_non_null(strstr(weir_store_error(store), "limit of 3"));
}

TEST(full_is_not_now)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);

	assert_refused(store, &request, -EAGAIN);
	request.deadline = weir_after(WEIR_MS);
	assert_refused(store, &request, -ETIMEDOUT);
	request.deadline = 1; /* long past: still a wait, which is over at once */
	assert_refused(store, &request, -ETIMEDOUT);
	assert_int_equal(look(store, "a").refused, 3);
	assert_account(store, "a", 1, 0);
	release(lease);
}

TEST(a_token_that_is_not_live_touches_nobody_CHECKLIST_40)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);
	struct weir_lease *untouched = NULL;
	struct weir_lease_info info = info_of(lease);
	uint8_t token[WEIR_TOKEN_SIZE] = { 0 };

	assert_int_equal(weir_evict(store, "a", token), -ESTALE);
	assert_int_equal(weir_evict(store, "nosuch", info.token), -ENOENT);
	assert_int_equal(weir_lease_adopt(store, "a", token, &untouched), -ESTALE);
	assert_int_equal(weir_lease_adopt(store, "nosuch", info.token, &untouched), -ENOENT);
	assert_null(untouched);
	assert_true(weir_lease_held(lease));
	assert_int_equal(weir_renew(lease, 1), -EINVAL);
	assert_int_equal(weir_lease_bind_fd(lease), -ENOTSUP);
	assert_int_equal(weir_release(lease), 0);
	assert_int_equal(weir_release(lease), -ESTALE);
	assert_int_equal(weir_renew(lease, 0), -ESTALE);
	assert_int_equal(weir_lease_bind_fd(lease), -ESTALE);
	assert_false(weir_lease_held(lease));
	assert_int_equal(info_of(lease).left, 0);
	weir_lease_unref(lease);
}

TEST(the_fence_of_each_slot_rises_CHECKLIST_47)
{
	uint64_t marks[2] = { 0, 0 };

	assert_int_equal(weir_fence_check(marks, 2, 0, 5), 0);
	assert_int_equal(weir_fence_check(marks, 2, 1, 3), 0);
	assert_int_equal(weir_fence_check(marks, 2, 0, 5), 0);
	assert_int_equal(weir_fence_check(marks, 2, 0, 4), -ESTALE);
	assert_int_equal(weir_fence_check(marks, 2, 1, 4), 0);
	assert_int_equal(weir_fence_check(marks, 2, 2, 9), -EINVAL);
	assert_int_equal(weir_fence_check(NULL, 2, 0, 9), -EINVAL);
	assert_int_equal(marks[0], 5);
	assert_int_equal(marks[1], 4);
}

#define error_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		error_test(a_url_that_is_not_understood_is_refused),
		error_test(an_error_never_repeats_what_may_be_a_password),
		error_test(bounds_that_are_not_given_follow_those_that_are),
		error_test(names_are_checked),
		error_test(nothing_is_no_argument),
		error_test(every_bound_of_a_request_is_checked),
		error_test(limits_are_within_bounds_and_the_stored_one_counts_CHECKLIST_30),
		error_test(full_is_not_now),
		error_test(a_token_that_is_not_live_touches_nobody_CHECKLIST_40),
		error_test(the_fence_of_each_slot_rises_CHECKLIST_47),
	};

	return RUN_TESTS(tests);
}

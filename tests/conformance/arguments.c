/* conformance: what is refused before anything is asked of the store (S16-S18, A6), and names. */
#include "conformance/suite.h"

static int ask(const struct weir_request *request)
{
	struct weir_lease *lease = NULL;
	int error = weir_acquire(store, request, &lease);

	assert_null(lease);
	return error;
}

TEST(names_are_1_to_200_of_the_allowed_bytes_S16)
{
	char longest[WEIR_NAME_MAX + 2];

	memset(longest, 'n', sizeof(longest));
	longest[WEIR_NAME_MAX + 1] = '\0';
	assert_false(weir_name_valid(longest));
	longest[WEIR_NAME_MAX] = '\0';
	assert_true(weir_name_valid(longest));
	assert_true(weir_name_valid("aZ09-_:/."));
	assert_false(weir_name_valid(""));
	assert_false(weir_name_valid(NULL));
	for (int c = 1; c < 256; c++) {
		const char name[] = { 'x', (char)c, 'y', '\0' };
		bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			       (c >= '0' && c <= '9') || strchr("-_:/.", c) != NULL;

		assert_int_equal(weir_name_valid(name), allowed);
	}
}

TEST(a_bad_name_is_refused_by_every_call_S16)
{
	static const char *const bad[] = { "", " ", "a b", "a@b", "a#b", "a\n" };
	const uint8_t token[WEIR_TOKEN_SIZE] = { 1 };
	struct weir_lease *lease = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct weir_request request = { .name = bad[i], .limit = 1 };

		assert_int_equal(ask(&request), -EINVAL);
		assert_int_equal(weir_ensure(store, bad[i], 1), -EINVAL);
		assert_int_equal(weir_set_limit(store, bad[i], 1), -EINVAL);
		assert_int_equal(weir_evict(store, bad[i], token), -EINVAL);
		assert_int_equal(weir_lease_adopt(store, bad[i], token, &lease), -EINVAL);
		assert_int_equal(weir_list(store, &bad[i], 1, &(struct weir_visitor){ 0 }, NULL),
				 -EINVAL);
		assert_true(strlen(weir_store_error(store)) > 0);
	}
}

TEST(a_ttl_out_of_bounds_is_refused_S17)
{
	const char *name = fresh_name();
	struct weir_lease *lease;
	int error;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	assert_int_equal(ask(&(struct weir_request){ .name = name, .ttl = 19 * WEIR_MS }), -EINVAL);
	assert_int_equal(ask(&(struct weir_request){ .name = name, .ttl = -1 }), -EINVAL);
	assert_int_equal(ask(&(struct weir_request){ .name = name, .ttl = 3601 * WEIR_SECOND }),
			 -EINVAL);
	assert_int_equal(ask(&(struct weir_request){ .name = name, .max_hold = -1 }), -EINVAL);
	lease = take(store, name, 1, 3600 * WEIR_SECOND);
	assert_int_equal(weir_renew(lease, 3601 * WEIR_SECOND), -EINVAL);
	assert_int_equal(weir_renew(lease, 1), -EINVAL);
	assert_true(weir_lease_held(lease));
	give_back(lease);
	/* Which may be over before it is given back. */
	lease = take(store, name, 1, 20 * WEIR_MS);
	error = weir_release(lease);
	assert_true(error == 0 || error == -ESTALE);
	weir_lease_unref(lease);
}

TEST(a_limit_out_of_bounds_is_refused_S18_M11)
{
	const char *name = fresh_name();

	assert_int_equal(weir_ensure(store, name, 0), -EINVAL);
	assert_int_equal(weir_ensure(store, name, 10001), -EINVAL);
	assert_int_equal(weir_set_limit(store, name, 1), -ENOENT);
	assert_int_equal(weir_ensure(store, name, 10000), 1);
	assert_int_equal(weir_set_limit(store, name, 10001), -EINVAL);
	assert_int_equal(ask(&(struct weir_request){ .name = name, .limit = 10001 }), -EINVAL);
	assert_counts(name, 10000, 0, 0);
}

TEST(ids_that_are_too_long_or_not_printable_are_refused_A6)
{
	const char *name = fresh_name();
	char text[WEIR_NAME_MAX + 2];

	assert_int_equal(weir_ensure(store, name, 1), 1);
	memset(text, '~', sizeof(text));
	text[WEIR_NAME_MAX + 1] = '\0';
	assert_int_equal(ask(&(struct weir_request){ .name = name, .owner = text }), -EINVAL);
	assert_int_equal(ask(&(struct weir_request){ .name = name, .request_id = text }), -EINVAL);
	assert_int_equal(ask(&(struct weir_request){ .name = name, .owner = "a\nb" }), -EINVAL);
	assert_int_equal(ask(&(struct weir_request){ .name = name, .request_id = "a\033b" }),
			 -EINVAL);
	text[WEIR_NAME_MAX] = '\0';

	struct weir_request request = { .name = name, .owner = text, .request_id = text };
	struct weir_lease *lease;

	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	assert_string_equal(info_of(lease).owner, text);
	assert_string_equal(info_of(lease).request_id, text);
	give_back(lease);
}

TEST(an_unknown_name_is_not_created_by_asking_S1)
{
	const char *name = fresh_name();
	const uint8_t token[WEIR_TOKEN_SIZE] = { 7 };
	struct weir_lease *lease = NULL;
	struct seen seen;

	assert_int_equal(ask(&(struct weir_request){ .name = name }), -ENOENT);
	assert_int_equal(weir_set_limit(store, name, 3), -ENOENT);
	assert_int_equal(weir_evict(store, name, token), -ENOENT);
	assert_int_equal(weir_lease_adopt(store, name, token, &lease), -ENOENT);
	assert_null(lease);
	look(store, name, &seen);
	assert_false(seen.found);
}

TEST(an_error_has_a_sentence)
{
	struct weir_lease *lease;
	struct weir_request request = { .name = fresh_name() };

	assert_int_equal(weir_acquire(store, &request, &lease), -ENOENT);
	assert_true(strlen(weir_store_error(store)) > 10);
	assert_non_null(weir_store_error(NULL));
}

TEST(urls_that_are_not_understood_are_refused)
{
	static const char *const bad[] = { "",
					   "memory",
					   "nosuch:x",
					   ":",
					   "memory:?min_ttl=",
					   "memory:?nosuch=1",
					   "memory:?min_ttl=never",
					   "memory:?max_limit=-1",
					   "memory:a b",
					   "memory:?min_ttl=2s&max_ttl=1s" };
	struct weir_store *opened = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(weir_store_open(bad[i], &opened), -EINVAL);
		assert_null(opened);
		assert_true(strlen(weir_store_error(NULL)) > 0);
	}
	assert_int_equal(weir_store_open(NULL, &opened), -EINVAL);
	weir_store_close(NULL);
	weir_lease_unref(NULL);
}

TEST(the_check_at_the_resource_is_per_slot_CHECKLIST_47)
{
	uint64_t marks[2] = { 0, 0 };

	assert_int_equal(weir_fence_check(marks, 2, 0, 5), 0);
	assert_int_equal(weir_fence_check(marks, 2, 1, 3), 0); /* lower, but of another slot */
	assert_int_equal(weir_fence_check(marks, 2, 0, 5), 0); /* the same holder again */
	assert_int_equal(weir_fence_check(marks, 2, 0, 4), -ESTALE);
	assert_int_equal(weir_fence_check(marks, 2, 2, 9), -EINVAL);
	assert_int_equal(marks[0], 5);
	assert_int_equal(marks[1], 3);
}

static const struct CMUnitTest tests[] = {
	CONFORMANCE(names_are_1_to_200_of_the_allowed_bytes_S16),
	CONFORMANCE(a_bad_name_is_refused_by_every_call_S16),
	CONFORMANCE(a_ttl_out_of_bounds_is_refused_S17),
	CONFORMANCE(a_limit_out_of_bounds_is_refused_S18_M11),
	CONFORMANCE(ids_that_are_too_long_or_not_printable_are_refused_A6),
	CONFORMANCE(an_unknown_name_is_not_created_by_asking_S1),
	CONFORMANCE(an_error_has_a_sentence),
	CONFORMANCE(urls_that_are_not_understood_are_refused),
	CONFORMANCE(the_check_at_the_resource_is_per_slot_CHECKLIST_47),
};
GROUP(arguments, tests);

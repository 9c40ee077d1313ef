/* store/sqlite: leases in a file, within one process and between processes. */
#include "support/lite.h"

#include <pthread.h>

#define LONG weir_after(20 * WEIR_SECOND)

TEST(acquire_and_release_L1_L3)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, 0);
	struct weir_lease *other = NULL;

	assert_true(weir_lease_held(lease));
	assert_int_equal(lite_try(store, "a", &other), -EAGAIN);
	assert_int_equal(weir_release(lease), 0);
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
	assert_int_equal(lite_try(store, "a", &other), 0);
	weir_lease_unref(other);
	weir_store_close(store);
	assert_int_equal(lite_sql("SELECT count(*) FROM claim"), 0);
	assert_int_equal(lite_sql("SELECT held + holders + waiting + slots FROM semaphore"), 0);
}

TEST(fences_rise_and_survive_closing_L2)
{
	uint64_t fence = 0;

	for (int i = 0; i < 5; i++) {
		struct weir_store *store = lite_open();
		struct weir_lease *lease = lite_acquire(store, "a", 1, 0);

		assert_true(lite_info(lease).fence > fence);
		fence = lite_info(lease).fence;
		assert_int_equal(lite_info(lease).slot, 0);
		assert_int_equal(weir_release(lease), 0);
		weir_lease_unref(lease);
		weir_store_close(store);
	}
}

TEST(limits_live_in_the_file)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease;

	assert_int_equal(weir_set_limit(store, "a", 3), -ENOENT);
	assert_int_equal(weir_ensure(store, "a", 2), 1);
	assert_int_equal(weir_ensure(store, "a", 5), 0);
	weir_store_close(store);
	store = lite_open();
	assert_int_equal(
		weir_acquire(store, &(struct weir_request){ .name = "a", .limit = 3 }, &lease),
		-EEXIST);
	assert_int_equal(weir_set_limit(store, "a", 3), 0);
	lease = lite_acquire(store, "a", 3, 0);
	weir_lease_unref(lease);
	weir_store_close(store);
	assert_int_equal(lite_sql("SELECT permits FROM semaphore"), 3);
}

TEST(many_slots_are_kept_as_words)
{
	enum { N = 200 };
	struct weir_store *store = lite_open();
	struct weir_lease *leases[N];

	for (uint32_t i = 0; i < N; i++) {
		leases[i] = lite_acquire(store, "a", N, 0);
		assert_int_equal(lite_info(leases[i]).slot, i);
	}
	assert_int_equal(lite_sql("SELECT length(slots) FROM semaphore"), 32);
	assert_int_equal(weir_release(leases[70]), 0);
	weir_lease_unref(leases[70]);
	leases[70] = lite_acquire(store, "a", N, 0);
	assert_int_equal(lite_info(leases[70]).slot, 70);
	for (uint32_t i = 0; i < N; i++)
		weir_lease_unref(leases[i]);
	weir_store_close(store);
	assert_int_equal(lite_sql("SELECT count(*) + max(held) FROM claim, semaphore"), 0);
}

TEST(an_expired_lease_is_lost_L3_L9)
{
	struct weir_store *store = lite_open();
	struct weir_request request = { .name = "a", .limit = 1, .ttl = 30 * WEIR_MS };
	struct weir_lease *first;
	struct weir_lease *second;

	assert_int_equal(weir_acquire(store, &request, &first), 0);
	request.deadline = LONG;
	assert_int_equal(weir_acquire(store, &request, &second), 0);
	assert_false(weir_lease_held(first));
	assert_true(lite_info(second).fence > lite_info(first).fence);
	assert_int_equal(weir_renew(first, 0), -ESTALE);
	assert_int_equal(weir_release(first), -ESTALE);
	weir_lease_unref(first);
	weir_lease_unref(second);
	weir_store_close(store);
}

TEST(the_same_request_id_finds_the_same_lease_L4)
{
	struct weir_store *store = lite_open();
	struct weir_store *second = lite_open();
	struct weir_request request = { .name = "a", .limit = 1, .request_id = "x" };
	struct weir_lease *lease;
	struct weir_lease *again;

	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	assert_int_equal(weir_acquire(second, &request, &again), 0);
	assert_memory_equal(lite_info(lease).token, lite_info(again).token, WEIR_TOKEN_SIZE);
	assert_int_equal(lite_info(lease).fence, lite_info(again).fence);
	weir_lease_unref(again);
	weir_lease_unref(lease);
	weir_store_close(second);
	weir_store_close(store);
}

TEST(a_raised_limit_grants_and_a_lowered_one_refuses_the_heavy)
{
	struct weir_store *store = lite_open();
	struct weir_lease *holder = lite_acquire(store, "a", 2, 0);
	struct weir_request heavy = { .name = "a", .weight = 3 };
	struct weir_lease *lease;

	assert_int_equal(weir_acquire(store, &heavy, &lease), -E2BIG);
	assert_int_equal(weir_set_limit(store, "a", 4), 0);
	assert_int_equal(weir_acquire(store, &heavy, &lease), 0);
	assert_int_equal(weir_evict(store, "a", lite_info(lease).token), 0);
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
	weir_lease_unref(holder);
	weir_store_close(store);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int order[8];
static int n_order;

static void *wait_and_note(void *argument)
{
	struct weir_store *store = argument;
	struct weir_request request = { .name = "a", .deadline = LONG };
	struct weir_lease *lease;

	if (weir_acquire(store, &request, &lease) == 0) {
		order[n_order++] = (int)(lite_info(lease).fence & 0xffff);
		weir_lease_unref(lease);
	}
	return NULL;
}

TEST(threads_wait_in_order_L7_L8)
{
	struct weir_store *store = lite_open();
	struct weir_lease *holder = lite_acquire(store, "a", 1, 0);
	pthread_t threads[5];

	n_order = 0;
	for (int i = 0; i < 5; i++) {
		pthread_create(&threads[i], NULL, wait_and_note, store);
		lite_await("SELECT waiting FROM semaphore", i + 1);
	}
	assert_int_equal(weir_release(holder), 0);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(n_order, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(order[i], i + 2);
	weir_lease_unref(holder);
	weir_store_close(store);
	assert_int_equal(lite_sql("SELECT after_wait FROM semaphore"), 5);
	assert_int_equal(lite_sql("SELECT length(waits) FROM semaphore"), 520);
}

TEST(a_wait_that_times_out_leaves_nothing_P5)
{
	struct weir_store *store = lite_open();
	struct weir_lease *holder = lite_acquire(store, "a", 1, 0);
	struct weir_request request = { .name = "a", .deadline = weir_after(30 * WEIR_MS) };
	struct weir_lease *lease;

	assert_int_equal(weir_acquire(store, &request, &lease), -ETIMEDOUT);
	assert_int_equal(lite_sql("SELECT waiting FROM semaphore"), 0);
	assert_int_equal(lite_sql("SELECT count(*) FROM claim"), 1);
	weir_lease_unref(holder);
	weir_store_close(store);
}

static void *wait_for_close(void *argument)
{
	struct weir_request request = { .name = "a", .deadline = WEIR_NEVER };
	struct weir_lease *lease;

	return (void *)(intptr_t)weir_acquire(argument, &request, &lease);
}

TEST(closing_ends_waits_and_gives_back)
{
	struct weir_store *holder = lite_open();
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(holder, "a", 1, 0);
	struct weir_lease *mine = lite_acquire(store, "b", 1, 0);
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, wait_for_close, store);
	lite_await("SELECT waiting FROM semaphore WHERE name = 'a'", 1);
	weir_store_close(store);
	pthread_join(thread, &result);
	assert_int_equal((intptr_t)result, -ESHUTDOWN);
	assert_int_equal(lite_sql("SELECT sum(waiting) FROM semaphore"), 0);
	assert_int_equal(lite_sql("SELECT held FROM semaphore WHERE name = 'b'"), 0);
	assert_false(weir_lease_held(mine));
	weir_lease_unref(mine);
	weir_lease_unref(lease);
	weir_store_close(holder);
}

static int count_holder(void *arg, const struct weir_claim_info *info)
{
	int *counts = arg;

	assert_int_equal(info->position, 0);
	assert_int_equal(info->pid, getpid());
	counts[0]++;
	return 0;
}

static int count_waiter(void *arg, const struct weir_claim_info *info)
{
	int *counts = arg;

	counts[1] = (int)info->position;
	return 0;
}

TEST(list_shows_holders_and_waiters)
{
	struct weir_store *store = lite_open();
	struct weir_lease *lease = lite_acquire(store, "a", 1, 0);
	struct weir_visitor visitor = { .holder = count_holder, .waiter = count_waiter };
	pthread_t thread;
	int counts[2] = { 0, 0 };

	pthread_create(&thread, NULL, wait_and_note, store);
	lite_await("SELECT waiting FROM semaphore", 1);
	assert_int_equal(weir_list(store, NULL, 0, &visitor, counts), 0);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 1);
	n_order = 0;
	weir_lease_unref(lease);
	pthread_join(thread, NULL);
	weir_store_close(store);
}

TEST(reap_counts_what_has_expired)
{
	struct weir_store *store = lite_open();
	struct weir_request request = { .limit = 5, .ttl = 20 * WEIR_MS };
	struct weir_lease *leases[3];
	int reaped = 0;

	for (int i = 0; i < 3; i++) {
		request.name = i == 0 ? "a" :
			       i == 1 ? "b" :
					"c"; /* acquiring drops what expired there */
		assert_int_equal(weir_acquire(store, &request, &leases[i]), 0);
	}
	usleep(25000);
	assert_int_equal(weir_reap(store, 1), 1);
	reaped = weir_reap(store, 100);
	assert_int_equal(reaped, 2);
	for (int i = 0; i < 3; i++)
		weir_lease_unref(leases[i]);
	weir_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LITE_TEST(acquire_and_release_L1_L3),
		LITE_TEST(fences_rise_and_survive_closing_L2),
		LITE_TEST(limits_live_in_the_file),
		LITE_TEST(many_slots_are_kept_as_words),
		LITE_TEST(an_expired_lease_is_lost_L3_L9),
		LITE_TEST(the_same_request_id_finds_the_same_lease_L4),
		LITE_TEST(a_raised_limit_grants_and_a_lowered_one_refuses_the_heavy),
		LITE_TEST(threads_wait_in_order_L7_L8),
		LITE_TEST(a_wait_that_times_out_leaves_nothing_P5),
		LITE_TEST(closing_ends_waits_and_gives_back),
		LITE_TEST(list_shows_holders_and_waiters),
		LITE_TEST(reap_counts_what_has_expired),
	};

	return RUN_TESTS(tests);
}

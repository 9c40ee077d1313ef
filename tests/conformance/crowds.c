/* conformance: many at once, threads and two handles (M4, M16, S20-S25, A5, A12). */
#include "conformance/suite.h"

#include "support/acquirer.h"

struct crowd {
	const char *name;
	uint32_t limit, rounds;
	weir_time hold, deadline, ttl;
	uint32_t inside, most, granted, number;
	uint64_t fences[1024];
};

static void *one_of(void *arg)
{
	struct crowd *crowd = arg;
	uint32_t number = __atomic_fetch_add(&crowd->number, 1, __ATOMIC_SEQ_CST);

	for (uint32_t i = 0; i < crowd->rounds; i++) {
		struct weir_request request = { .name = crowd->name,
						.ttl = crowd->ttl,
						.deadline = crowd->deadline };
		struct weir_lease *lease;

		if (weir_acquire(number % 2 ? store : other, &request, &lease) < 0)
			continue;

		uint32_t inside = __atomic_add_fetch(&crowd->inside, 1, __ATOMIC_SEQ_CST);
		uint32_t most = __atomic_load_n(&crowd->most, __ATOMIC_SEQ_CST);

		while (inside > most &&
		       !__atomic_compare_exchange_n(&crowd->most, &most, inside, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			;
		crowd->fences[__atomic_fetch_add(&crowd->granted, 1, __ATOMIC_SEQ_CST) % 1024] =
			info_of(lease).fence;
		if (crowd->hold > 0)
			sleep_for(crowd->hold);
		(void)__atomic_sub_fetch(&crowd->inside, 1, __ATOMIC_SEQ_CST);
		(void)weir_release(lease);
		weir_lease_unref(lease);
	}
	return NULL;
}

static void run_crowd(struct crowd *crowd, uint32_t threads)
{
	pthread_t started[64];

	assert_int_equal(weir_ensure(store, crowd->name, crowd->limit), 1);
	for (uint32_t i = 0; i < threads; i++)
		started[i] = start_thread(one_of, crowd);
	for (uint32_t i = 0; i < threads; i++)
		(void)pthread_join(started[i], NULL);
	assert_in_range(crowd->most, 1, crowd->limit); /* L1 */
	for (uint32_t i = 0; i < crowd->granted && i < 1024; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_true(crowd->fences[i] != crowd->fences[k]); /* S25, L2 */
	assert_counts(crowd->name, crowd->limit, 0, 0);
}

TEST(ten_threads_a_hundred_times_each_one_inside_M16_A12_L1)
{
	struct crowd crowd = {
		.name = fresh_name(), .limit = 1, .rounds = 100, .ttl = LONG, .deadline = WEIR_NEVER
	};

	run_crowd(&crowd, 10);
	assert_int_equal(crowd.granted, 1000);
}

TEST(fifty_tries_at_once_limit_ten_S20_S21)
{
	struct crowd crowd = {
		.name = fresh_name(), .limit = 10, .rounds = 1, .ttl = LONG, .hold = 20 * WEIR_MS
	};

	run_crowd(&crowd, 50);
	assert_in_range(crowd.granted, 1, 50);
}

TEST(ten_workers_limit_two_all_succeed_S22)
{
	struct crowd crowd = { .name = fresh_name(),
			       .limit = 2,
			       .rounds = 15,
			       .ttl = LONG,
			       .hold = WEIR_MS,
			       .deadline = WEIR_NEVER };

	run_crowd(&crowd, 10);
	assert_int_equal(crowd.granted, 150);
}

TEST(acquires_while_others_are_reaped_S24_A5)
{
	const char *name = fresh_name();
	struct weir_lease *gone[3];
	struct crowd crowd = { .name = fresh_name(), .limit = 3, .rounds = 20, .ttl = LONG };

	assert_int_equal(weir_ensure(store, name, 3), 1);
	for (int i = 0; i < 3; i++)
		gone[i] = take(store, name, 1, BRIEF);
	after_brief();
	run_crowd(&crowd, 4);
	assert_in_range(weir_reap(store, 1000), 0, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(weir_renew(gone[i], 0), -ESTALE);
		weir_lease_unref(gone[i]);
	}
}

/* A renewal that races with the expiry either counts or says that it came too late (A5). */
TEST(renewals_that_race_with_expiry_A5_CHECKLIST_19)
{
	const char *name = fresh_name();

	assert_int_equal(weir_ensure(store, name, 1), 1);
	for (int i = 0; i < 10; i++) {
		struct weir_lease *lease = take(store, name, 1, 40 * WEIR_MS);
		int renewed;

		sleep_for(36 * WEIR_MS + i * WEIR_MS);
		renewed = weir_renew(lease, LONG);
		if (renewed == 0) {
			assert_int_equal(try_once(other, name, 1), -EAGAIN);
			give_back(lease);
		} else {
			assert_int_equal(renewed, -ESTALE);
			assert_false(weir_lease_held(lease));
			weir_lease_unref(lease);
			sleep_for(20 * WEIR_MS);
			assert_int_equal(try_once(other, name, 1), 0);
		}
	}
}

TEST(a_queue_has_an_end)
{
	const char *name = fresh_name();
	struct weir_store *narrow = open_store("&max_waiting=2");
	struct waiter waiters[2] = { { 0 } };
	struct weir_request request = { .name = name, .deadline = WEIR_NEVER };
	struct weir_lease *lease, *none = NULL;

	assert_int_equal(weir_ensure(store, name, 1), 1);
	lease = take(store, name, 1, LONG);
	for (int i = 0; i < 2; i++) {
		waiters[i].in = narrow;
		waiter_queue(&waiters[i], name, 1, WEIR_NEVER);
	}
	assert_int_equal(weir_acquire(narrow, &request, &none), -ENOBUFS);
	assert_null(none);
	give_back(lease);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waiter_join(&waiters[i]), 0);
		give_back(waiters[i].lease);
	}
	weir_store_close(narrow);
}

/* So many that an engine may keep them in another way than a few. */
TEST(hundreds_of_leases_end_each_in_its_time_L9)
{
	enum { MANY = 300 };
	const char *name = fresh_name();
	struct weir_lease *leases[MANY];

	assert_int_equal(weir_ensure(store, name, MANY), 1);
	for (int i = 0; i < MANY; i++)
		leases[i] = take(i % 2 ? store : other, name, 1, i % 3 == 0 ? BRIEF : LONG);
	after_brief();
	assert_counts(name, MANY, MANY / 3 * 2, 0);
	assert_int_equal(weir_renew(leases[1], 2 * LONG), 0);
	for (int i = 0; i < MANY; i += 3) {
		assert_int_equal(weir_release(leases[i]), -ESTALE);
		weir_lease_unref(leases[i]);
		leases[i] = take(store, name, 1, LONG);
	}
	assert_int_equal(try_once(other, name, 1), -EAGAIN);
	for (int i = 0; i < MANY; i++)
		give_back(leases[i]);
	assert_counts(name, MANY, 0, 0);
}

static const struct CMUnitTest tests[] = {
	CONFORMANCE(ten_threads_a_hundred_times_each_one_inside_M16_A12_L1),
	CONFORMANCE(fifty_tries_at_once_limit_ten_S20_S21),
	CONFORMANCE(ten_workers_limit_two_all_succeed_S22),
	CONFORMANCE(acquires_while_others_are_reaped_S24_A5),
	CONFORMANCE(renewals_that_race_with_expiry_A5_CHECKLIST_19),
	CONFORMANCE(a_queue_has_an_end),
	CONFORMANCE(hundreds_of_leases_end_each_in_its_time_L9),
};
GROUP(crowds, tests);

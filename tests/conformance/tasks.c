/* conformance: tasks as callers: they wait as tasks, and can be cancelled (M4, M10, M17, A1, A12).
 */
#include "support/tasks.h"
#include "conformance/suite.h"

static void run_tasks(weir_task_fn *root, void *arg)
{
	run_deep(WEIR_CLOCK_REAL, TASK_STACK, root, arg);
}

struct many {
	const char *name;
	uint32_t inside, most, done;
};

TASK(one_of_many)
{
	struct many *many = arg;
	struct weir_request request = { .name = many->name, .ttl = LONG, .deadline = WEIR_NEVER };
	struct weir_lease *lease;
	int error = weir_acquire(store, &request, &lease);

	if (error < 0)
		return error;
	if (++many->inside > many->most)
		many->most = many->inside;
	(void)weir_sleep(WEIR_MS);
	many->inside--;
	many->done++;
	error = weir_release(lease);
	weir_lease_unref(lease);
	return error;
}

TASK(a_thousand)
{
	static struct weir_future *all[1000];

	for (size_t i = 0; i < 1000; i++)
		all[i] = spawn(one_of_many, arg);
	assert_int_equal(weir_gather(all, 1000, WEIR_NEVER, NULL), 0);
	drop(all, 1000);
	return 0;
}

TEST(a_thousand_tasks_ten_permits_M4_A12_L1)
{
	struct many many = { .name = fresh_name() };

	assert_int_equal(weir_ensure(store, many.name, 10), 1);
	run_tasks(a_thousand, &many);
	assert_int_equal(many.done, 1000);
	assert_in_range(many.most, 2, 10);
	assert_counts(many.name, 10, 0, 0);
}

TASK(waits_for_ever)
{
	struct weir_request request = { .name = arg, .ttl = LONG, .deadline = WEIR_NEVER };
	struct weir_lease *lease = NULL;
	int error = weir_acquire(store, &request, &lease);

	if (error == 0) {
		(void)weir_release(lease);
		weir_lease_unref(lease);
	} else {
		assert_null(lease);
	}
	return error;
}

/* Queued, cancelled: it holds nothing, and the next in line is served. */
TASK(cancel_the_head)
{
	const char *name = arg;
	struct weir_lease *lease = take(store, name, 1, LONG);
	struct weir_future *first = spawn(waits_for_ever, arg), *second;
	struct seen seen;

	do {
		(void)weir_sleep(WEIR_MS);
		look(store, name, &seen);
	} while (seen.n_waiters != 1);
	second = spawn(waits_for_ever, arg);
	do {
		(void)weir_sleep(WEIR_MS);
		look(store, name, &seen);
	} while (seen.n_waiters != 2);
	assert_int_equal(weir_cancel(first), 0);
	assert_int_equal(join(first, NULL), -ECANCELED);
	look(store, name, &seen);
	assert_int_equal(seen.n_waiters, 1);
	give_back(lease);
	assert_int_equal(join(second, NULL), 0);
	return 0;
}

TEST(a_cancelled_waiter_holds_nothing_A1_CHECKLIST_1)
{
	const char *name = fresh_name();

	assert_int_equal(weir_ensure(store, name, 1), 1);
	run_tasks(cancel_the_head, (void *)(uintptr_t)name);
	assert_counts(name, 1, 0, 0);
}

TASK(waits_as_x)
{
	struct weir_request request = {
		.name = arg, .ttl = LONG, .request_id = "x", .deadline = WEIR_NEVER
	};
	struct weir_lease *lease = NULL;
	int error = weir_acquire(store, &request, &lease);

	weir_lease_unref(lease);
	return error;
}

static void until_they_are(const char *name, uint32_t waiters)
{
	struct seen seen;

	do {
		(void)weir_sleep(WEIR_MS);
		look(store, name, &seen);
	} while (seen.n_waiters != waiters);
}

static bool is_x(const struct seen_claim *claim)
{
	return strcmp(claim->request_id, "x") == 0;
}

/* It has asked, but perhaps not been heard yet, when the other gives up. */
TASK(leave_a_place_to_another)
{
	const char *name = arg;
	struct weir_lease *lease = take(store, name, 1, LONG);
	struct weir_future *first = spawn(waits_as_x, arg), *behind, *heir;
	struct seen seen;

	until_they_are(name, 1);
	behind = spawn(waits_for_ever, arg);
	until_they_are(name, 2);
	heir = spawn(waits_as_x, arg);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(first), 0);
	assert_int_equal(join(first, NULL), -ECANCELED);
	until_they_are(name, 2);
	look(store, name, &seen);
	assert_true(is_x(&seen.waiters[0]));
	assert_int_equal(weir_cancel(heir), 0);
	assert_int_equal(join(heir, NULL), -ECANCELED);
	look(store, name, &seen);
	assert_int_equal(seen.n_waiters, 1);
	give_back(lease);
	assert_int_equal(join(behind, NULL), 0);
	return 0;
}

TEST(who_gives_up_leaves_the_place_to_others_of_its_id_L4)
{
	for (int i = 0; i < 10; i++) {
		const char *name = fresh_name();

		assert_int_equal(weir_ensure(store, name, 1), 1);
		run_tasks(leave_a_place_to_another, (void *)(uintptr_t)name);
		assert_counts(name, 1, 0, 0);
	}
}

/* The last of an id gives up, and another one of it asks before the store has heard of that.
 * Whoever is in the queue then came later. */
TASK(come_as_the_last_gives_up)
{
	const char *name = arg;
	struct weir_lease *lease = take(store, name, 1, LONG);
	struct weir_future *first = spawn(waits_as_x, arg), *late, *later;
	struct seen seen;

	until_they_are(name, 1);
	assert_int_equal(weir_cancel(first), 0);
	late = spawn(waits_as_x, arg);
	assert_int_equal(weir_yield(), 0);
	later = spawn(waits_for_ever, arg);
	assert_int_equal(join(first, NULL), -ECANCELED);
	do {
		(void)weir_sleep(WEIR_MS);
		look(store, name, &seen);
	} while (seen.n_waiters == 0 || (seen.n_waiters == 1 && is_x(&seen.waiters[0])));
	assert_int_equal(seen.n_waiters, 2);
	assert_true(is_x(&seen.waiters[0]));
	give_back(lease);
	assert_int_equal(join(late, NULL), 0);
	assert_int_equal(join(later, NULL), 0);
	return 0;
}

TEST(who_comes_as_the_last_of_its_id_gives_up_has_a_place_L7)
{
	for (int i = 0; i < 20; i++) {
		const char *name = fresh_name();

		assert_int_equal(weir_ensure(store, name, 1), 1);
		run_tasks(come_as_the_last_gives_up, (void *)(uintptr_t)name);
		assert_counts(name, 1, 0, 0);
	}
}

/* Cancelled at the moment it is granted, or thereabouts: nothing is lost either way (P5). */
TASK(cancel_at_the_grant)
{
	const char *name = arg;

	for (int i = 0; i < 50; i++) {
		struct weir_lease *lease = take(store, name, 1, LONG);
		struct weir_future *waiter = spawn(waits_for_ever, arg);
		int result;

		if (i % 3 != 0)
			(void)weir_sleep((i % 5) * 100 * WEIR_US);
		else
			(void)weir_yield();
		assert_int_equal(weir_release(lease), 0);
		weir_lease_unref(lease);
		if (i % 2)
			(void)weir_yield();
		(void)weir_cancel(waiter);
		result = join(waiter, NULL);
		assert_true(result == 0 || result == -ECANCELED);
		while (try_once(store, name, 1) == -EAGAIN)
			(void)weir_sleep(100 * WEIR_US);
	}
	return 0;
}

TEST(a_grant_that_races_with_a_cancellation_is_not_lost_A1_P5)
{
	const char *name = fresh_name();

	assert_int_equal(weir_ensure(store, name, 1), 1);
	run_tasks(cancel_at_the_grant, (void *)(uintptr_t)name);
	assert_counts(name, 1, 0, 0);
}

TASK(works_too_long)
{
	struct weir_request request = {
		.name = arg, .ttl = BRIEF, .cancel_on_lost = true, .deadline = WEIR_NEVER
	};
	struct weir_lease *lease;
	int error = weir_acquire(store, &request, &lease);

	if (error < 0)
		return error;
	error = weir_sleep(20 * WEIR_SECOND);
	weir_lease_unref(lease);
	return error;
}

TASK(wait_for_the_cancelled)
{
	assert_int_equal(join(spawn(works_too_long, arg), NULL), -ECANCELED);
	return 0;
}

TEST(a_task_is_cancelled_when_its_lease_is_lost_M10)
{
	const char *name = fresh_name();
	weir_time began = weir_now();

	assert_int_equal(weir_ensure(store, name, 1), 1);
	run_tasks(wait_for_the_cancelled, (void *)(uintptr_t)name);
	assert_true(weir_now() - began < 10 * WEIR_SECOND);
	assert_int_equal(try_once(store, name, 1), 0);
}

/* Two tasks of one thread do not see each other's leases (M17). */
TASK(releases_its_own)
{
	const char *name = arg;
	struct weir_lease *lease = take(store, name, 1, LONG);

	(void)weir_sleep(5 * WEIR_MS);
	assert_int_equal(weir_release_last(store, name), 0);
	assert_false(weir_lease_held(lease));
	assert_int_equal(weir_release_last(store, name), -ENOENT);
	weir_lease_unref(lease);
	return 0;
}

TASK(two_stacks)
{
	struct weir_future *a = spawn(releases_its_own, arg), *b = spawn(releases_its_own, arg);

	assert_int_equal(join(a, NULL), 0);
	assert_int_equal(join(b, NULL), 0);
	return 0;
}

TEST(each_task_has_its_own_stack_of_leases_M17_A3)
{
	const char *name = fresh_name();

	assert_int_equal(weir_ensure(store, name, 2), 1);
	run_tasks(two_stacks, (void *)(uintptr_t)name);
}

static const struct CMUnitTest tests[] = {
	CONFORMANCE(a_thousand_tasks_ten_permits_M4_A12_L1),
	CONFORMANCE(a_cancelled_waiter_holds_nothing_A1_CHECKLIST_1),
	CONFORMANCE(who_gives_up_leaves_the_place_to_others_of_its_id_L4),
	CONFORMANCE(who_comes_as_the_last_of_its_id_gives_up_has_a_place_L7),
	CONFORMANCE(a_grant_that_races_with_a_cancellation_is_not_lost_A1_P5),
	CONFORMANCE(a_task_is_cancelled_when_its_lease_is_lost_M10),
	CONFORMANCE(each_task_has_its_own_stack_of_leases_M17_A3),
};
GROUP(tasks, tests);

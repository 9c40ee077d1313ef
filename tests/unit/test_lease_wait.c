/* lease: waiting, as a thread and as a task; and how a wait ends. */
#include "support/acquirer.h"
#include "support/leases.h"
#include "support/tasks.h"

static struct weir_store *store;

static int start(void **state)
{
	(void)state;
	store = open_store("memory:?min_ttl=10ms");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	weir_store_close(store);
	return 0;
}

/* One who waits in a thread. */
struct waiter {
	struct weir_request request;
	struct weir_lease *lease;
	int result;
	pthread_t thread;
};

static void *wait_for_it(void *arg)
{
	struct waiter *waiter = arg;

	waiter->result = weir_acquire(store, &waiter->request, &waiter->lease);
	return NULL;
}

static void queue(struct waiter *waiter, uint32_t place)
{
	waiter->thread = start_thread(wait_for_it, waiter);
	until_waiting(store, waiter->request.name, place);
}

static int result_of(struct waiter *waiter)
{
	assert_int_equal(pthread_join(waiter->thread, NULL), 0);
	return waiter->result;
}

TEST(threads_are_granted_in_their_order_L7_L8)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);
	struct waiter waiters[3];

	for (uint32_t i = 0; i < 3; i++) {
		waiters[i] = (struct waiter){ .request = { .name = "a", .deadline = WEIR_NEVER } };
		queue(&waiters[i], i + 1);
	}
	/* A newcomer does not overtake. */
	assert_refused(store, &request, -EAGAIN);
	release(lease);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(result_of(&waiters[i]), 0);
		assert_true(info_of(waiters[i].lease).waited > 0);
		assert_account(store, "a", 1, 2 - i);
		release(waiters[i].lease);
	}
	assert_int_equal(look(store, "a").granted_after_wait, 3);
	assert_true(look(store, "a").wait_max > 0);
	assert_true(look(store, "a").wait_p50 <= look(store, "a").wait_max);
}

TASK(gives_up)
{
	struct weir_request request = { .name = "a",
					.weight = 3,
					.deadline = weir_after(WEIR_SECOND) };

	assert_refused(store, &request, -ETIMEDOUT);
	return 0;
}

TASK(waits_behind)
{
	struct weir_request request = { .name = "a", .deadline = WEIR_NEVER };

	release(acquire(store, &request));
	return 0;
}

TASK(sees_the_head_leave)
{
	struct weir_request request = { .name = "a", .limit = 3, .weight = 2 };
	struct weir_lease *lease = acquire(store, &request);
	struct weir_future *heavy = spawn(gives_up, NULL);
	struct weir_future *light = spawn(waits_behind, NULL);

	/* The light one would fit, and waits; nothing is released when it is let through. */
	until_waiting(store, "a", 2);
	assert_int_equal(join(heavy, NULL), 0);
	assert_int_equal(join(light, NULL), 0);
	release(lease);
	return 0;
}

TEST(a_heavy_head_is_not_starved_and_its_leaving_lets_others_by_P3_P4)
{
	run(sees_the_head_leave, NULL);
}

TEST(a_limit_that_is_raised_wakes_and_one_that_is_lowered_refuses)
{
	struct weir_request request = { .name = "a", .limit = 2, .weight = 2 };
	struct weir_lease *lease = acquire(store, &request);
	struct waiter heavy = { .request = { .name = "a", .weight = 2, .deadline = WEIR_NEVER } };
	struct waiter light = { .request = { .name = "a", .deadline = WEIR_NEVER } };

	queue(&heavy, 1);
	queue(&light, 2);
	assert_int_equal(weir_set_limit(store, "a", 0), 0); /* paused: nobody fails */
	assert_account(store, "a", 2, 2);
	assert_int_equal(weir_set_limit(store, "a", 1), 0);
	assert_int_equal(result_of(&heavy), -E2BIG);
	assert_null(heavy.lease);
	assert_account(store, "a", 2, 1);
	assert_int_equal(weir_set_limit(store, "a", 3), 0);
	assert_int_equal(result_of(&light), 0);
	release(light.lease);
	release(lease);
}

TEST(a_paused_semaphore_lets_everybody_wait)
{
	struct waiter waiter = { .request = { .name = "a", .limit = 5, .deadline = WEIR_NEVER } };

	assert_int_equal(weir_ensure(store, "a", 5), 1);
	assert_int_equal(weir_set_limit(store, "a", 0), 0);
	queue(&waiter, 1);
	assert_int_equal(weir_set_limit(store, "a", 5), 0);
	assert_int_equal(result_of(&waiter), 0);
	release(waiter.lease);
}

TEST(too_many_waiters_are_refused)
{
	struct weir_store *other = open_store("memory:?max_waiting=1");
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(other, &request);
	struct weir_store *mine = store;
	struct waiter waiter = { .request = {
					 .name = "a", .deadline = WEIR_NEVER, .request_id = "x" } };
	struct weir_request again = { .name = "a",
				      .request_id = "x",
				      .deadline = weir_after(WEIR_MS) };

	store = other;
	queue(&waiter, 1);
	request.deadline = WEIR_NEVER;
	assert_refused(other, &request, -ENOBUFS);
	/* The same request is not one more, and its leaving leaves the first in its place. */
	assert_refused(other, &again, -ETIMEDOUT);
	again.deadline = 0;
	assert_refused(other, &again, -EAGAIN);
	assert_account(other, "a", 1, 1);
	release(lease);
	assert_int_equal(result_of(&waiter), 0);
	release(waiter.lease);
	weir_store_close(other);
	store = mine;
}

TEST(two_who_wait_under_one_id_get_one_handle_L4)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease = acquire(store, &request);
	struct waiter waiters[2];

	for (int i = 0; i < 2; i++) {
		waiters[i] = (struct waiter){
			.request = { .name = "a", .request_id = "x", .deadline = WEIR_NEVER }
		};
		queue(&waiters[i], 1);
	}
	release(lease);
	for (int i = 0; i < 2; i++)
		assert_int_equal(result_of(&waiters[i]), 0);
	assert_ptr_equal(waiters[0].lease, waiters[1].lease);
	assert_account(store, "a", 1, 0);
	weir_lease_unref(waiters[0].lease);
	assert_true(weir_lease_held(waiters[1].lease));
	weir_lease_unref(waiters[1].lease);
	assert_account(store, "a", 0, 0);
}

TEST(closing_ends_all_waits)
{
	struct weir_store *mine = store;
	struct weir_store *other = open_store("memory:closing");
	struct waiter waiters[5];
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_lease *lease;

	store = open_store("memory:closing");
	lease = acquire(store, &request);
	for (uint32_t i = 0; i < 5; i++) {
		waiters[i] = (struct waiter){ .request = { .name = "a", .deadline = WEIR_NEVER } };
		queue(&waiters[i], i + 1);
	}
	weir_store_close(store);
	for (int i = 0; i < 5; i++)
		assert_int_equal(result_of(&waiters[i]), -ESHUTDOWN);
	assert_false(weir_lease_held(lease));
	weir_lease_unref(lease);
	assert_account(other, "a", 0, 0);
	weir_store_close(other);
	store = mine;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

enum { TASKS = 20, ROUNDS = 50 };
static int inside;
static int most_inside;

TASK(goes_in_and_out)
{
	struct weir_request request = { .name = "t", .limit = 3, .deadline = WEIR_NEVER };

	for (int i = 0; i < ROUNDS; i++) {
		struct weir_lease *lease = acquire(store, &request);

		if (++inside > most_inside)
			most_inside = inside;
		assert_int_equal(weir_yield(), 0);
		inside--;
		release(lease);
	}
	return 0;
}

TASK(many_go_in_and_out)
{
	struct weir_future *tasks[TASKS];

	for (int i = 0; i < TASKS; i++)
		tasks[i] = spawn(goes_in_and_out, NULL);
	assert_int_equal(weir_gather(tasks, TASKS, WEIR_NEVER, NULL), 0);
	drop(tasks, TASKS);
	return 0;
}

TEST(tasks_wait_as_tasks_P1)
{
	inside = most_inside = 0;
	run_on(WEIR_CLOCK_REAL, many_go_in_and_out, NULL);
	assert_int_equal(most_inside, 3);
	assert_account(store, "t", 0, 0);
}

static struct weir_lease *held;

TASK(is_cancelled_in_the_queue)
{
	struct weir_request request = { .name = "a", .deadline = WEIR_NEVER };
	struct weir_lease *lease = NULL;

	assert_int_equal(weir_acquire(store, &request, &lease), -ECANCELED);
	assert_null(lease);
	return 0;
}

TASK(cancels_one_that_waits)
{
	struct weir_future *task = spawn(is_cancelled_in_the_queue, NULL);

	assert_int_equal(weir_yield(), 0);
	assert_account(store, "a", 1, 1);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(join(task, NULL), 0);
	assert_account(store, "a", 1, 0);
	return 0;
}

/* What any one system must pass, 1: granted, and cancelled before it ran. */
TASK(cancels_one_that_was_granted)
{
	struct weir_request request = { .name = "a", .deadline = WEIR_NEVER };
	struct weir_future *task = spawn(is_cancelled_in_the_queue, NULL);
	struct weir_lease *next;

	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_release(held), 0);
	assert_account(store, "a", 1, 0);
	assert_int_equal(weir_cancel(task), 0);
	next = acquire(store, &request);
	assert_int_equal(join(task, NULL), 0);
	release(next);
	return 0;
}

TASK(cancels_one_before_it_asks)
{
	struct weir_future *task = spawn(is_cancelled_in_the_queue, NULL);

	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(join(task, NULL), -ECANCELED);
	assert_account(store, "a", 1, 0);
	return 0;
}

TEST(a_cancelled_task_holds_nothing_at_any_instant_P5)
{
	static weir_task_fn *const cases[] = { cancels_one_that_waits, cancels_one_before_it_asks,
					       cancels_one_that_was_granted };
	struct weir_request request = { .name = "a", .limit = 1 };

	for (int i = 0; i < 3; i++) {
		held = acquire(store, &request);
		run_on(WEIR_CLOCK_REAL, cases[i], NULL);
		weir_lease_unref(held);
		assert_account(store, "a", 0, 0);
	}
}

TASK(works_until_it_is_lost)
{
	struct weir_request request = {
		.name = "a", .limit = 1, .ttl = 20 * WEIR_MS, .cancel_on_lost = true
	};
	struct weir_lease *lease = acquire(store, &request);

	assert_int_equal(weir_sleep(3600 * WEIR_SECOND), -ECANCELED);
	assert_false(weir_lease_held(lease));
	assert_int_equal(weir_release(lease), -ESTALE);
	weir_lease_unref(lease);
	return 0;
}

TEST(a_task_is_cancelled_when_its_lease_is_lost_BEHAVIOURS_10)
{
	run_on(WEIR_CLOCK_REAL, works_until_it_is_lost, NULL);
	assert_account(store, "a", 0, 0);
}

TASK(finds_an_empty_stack)
{
	struct weir_request request = { .name = "a", .limit = 3 };
	struct weir_lease *lease;

	assert_int_equal(weir_release_last(store, "a"), -ENOENT);
	lease = acquire(store, &request);
	assert_int_equal(weir_release_last(store, "a"), 0);
	weir_lease_unref(lease);
	return 0;
}

TASK(has_a_stack_of_its_own)
{
	struct weir_request request = { .name = "a", .limit = 3 };
	struct weir_lease *lease = acquire(store, &request);

	assert_int_equal(join(spawn(finds_an_empty_stack, NULL), NULL), 0);
	assert_true(weir_lease_held(lease));
	release(lease);
	return 0;
}

TEST(tasks_and_threads_do_not_see_each_others_stacks_BEHAVIOURS_17)
{
	struct weir_request request = { .name = "a", .limit = 3 };

	held = acquire(store, &request);
	run_on(WEIR_CLOCK_REAL, has_a_stack_of_its_own, NULL);
	assert_true(weir_lease_held(held));
	release(held);
}

TASK(is_dead_locked)
{
	struct weir_request request = { .name = "a", .deadline = WEIR_NEVER };
	struct weir_lease *lease = NULL;

	assert_int_equal(weir_acquire(store, &request, &lease), -EDEADLK);
	assert_account(store, "a", 1, 0);
	return 0;
}

TEST(tasks_that_are_alone_learn_of_a_deadlock)
{
	struct weir_request request = { .name = "a", .limit = 1 };
	struct weir_run_config config = { .alone = true };

	held = acquire(store, &request);
	assert_int_equal(weir_run(is_dead_locked, NULL, &config), 0);
	release(held);
}

TASK(waits_on_the_virtual_clock)
{
	struct weir_request request = { .name = "a", .deadline = weir_after(3600 * WEIR_SECOND) };
	struct weir_lease *lease = NULL;

	assert_int_equal(weir_acquire(store, &request, &lease), -ETIMEDOUT);
	return 0;
}

TEST(a_deadline_is_on_the_callers_clock)
{
	struct weir_request request = { .name = "a", .limit = 1 };

	held = acquire(store, &request);
	run(waits_on_the_virtual_clock, NULL);
	release(held);
}

#define wait_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		wait_test(threads_are_granted_in_their_order_L7_L8),
		wait_test(a_heavy_head_is_not_starved_and_its_leaving_lets_others_by_P3_P4),
		wait_test(a_limit_that_is_raised_wakes_and_one_that_is_lowered_refuses),
		wait_test(a_paused_semaphore_lets_everybody_wait),
		wait_test(too_many_waiters_are_refused),
		wait_test(two_who_wait_under_one_id_get_one_handle_L4),
		wait_test(closing_ends_all_waits),
		wait_test(tasks_wait_as_tasks_P1),
		wait_test(a_cancelled_task_holds_nothing_at_any_instant_P5),
		wait_test(a_task_is_cancelled_when_its_lease_is_lost_BEHAVIOURS_10),
		wait_test(tasks_and_threads_do_not_see_each_others_stacks_BEHAVIOURS_17),
		wait_test(tasks_that_are_alone_learn_of_a_deadlock),
		wait_test(a_deadline_is_on_the_callers_clock),
	};

	return RUN_TESTS(tests);
}

/* task: weir_run, and what becomes of tasks that are left. BEHAVIOURS 29 and 41. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>

TASK(returns_seven)
{
	*value = 7;
	return 0;
}

TASK(fails)
{
	*value = 7;
	return -EIO;
}

TEST(the_roots_value_is_returned)
{
	intptr_t value = 0;
	struct weir_run_config config = { .value = &value };

	assert_int_equal(weir_run(returns_seven, NULL, &config), 0);
	assert_int_equal(value, 7);
	assert_int_equal(weir_run(returns_seven, NULL, NULL), 0);
}

TEST(the_roots_error_is_returned_and_its_value_is_not)
{
	intptr_t value = 1;
	struct weir_run_config config = { .value = &value };

	assert_int_equal(weir_run(fails, NULL, &config), -EIO);
	assert_int_equal(value, 1);
}

TASK(leaves_its_value_alone)
{
	return 0;
}

TEST(a_value_that_is_not_set_is_zero)
{
	intptr_t value = 1;
	struct weir_run_config config = { .value = &value };

	assert_int_equal(weir_run(leaves_its_value_alone, NULL, &config), 0);
	assert_int_equal(value, 0);
}

TASK(sees_its_argument)
{
	assert_int_equal(*(int *)arg, 42);
	*(int *)arg = 43;
	return 0;
}

TEST(the_argument_is_passed)
{
	int number = 42;

	run(sees_its_argument, &number);
	assert_int_equal(number, 43);
}

TEST(a_run_after_a_run_starts_afresh)
{
	for (int i = 0; i < 100; i++)
		assert_int_equal(weir_run(returns_seven, NULL, NULL), 0);
}

TASK(never_starts)
{
	event(arg, "started");
	return 0;
}

TASK(returns_with_queued_work)
{
	weir_future_unref(spawn(never_starts, arg));
	weir_future_unref(spawn(never_starts, arg));
	*value = 1;
	return 0;
}

TEST(work_that_has_not_started_when_the_root_returns_never_does_BEHAVIOURS_41)
{
	struct events events = { "" };
	intptr_t value = 0;
	size_t leftover = 0;
	struct weir_run_config config = { .value = &value, .leftover = &leftover };

	assert_int_equal(weir_run(returns_with_queued_work, &events, &config), 0);
	assert_int_equal(value, 1);
	assert_int_equal(leftover, 2);
	assert_events(&events, "");
}

struct parked {
	struct weir_sem sem;
	struct events events;
};

TASK(cleans_up)
{
	struct parked *parked = arg;

	assert_int_equal(weir_sem_acquire(&parked->sem, 1), -ECANCELED);
	event(&parked->events, "cancelled");
	/* Nothing that waits does so any more, but everything that need not wait goes on. */
	assert_int_equal(weir_sleep(WEIR_SECOND), -ECANCELED);
	assert_int_equal(weir_yield(), -ECANCELED);
	assert_int_equal(weir_sem_release(&parked->sem, 1), 0);
	event(&parked->events, "cleaned");
	return 0;
}

TASK(leaves_a_parked_task)
{
	struct parked *parked = arg;

	assert_int_equal(weir_sem_acquire(&parked->sem, 1), 0);
	weir_future_unref(spawn(cleans_up, parked));
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(stats_of(&parked->sem).waiting, 1);
	event(&parked->events, "returned");
	return 0;
}

TEST(work_that_is_left_is_cancelled_and_unwinds_BEHAVIOURS_41)
{
	struct parked parked = { .sem = WEIR_SEM_INIT(1) };
	size_t leftover = 0;
	struct weir_run_config config = { .leftover = &leftover };

	assert_int_equal(weir_run(leaves_a_parked_task, &parked, &config), 0);
	assert_int_equal(leftover, 1);
	assert_events(&parked.events, "returned cancelled cleaned ");
	assert_permits(&parked.sem, 1, 0, 0);
}

TASK(spawns_when_it_is_too_late)
{
	struct weir_future *child;

	assert_int_equal(weir_sleep(WEIR_SECOND), -ECANCELED);
	child = spawn(never_starts, arg);
	assert_int_equal(weir_shield(true), 0);
	assert_int_equal(join(child, NULL), -ECANCELED);
	event(arg, "joined");
	return 0;
}

TASK(leaves_a_spawner)
{
	weir_future_unref(spawn(spawns_when_it_is_too_late, arg));
	return weir_yield();
}

TEST(a_task_spawned_after_the_root_has_returned_never_starts)
{
	struct events events = { "" };

	assert_int_equal(weir_run(leaves_a_spawner, &events, NULL), 0);
	assert_events(&events, "joined ");
}

TASK(finishes_shielded)
{
	assert_int_equal(weir_shield(true), 0);
	assert_int_equal(weir_sleep(3600 * WEIR_SECOND), 0);
	event(arg, "slept");
	assert_int_equal(weir_shield(false), 0);
	return 0;
}

TASK(leaves_a_shielded_task)
{
	weir_future_unref(spawn(finishes_shielded, arg));
	return weir_yield();
}

TEST(a_shielded_task_that_is_left_is_waited_for)
{
	struct events events = { "" };
	struct weir_run_config config = { .clock = WEIR_CLOCK_VIRTUAL };

	assert_int_equal(weir_run(leaves_a_shielded_task, &events, &config), 0);
	assert_events(&events, "slept ");
}

struct kept {
	struct weir_future *future;
};

TASK(keeps_a_handle)
{
	struct kept *kept = arg;

	kept->future = spawn(returns_seven, NULL);
	return weir_wait(kept->future, WEIR_NEVER, NULL);
}

TEST(a_result_outlives_its_scheduler)
{
	struct kept kept;

	run(keeps_a_handle, &kept);
	assert_true(weir_future_done(kept.future));
	assert_int_equal(value_of(kept.future), 7);
}

TASK(uses_its_stack)
{
	volatile char bytes[48 * 1024];

	memset((void *)bytes, 1, sizeof(bytes));
	*value = bytes[17];
	return 0;
}

TEST(a_stack_has_the_size_that_was_asked_for)
{
	static const size_t sizes[] = { 0, 64 * 1024, 100000, 1 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct weir_run_config config = { .stack_size = sizes[i], .stack_cache = 1 };

		assert_int_equal(weir_run(uses_its_stack, NULL, &config), 0);
	}
}

TASK(plays_with_a_mutex)
{
	struct weir_sem *sem = arg;

	for (int i = 0; i < 1000; i++) {
		WEIR_HOLD(sem, 1) {
			assert_int_equal(weir_yield(), 0);
		}
	}
	return 0;
}

TASK(runs_ten_players)
{
	struct weir_future *players[10];

	for (int i = 0; i < 10; i++)
		players[i] = spawn(plays_with_a_mutex, arg);
	assert_int_equal(weir_gather(players, 10, WEIR_NEVER, NULL), 0);
	drop(players, 10);
	return 0;
}

static void *run_in_thread(void *argument)
{
	run_on(WEIR_CLOCK_REAL, runs_ten_players, argument);
	return NULL;
}

TEST(two_schedulers_run_in_two_threads_and_share_a_semaphore)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	pthread_t thread = start_thread(run_in_thread, &sem);

	run_on(WEIR_CLOCK_REAL, runs_ten_players, &sem);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_permits(&sem, 1, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_roots_value_is_returned),
		cmocka_unit_test(the_roots_error_is_returned_and_its_value_is_not),
		cmocka_unit_test(a_value_that_is_not_set_is_zero),
		cmocka_unit_test(the_argument_is_passed),
		cmocka_unit_test(a_run_after_a_run_starts_afresh),
		cmocka_unit_test(
			work_that_has_not_started_when_the_root_returns_never_does_BEHAVIOURS_41),
		cmocka_unit_test(work_that_is_left_is_cancelled_and_unwinds_BEHAVIOURS_41),
		cmocka_unit_test(a_task_spawned_after_the_root_has_returned_never_starts),
		cmocka_unit_test(a_shielded_task_that_is_left_is_waited_for),
		cmocka_unit_test(a_result_outlives_its_scheduler),
		cmocka_unit_test(a_stack_has_the_size_that_was_asked_for),
		cmocka_unit_test(two_schedulers_run_in_two_threads_and_share_a_semaphore),
	};

	return RUN_TESTS(tests);
}

/* task: every wrong use has a defined error and changes nothing (P8). The list of issue 3. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>
#include <sys/resource.h>

TASK(does_nothing)
{
	return 0;
}

TEST(calls_outside_a_scheduler)
{
	assert_null(weir_spawn(does_nothing, NULL));
	assert_null(weir_self());
	assert_int_equal(weir_yield(), -EINVAL);
	assert_int_equal(weir_shield(true), -EINVAL);
	assert_int_equal(weir_shield(false), -EINVAL);
	assert_int_equal(weir_task_name("nobody"), -EINVAL);
	assert_int_equal(weir_sched_dump(stderr), -EINVAL);
	run(does_nothing, NULL);
	/* A run leaves nothing behind. */
	assert_null(weir_spawn(does_nothing, NULL));
	assert_int_equal(weir_yield(), -EINVAL);
}

static void *call_outside(void *argument)
{
	struct weir_future **spawned = argument;

	*spawned = weir_spawn(does_nothing, NULL);
	return NULL;
}

TASK(lets_a_thread_call)
{
	struct weir_future *spawned = arg;
	pthread_t thread = start_thread(call_outside, &spawned);

	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(spawned);
	return 0;
}

TEST(another_thread_is_outside_while_tasks_run)
{
	int something;

	run(lets_a_thread_call, &something);
}

TEST(bad_configurations)
{
	struct weir_run_config clock = { .clock = (enum weir_clock)2 };
	struct weir_run_config stack = { .stack_size = SIZE_MAX };

	assert_int_equal(weir_run(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(weir_run(does_nothing, NULL, &clock), -EINVAL);
	assert_int_equal(weir_run(does_nothing, NULL, &stack), -EINVAL);
}

TEST(a_run_without_descriptors_is_refused_and_the_next_one_is_not)
{
	struct rlimit usual, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = usual.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(weir_run(does_nothing, NULL, NULL), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	assert_int_equal(weir_run(does_nothing, NULL, NULL), 0);
}

TASK(calls_badly)
{
	struct weir_future *future = promise();
	struct weir_future *with_null[] = { future, NULL };
	struct weir_future *task = spawn(does_nothing, NULL);
	size_t winner = 7;
	intptr_t seen = 7;

	/* A run in a run. */
	assert_int_equal(weir_run(does_nothing, NULL, NULL), -EINVAL);
	assert_null(weir_spawn(NULL, NULL));

	/* Nothing, and NULL. */
	assert_int_equal(weir_gather(NULL, 0, WEIR_NEVER, NULL), 0);
	assert_int_equal(weir_race(NULL, 0, WEIR_NEVER, &winner, &seen), -EINVAL);
	assert_int_equal(weir_gather(NULL, 3, WEIR_NEVER, &seen), -EINVAL);
	assert_int_equal(weir_race(NULL, 3, WEIR_NEVER, &winner, &seen), -EINVAL);
	assert_null(weir_future_ref(NULL));
	assert_false(weir_future_done(NULL));
	weir_future_unref(NULL);
	assert_int_equal(weir_wait(NULL, WEIR_NEVER, &seen), -EINVAL);
	assert_int_equal(weir_gather(with_null, 2, WEIR_NEVER, &seen), -EINVAL);
	assert_int_equal(weir_race(with_null, 2, WEIR_NEVER, &winner, &seen), -EINVAL);
	assert_int_equal(weir_cancel(NULL), -EINVAL);
	assert_int_equal(weir_complete(NULL, 1), -EINVAL);
	assert_int_equal(weir_fail(NULL, -EIO), -EINVAL);
	assert_int_equal(weir_task_name(NULL), -EINVAL);
	assert_int_equal(weir_sched_dump(NULL), -EINVAL);

	/* Ends that nobody may give: a task's, and by an error that is none. */
	assert_int_equal(weir_complete(task, 1), -EINVAL);
	assert_int_equal(weir_fail(task, -EIO), -EINVAL);
	assert_int_equal(weir_fail(future, 0), -EINVAL);
	assert_int_equal(weir_fail(future, EIO), -EINVAL);
	assert_false(weir_future_done(future));
	assert_int_equal(weir_complete(future, 1), 0);
	assert_int_equal(weir_complete(future, 2), -EALREADY);

	assert_int_equal(weir_sleep(-1), -EINVAL);
	assert_int_equal(weir_sleep(INT64_MIN), -EINVAL);
	assert_int_equal(weir_shield(false), -EINVAL);

	assert_int_equal(winner, 7);
	assert_int_equal(seen, 7);
	assert_int_equal(join(task, NULL), 0);
	weir_future_unref(future);
	return 0;
}

TEST(bad_arguments)
{
	run(calls_badly, NULL);
	assert_int_equal(weir_sleep(-1), -EINVAL);
}

TASK(returns_seven)
{
	*value = 3;
	return 7;
}

/* No error, but nothing that could be taken for success either. */
TASK(waits_for_one_that_returns_a_positive_number)
{
	struct weir_future *tasks[] = { spawn(does_nothing, NULL), spawn(returns_seven, NULL) };
	intptr_t values[] = { -1, -1 };
	size_t winner = 2;

	assert_int_equal(weir_gather(tasks, 2, WEIR_NEVER, values), 7);
	assert_int_equal(weir_wait(tasks[1], WEIR_NEVER, values), 7);
	assert_int_equal(weir_race(tasks + 1, 1, WEIR_NEVER, &winner, values), 7);
	assert_int_equal(winner, 0);
	assert_int_equal(values[0], -1);
	assert_int_equal(values[1], -1);
	drop(tasks, 2);
	return 8;
}

TEST(a_positive_result_is_passed_on_and_is_a_failure)
{
	assert_int_equal(weir_run(waits_for_one_that_returns_a_positive_number, NULL, NULL), 8);
}

TASK(waits_for_itself)
{
	struct weir_future *self = *(struct weir_future **)arg;
	struct weir_future *other = promise();
	struct weir_future *both[] = { other, self };

	assert_int_equal(weir_wait(self, WEIR_NEVER, NULL), -EDEADLK);
	assert_int_equal(weir_wait(self, 0, NULL), -EDEADLK);
	assert_int_equal(weir_gather(both, 2, WEIR_NEVER, NULL), -EDEADLK);
	assert_int_equal(weir_race(both, 2, WEIR_NEVER, NULL, NULL), -EDEADLK);
	weir_future_unref(other);
	return 0;
}

TASK(runs_one_that_waits_for_itself)
{
	struct weir_future *task;

	task = spawn(waits_for_itself, &task);
	return join(task, NULL);
}

TEST(waiting_for_oneself)
{
	run(runs_one_that_waits_for_itself, NULL);
}

TASK(releases_too_much)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);

	/* BEHAVIOURS 5, 6: defined, and the task goes on. */
	assert_int_equal(weir_sem_release(&sem, 1), -EOVERFLOW);
	assert_int_equal(weir_sem_init(&sem, 0), -EINVAL);
	assert_int_equal(weir_sem_acquire(&sem, 2), -E2BIG);
	assert_int_equal(weir_sem_acquire(&sem, 0), -EINVAL);
	assert_permits(&sem, 1, 0, 0);
	return 0;
}

TEST(misused_semaphores_BEHAVIOURS_5_6)
{
	run(releases_too_much, NULL);
}

TEST(every_error_has_a_sentence)
{
	static const int errors[] = {
		-EINVAL, -ETIMEDOUT, -ECANCELED, -EDEADLK, -EALREADY, -ENOMEM
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		assert_string_not_equal(weir_strerror(errors[i]), strerror(-errors[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_outside_a_scheduler),
		cmocka_unit_test(another_thread_is_outside_while_tasks_run),
		cmocka_unit_test(bad_configurations),
		cmocka_unit_test(a_run_without_descriptors_is_refused_and_the_next_one_is_not),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(a_positive_result_is_passed_on_and_is_a_failure),
		cmocka_unit_test(waiting_for_oneself),
		cmocka_unit_test(misused_semaphores_BEHAVIOURS_5_6),
		cmocka_unit_test(every_error_has_a_sentence),
	};

	return RUN_TESTS(tests);
}

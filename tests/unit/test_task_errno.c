/* task: errno is each task's own. CHECKLIST_21, as far as tasks that stay in their thread go. */
#include "support/tasks.h"

#include <errno.h>

enum { TURNS = 200 }; /* more than the scheduler runs tasks in one go */

TASK(yields_with_an_errno)
{
	int own = (int)(intptr_t)arg;

	errno = own;
	for (int i = 0; i < TURNS; i++) {
		assert_int_equal(weir_yield(), 0);
		assert_int_equal(errno, own);
	}
	return 0;
}

TASK(waits_in_every_way)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_future *others[] = {
		spawn(yields_with_an_errno, (void *)1),
		spawn(yields_with_an_errno, (void *)2),
		spawn(yields_with_an_errno, (void *)3),
	};

	errno = EDOM;
	assert_int_equal(weir_sleep(WEIR_SECOND), 0);
	assert_int_equal(errno, EDOM);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(weir_sem_acquire_until(&sem, 1, weir_after(1)), -ETIMEDOUT);
	assert_int_equal(errno, EDOM);
	assert_int_equal(weir_gather(others, 3, WEIR_NEVER, NULL), 0);
	assert_int_equal(errno, EDOM);
	for (int i = 0; i < 3; i++)
		assert_int_equal(join(others[i], NULL), 0);
	assert_int_equal(errno, EDOM);
	return 0;
}

TEST(a_call_that_waits_leaves_errno_alone_CHECKLIST_21)
{
	run(waits_in_every_way, NULL);
}

TEST(so_it_is_on_the_real_clock_where_the_scheduler_sleeps)
{
	run_on(WEIR_CLOCK_REAL, waits_in_every_way, NULL);
}

TASK(finds_no_errno_and_leaves_one)
{
	assert_int_equal(errno, 0);
	errno = ERANGE;
	assert_int_equal(weir_sleep(WEIR_MS), 0);
	return (int)(intptr_t)arg;
}

/* It maps memory, and sleeps, and may fail before any task has run. */
TEST(a_run_leaves_its_callers_errno_alone)
{
	const struct weir_run_config too_large = { .stack_size = SIZE_MAX };

	errno = EDOM;
	assert_int_equal(weir_run(finds_no_errno_and_leaves_one, NULL, NULL), 0);
	assert_int_equal(errno, EDOM);
	assert_int_equal(weir_run(finds_no_errno_and_leaves_one, (void *)-EIO, NULL), -EIO);
	assert_int_equal(errno, EDOM);
	assert_int_equal(weir_run(finds_no_errno_and_leaves_one, NULL, &too_large), -EINVAL);
	assert_int_equal(errno, EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_waits_leaves_errno_alone_CHECKLIST_21),
		cmocka_unit_test(so_it_is_on_the_real_clock_where_the_scheduler_sleeps),
		cmocka_unit_test(a_run_leaves_its_callers_errno_alone),
	};

	return RUN_TESTS(tests);
}

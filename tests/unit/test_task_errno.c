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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_waits_leaves_errno_alone_CHECKLIST_21),
		cmocka_unit_test(so_it_is_on_the_real_clock_where_the_scheduler_sleeps),
	};

	return RUN_TESTS(tests);
}

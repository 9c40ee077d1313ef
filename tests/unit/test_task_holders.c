/* task: the report says who holds what others wait for. BEHAVIOURS 15. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>
#include <stdlib.h>

static struct weir_sem_traced traced;
static struct weir_sem *const sem = &traced.counted.sem;

/* The part of a dump that is about the semaphore; to be freed. */
static char *dump(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	assert_int_equal(weir_sched_dump(stream), 0);
	assert_int_equal(fclose(stream), 0);
	return text;
}

static void assert_dump(const char *part)
{
	char *text = dump();

	assert_contains(text, part);
	free(text);
}

TASK(acquires)
{
	int result;

	assert_int_equal(weir_task_name("waiter"), 0);
	result = weir_sem_acquire(arg, 1);
	return result == 0 ? weir_sem_release(arg, 1) : result;
}

static void keep_report(const char *report, void *arg)
{
	(void)snprintf(arg, 2048, "%s", report);
}

TASK(acquires_twice)
{
	struct weir_future *tasks[] = { spawn(acquires, arg), spawn(acquires, arg) };

	assert_int_equal(weir_task_name("root"), 0);
	assert_int_equal(weir_sem_acquire(arg, 1), 0);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_sem_acquire(arg, 1), -EDEADLK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(join(tasks[i], NULL), -EDEADLK);
	return weir_sem_release(arg, 1);
}

static void report_of(struct weir_sem *semaphore, char *report)
{
	struct weir_run_config config = { .clock = WEIR_CLOCK_VIRTUAL,
					  .deadlock = keep_report,
					  .deadlock_arg = report,
					  .alone = true };

	assert_int_equal(weir_run(acquires_twice, semaphore, &config), 0);
}

TEST(a_deadlock_is_told_with_holder_and_waiters_BEHAVIOURS_15)
{
	char report[2048];
	char expected[512];

	assert_int_equal(weir_sem_init_traced(&traced, 1), 0);
	report_of(sem, report);
	(void)snprintf(expected, sizeof(expected),
		       "what they wait for:\n"
		       "  semaphore %p: 1 of 1 held, 3 waiting\n"
		       "    held by task 1 \"root\"\n"
		       "    waited for by task 1 \"root\", task 2 \"waiter\", task 3 \"waiter\"\n",
		       (void *)sem);
	assert_contains(report, expected);
}

TEST(without_a_record_the_report_says_so)
{
	struct weir_sem plain = WEIR_SEM_INIT(1);
	char report[2048];

	report_of(&plain, report);
	assert_contains(report, "    its holders are not recorded (see weir_sem_init_traced)\n");
	assert_contains(report, "    waited for by task 1 \"root\", task 2");
}

TASK(ends_with_a_permit)
{
	return weir_sem_acquire(sem, 1);
}

TASK(holds_two)
{
	assert_int_equal(weir_task_name("heavy"), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_sem_try_acquire(sem, 1), 0);
	return weir_wait(arg, WEIR_NEVER, NULL);
}

static void *acquire_and_tell(void *argument)
{
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_complete(argument, 0), 0);
	return NULL;
}

static void never_called(struct weir_waiter *waiter, int result)
{
	(void)waiter;
	(void)result;
	fail();
}

TASK(looks_at_all_kinds_of_holders)
{
	struct weir_future *end = promise();
	struct weir_future *taken = promise();
	struct weir_future *heavy;
	struct weir_future *waiter;
	struct weir_waiter async = { .n = 0 };
	pthread_t thread;

	assert_int_equal(join(spawn(ends_with_a_permit, NULL), NULL), 0);
	heavy = spawn(holds_two, end);
	assert_int_equal(weir_yield(), 0);
	thread = start_thread(acquire_and_tell, taken);
	assert_int_equal(weir_wait(taken, WEIR_NEVER, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(weir_sem_acquire_async(sem, 1, &async, never_called), 0);
	waiter = spawn(acquires, sem);
	assert_int_equal(weir_yield(), 0);
	assert_permits(sem, 5, 5, 1);
	assert_dump("held by a task that has ended, task 3 \"heavy\" (2 permits), thread ");
	assert_dump(", others (1 permits)\n");

	/* What somebody else gives back is first what is not recorded, then anybody's. */
	assert_int_equal(weir_sem_release(sem, 1), 0);
	assert_int_equal(join(waiter, NULL), 0);
	assert_int_equal(weir_sem_release(sem, 4 - 1), 0);
	assert_int_equal(weir_sem_release(sem, 1), 0);
	assert_permits(sem, 5, 0, 0);
	assert_int_equal(weir_sem_release(sem, 1), -EOVERFLOW);
	assert_int_equal(weir_complete(end, 0), 0);
	assert_int_equal(join(heavy, NULL), 0);
	weir_future_unref(end);
	weir_future_unref(taken);
	return 0;
}

TEST(tasks_threads_and_others_are_told_apart)
{
	assert_int_equal(weir_sem_init_traced(&traced, 5), 0);
	run_on(WEIR_CLOCK_REAL, looks_at_all_kinds_of_holders, NULL);
	for (int i = 0; i < WEIR_SEM_HOLDERS; i++)
		assert_int_equal(traced.slots[i], 0);
}

/* A permit that a cancelled task passes on was never recorded as its own. */
TASK(holds_one_and_is_cancelled_with_another)
{
	assert_int_equal(weir_task_name("greedy"), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), -ECANCELED);
	assert_int_equal(weir_wait(arg, WEIR_NEVER, NULL), 0);
	return weir_sem_release(sem, 1);
}

TASK(cancels_with_a_grant_under_way)
{
	struct weir_future *end = promise();
	struct weir_future *greedy;
	struct weir_future *waiter;

	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	greedy = spawn(holds_one_and_is_cancelled_with_another, end);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_sem_release(sem, 1), 0);
	assert_int_equal(weir_cancel(greedy), 0);
	assert_int_equal(weir_yield(), 0);
	assert_permits(sem, 2, 1, 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	waiter = spawn(acquires, sem);
	assert_int_equal(weir_yield(), 0);
	assert_dump("held by task 1, task 2 \"greedy\"\n");
	assert_int_equal(weir_sem_release(sem, 1), 0);
	assert_int_equal(weir_complete(end, 0), 0);
	assert_int_equal(join(waiter, NULL), 0);
	assert_int_equal(join(greedy, NULL), 0);
	weir_future_unref(end);
	return 0;
}

TEST(a_grant_that_is_passed_on_is_nobodys_CHECKLIST_1)
{
	assert_int_equal(weir_sem_init_traced(&traced, 2), 0);
	run(cancels_with_a_grant_under_way, NULL);
}

TEST(on_the_heap_and_with_more_holders_than_are_recorded)
{
	struct weir_sem *heap = NULL;

	assert_int_equal(weir_sem_new(1, WEIR_SEM_TRACED, &heap), 0);
	assert_true(stats_of(heap).counted);
	assert_int_equal(weir_sem_acquire(heap, 1), 0);
	assert_int_equal(weir_sem_release(heap, 1), 0);
	weir_sem_unref(heap);
	assert_int_equal(weir_sem_new(1, 4, &heap), -EINVAL);
	assert_int_equal(weir_sem_init_traced(&traced, 0), -EINVAL);
}

enum { CROWD = WEIR_SEM_HOLDERS + 4 };

TASK(holds_until)
{
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_wait(arg, WEIR_NEVER, NULL), 0);
	return weir_sem_release(sem, 1);
}

TASK(crowds)
{
	struct weir_future *end = promise();
	struct weir_future *tasks[CROWD + 1];

	for (int i = 0; i <= CROWD; i++)
		tasks[i] = spawn(holds_until, end);
	assert_int_equal(weir_yield(), 0);
	assert_dump("task 17, others (4 permits)\n");
	assert_int_equal(weir_complete(end, 0), 0);
	for (int i = 0; i <= CROWD; i++)
		assert_int_equal(join(tasks[i], NULL), 0);
	weir_future_unref(end);
	return 0;
}

TEST(beyond_the_record_the_rest_are_others)
{
	assert_int_equal(weir_sem_init_traced(&traced, CROWD), 0);
	run(crowds, NULL);
	assert_permits(sem, CROWD, 0, 0);
	for (int i = 0; i < WEIR_SEM_HOLDERS; i++)
		assert_int_equal(traced.slots[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deadlock_is_told_with_holder_and_waiters_BEHAVIOURS_15),
		cmocka_unit_test(without_a_record_the_report_says_so),
		cmocka_unit_test(tasks_threads_and_others_are_told_apart),
		cmocka_unit_test(a_grant_that_is_passed_on_is_nobodys_CHECKLIST_1),
		cmocka_unit_test(on_the_heap_and_with_more_holders_than_are_recorded),
		cmocka_unit_test(beyond_the_record_the_rest_are_others),
	};

	return RUN_TESTS(tests);
}

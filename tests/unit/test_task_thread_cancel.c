/* task: no call is a cancellation point of pthread_cancel. CHECKLIST 24, for tasks. */
#include "support/acquirer.h"
#include "support/tasks.h"

/* An event loop in which another thread, which is to end at its next cancellation point, releases
 * what the task waits for. The scheduler has said by then that it sleeps. */
struct loop {
	struct weir_poller poller;
	struct weir_sem sem;
	bool came_back;
};

static void *release_while_cancelled(void *argument)
{
	struct loop *loop = argument;

	(void)pthread_cancel(pthread_self());
	(void)weir_sem_release(&loop->sem, 1);
	loop->came_back = true;
	pthread_testcancel();
	return NULL;
}

static void loop_wait(struct weir_poller *self, int wake_fd, weir_time deadline)
{
	struct loop *loop = (struct loop *)(void *)self;
	void *result = NULL;
	pthread_t thread;

	(void)deadline;
	if (wake_fd < 0)
		return;
	thread = start_thread(release_while_cancelled, loop);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_true(loop->came_back);
	self->pending = 0;
}

TASK(acquires)
{
	return weir_sem_acquire(arg, 1);
}

TEST(a_release_that_wakes_a_scheduler_is_done_to_its_end_CHECKLIST_24)
{
	struct loop loop = { .poller = { .wait = loop_wait, .pending = 1 },
			     .sem = WEIR_SEM_INIT(1) };
	struct weir_run_config config = { .poller = &loop.poller };

	assert_int_equal(weir_sem_acquire(&loop.sem, 1), 0);
	assert_int_equal(weir_run(acquires, &loop.sem, &config), 0);
	assert_permits(&loop.sem, 1, 1, 0);
}

TASK(sleeps)
{
	return weir_sleep(5 * WEIR_MS);
}

static void *run_while_cancelled(void *argument)
{
	int *result = argument;

	(void)pthread_cancel(pthread_self());
	*result = weir_run(sleeps, NULL, NULL);
	pthread_testcancel();
	return NULL;
}

TEST(a_run_in_which_nobody_does_more_than_wait_is_finished_CHECKLIST_24)
{
	int result = 1;
	void *end = NULL;

	assert_int_equal(pthread_join(start_thread(run_while_cancelled, &result), &end), 0);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	assert_int_equal(result, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_release_that_wakes_a_scheduler_is_done_to_its_end_CHECKLIST_24),
		cmocka_unit_test(
			a_run_in_which_nobody_does_more_than_wait_is_finished_CHECKLIST_24),
	};

	return RUN_TESTS(tests);
}

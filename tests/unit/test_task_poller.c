/* task: a scheduler sleeps in somebody's event loop. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>
#include <poll.h>
#include <weir/sem.h>

/* Wakes one task for each look, as an event loop would that has something to tell each time. */
struct loop {
	struct weir_poller poller;
	struct weir_sem event;
	uint32_t sleeps;
	uint32_t looks;
};

static void loop_wait(struct weir_poller *self, int wake_fd, weir_time deadline)
{
	struct loop *loop = (struct loop *)(void *)self;

	(void)deadline;
	if (wake_fd < 0) {
		loop->looks++;
		return;
	}
	loop->sleeps++;
	if (self->pending > 0) {
		self->pending--;
		assert_int_equal(weir_sem_release(&loop->event, 1), 0);
	} else {
		struct pollfd poll_fd = { .fd = wake_fd, .events = POLLIN };

		(void)poll(&poll_fd, 1, 10000);
	}
}

TASK(waits_for_events)
{
	struct loop *loop = arg;

	for (int i = 0; i < 10; i++) {
		loop->poller.pending++;
		assert_int_equal(weir_sem_acquire(&loop->event, 1), 0);
	}
	return 0;
}

TEST(events_wake_tasks_and_are_no_deadlock)
{
	struct loop loop = { .poller.wait = loop_wait };
	struct weir_run_config config = { .poller = &loop.poller, .alone = true };

	assert_int_equal(weir_sem_init(&loop.event, 1), 0);
	assert_int_equal(weir_sem_acquire(&loop.event, 1), 0);
	assert_int_equal(weir_run(waits_for_events, &loop, &config), 0);
	assert_int_equal(loop.sleeps, 10);
	assert_true(loop.looks >= 10);
}

static void *release_later(void *argument)
{
	assert_int_equal(weir_sleep(20 * WEIR_MS), 0);
	assert_int_equal(weir_sem_release(argument, 1), 0);
	return NULL;
}

TASK(waits_for_a_thread)
{
	struct loop *loop = arg;
	pthread_t thread = start_thread(release_later, &loop->event);

	assert_int_equal(weir_sem_acquire(&loop->event, 1), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return 0;
}

TEST(another_thread_wakes_the_poller)
{
	struct loop loop = { .poller.wait = loop_wait };
	struct weir_run_config config = { .poller = &loop.poller };

	assert_int_equal(weir_sem_init(&loop.event, 1), 0);
	assert_int_equal(weir_sem_acquire(&loop.event, 1), 0);
	assert_int_equal(weir_run(waits_for_a_thread, &loop, &config), 0);
	assert_true(loop.sleeps >= 1);
}

TEST(bad_pollers)
{
	struct weir_poller empty = { 0 };
	struct loop loop = { .poller.wait = loop_wait };
	struct weir_run_config without = { .poller = &empty };
	struct weir_run_config virtual = { .poller = &loop.poller, .clock = WEIR_CLOCK_VIRTUAL };

	assert_int_equal(weir_run(waits_for_events, &loop, &without), -EINVAL);
	assert_int_equal(weir_run(waits_for_events, &loop, &virtual), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_wake_tasks_and_are_no_deadlock),
		cmocka_unit_test(another_thread_wakes_the_poller),
		cmocka_unit_test(bad_pollers),
	};

	return RUN_TESTS(tests);
}

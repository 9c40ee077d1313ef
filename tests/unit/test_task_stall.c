/* task: being told that no task has run for long. BEHAVIOURS 28. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>

/* What another thread does once it knows that a stall was reported. */
struct late {
	struct weir_sem reported; /* a permit for each report */
	struct weir_future *reply;
	char report[2048];
	int calls;
};

static void note(const char *report, void *arg)
{
	struct late *late = arg;

	late->calls++;
	(void)snprintf(late->report, sizeof(late->report), "%s", report);
	assert_int_equal(weir_sem_release(&late->reported, 1), 0);
}

static void *reply_when_it_is_missed(void *argument)
{
	struct late *late = argument;

	assert_int_equal(weir_sem_acquire(&late->reported, 1), 0);
	assert_int_equal(weir_complete(late->reply, 42), 0);
	return NULL;
}

static int run_late(weir_task_fn *root, struct late *late, weir_time stall_after)
{
	struct weir_run_config config = { .stalled = note,
					  .stalled_arg = late,
					  .stall_after = stall_after };

	assert_int_equal(weir_sem_init(&late->reported, 2), 0);
	assert_int_equal(weir_sem_acquire(&late->reported, 2), 0);
	return weir_run(root, late, &config);
}

TASK(sleeps_long)
{
	return weir_sleep(3600 * WEIR_SECOND);
}

/* The sleeper keeps nobody from noticing. */
TASK(waits_for_two_late_replies)
{
	struct late *late = arg;
	struct weir_future *sleeper = spawn(sleeps_long, NULL);

	assert_int_equal(weir_task_name("impatient"), 0);
	for (int i = 1; i <= 2; i++) {
		pthread_t thread;
		char line[64];

		late->reply = promise();
		thread = start_thread(reply_when_it_is_missed, late);
		assert_int_equal(value_of(late->reply), 42);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(late->calls, i);
		(void)snprintf(line, sizeof(line), "for promise %p\n", (void *)late->reply);
		assert_contains(late->report, "stalled: no task has run for 5.000 ms:\n");
		assert_contains(late->report, "  task 1 \"impatient\", started at ");
		assert_contains(late->report, line);
		assert_contains(late->report, "for the end of its sleep\n");
	}
	assert_int_equal(weir_cancel(sleeper), 0);
	assert_int_equal(join(sleeper, NULL), -ECANCELED);
	return 0;
}

TEST(a_stall_is_reported_and_the_result_still_comes_BEHAVIOURS_28)
{
	struct late late = { .calls = 0 };

	assert_int_equal(run_late(waits_for_two_late_replies, &late, 5 * WEIR_MS), 0);
	assert_int_equal(late.calls, 2);
}

TASK(sleeps_a_while)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(weir_sleep(5 * WEIR_MS), 0);
	return 0;
}

TEST(who_only_sleeps_does_not_stall)
{
	struct late late = { .calls = 0 };

	assert_int_equal(run_late(sleeps_a_while, &late, WEIR_MS), 0);
	assert_int_equal(late.calls, 0);
}

TASK(waits_for_sleepers)
{
	struct weir_future *sleepers[2] = { spawn(sleeps_a_while, NULL),
					    spawn(sleeps_a_while, NULL) };
	int result = weir_gather(sleepers, 2, WEIR_NEVER, NULL);

	weir_future_unref(sleepers[0]);
	weir_future_unref(sleepers[1]);
	return result;
}

TEST(who_waits_for_sleepers_does_not_stall)
{
	struct late late = { .calls = 0 };

	assert_int_equal(run_late(waits_for_sleepers, &late, WEIR_MS), 0);
	assert_int_equal(late.calls, 0);
}

static void end_it(const char *report, void *arg)
{
	struct late *late = arg;

	assert_contains(report, "stalled");
	late->calls++;
	assert_int_equal(weir_fail(late->reply, -ETIMEDOUT), 0);
}

TASK(waits_for_a_reply)
{
	struct late *late = arg;

	return weir_wait(late->reply, WEIR_NEVER, NULL);
}

static void *stay(void *argument)
{
	(void)weir_sem_acquire(argument, 1);
	return NULL;
}

/* What is told of it may put an end to it. */
TEST(whoever_is_told_may_end_the_wait)
{
	struct late late = { .reply = promise(), .reported = WEIR_SEM_INIT(1) };
	struct weir_run_config config = { .stalled = end_it,
					  .stalled_arg = &late,
					  .stall_after = WEIR_MS };
	pthread_t bystander;

	assert_int_equal(weir_sem_acquire(&late.reported, 1), 0);
	bystander = start_thread(stay, &late.reported);
	assert_int_equal(weir_run(waits_for_a_reply, &late, &config), -ETIMEDOUT);
	assert_int_equal(late.calls, 1);
	assert_int_equal(weir_sem_release(&late.reported, 1), 0);
	assert_int_equal(pthread_join(bystander, NULL), 0);
	weir_future_unref(late.reply);
}

TASK(does_nothing)
{
	return 0;
}

TEST(half_a_configuration_is_refused)
{
	struct weir_run_config no_time = { .stalled = note };
	struct weir_run_config no_ear = { .stall_after = WEIR_SECOND };
	struct weir_run_config negative = { .stalled = note, .stall_after = -1 };
	struct weir_run_config no_clock = { .stalled = note,
					    .stall_after = WEIR_SECOND,
					    .clock = WEIR_CLOCK_VIRTUAL };

	assert_int_equal(weir_run(does_nothing, NULL, &no_time), -EINVAL);
	assert_int_equal(weir_run(does_nothing, NULL, &no_ear), -EINVAL);
	assert_int_equal(weir_run(does_nothing, NULL, &negative), -EINVAL);
	assert_int_equal(weir_run(does_nothing, NULL, &no_clock), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_is_reported_and_the_result_still_comes_BEHAVIOURS_28),
		cmocka_unit_test(who_only_sleeps_does_not_stall),
		cmocka_unit_test(who_waits_for_sleepers_does_not_stall),
		cmocka_unit_test(whoever_is_told_may_end_the_wait),
		cmocka_unit_test(half_a_configuration_is_refused),
	};

	return RUN_TESTS(tests);
}

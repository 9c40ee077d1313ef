/* park: how a thread waits. */
#include "park/park.h"
#include "support/acquirer.h"
#include "support/futex_watch.h"
#include "support/unit.h"

#include "base/futex.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

/* A thread that parks once. `announced` is set just before it is notified, so whether it was seen
 * tells a wait that was ended from one that ended by itself. */
struct sleeper {
	struct weir__parking parking;
	weir_time deadline;
	enum weir__patience patience;
	bool announced;
	bool saw_announcement;
	int result;
	pthread_t thread;
};

static void *sleeper_body(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->result = weir__park(&sleeper->parking, sleeper->deadline, sleeper->patience);
	sleeper->saw_announcement = __atomic_load_n(&sleeper->announced, __ATOMIC_SEQ_CST);
	return NULL;
}

static void sleeper_start(struct sleeper *sleeper)
{
	futex_watch_start(NULL, 0);
	weir__parking_init(&sleeper->parking);
	sleeper->thread = start_thread(sleeper_body, sleeper);
	while (WEIR__LOAD(&sleeper->parking.word, __ATOMIC_SEQ_CST) != WEIR__PARKED)
		(void)sched_yield();
}

static void sleeper_notify_and_join(struct sleeper *sleeper)
{
	__atomic_store_n(&sleeper->announced, true, __ATOMIC_SEQ_CST);
	weir__unpark(&sleeper->parking);
	(void)pthread_join(sleeper->thread, NULL);
	assert_int_equal(sleeper->result, 0);
	assert_true(sleeper->saw_announcement);
}

TEST(a_fresh_parking_is_the_threads_own)
{
	struct weir__parking parking;

	weir__parking_init(&parking);
	assert_int_equal(parking.word, WEIR__EMPTY);
	assert_ptr_equal(parking.parker, &weir__thread_parker);
}

TEST(unpark_before_park_needs_no_system_call_P7)
{
	static const enum weir__patience all[] = { WEIR__SLEEP, WEIR__WATCH, WEIR__MUST };

	futex_watch_start(NULL, 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct weir__parking parking;

		weir__parking_init(&parking);
		weir__unpark(&parking);
		assert_int_equal(weir__park(&parking, WEIR_NEVER, all[i]), 0);
	}
	assert_int_equal(futex_watch_read().waits, 0);
	assert_int_equal(futex_watch_read().wakes, 0);
}

TEST(unpark_wakes_a_sleeper_with_one_call_P7)
{
	struct sleeper sleeper = { .deadline = WEIR_NEVER, .patience = WEIR__SLEEP };

	sleeper_start(&sleeper);
	sleeper_notify_and_join(&sleeper);
	assert_int_equal(futex_watch_read().wakes, 1);
}

TEST(unpark_reaches_one_who_watches)
{
	for (int i = 0; i < 1000; i++) {
		struct sleeper sleeper = { .deadline = WEIR_NEVER, .patience = WEIR__WATCH };

		weir__parking_init(&sleeper.parking);
		sleeper.thread = start_thread(sleeper_body, &sleeper);
		sleeper_notify_and_join(&sleeper);
	}
}

TEST(a_timeout_is_never_early_P9)
{
	static const enum weir__patience both[] = { WEIR__SLEEP, WEIR__WATCH };

	for (int i = 0; i < 20; i++) {
		weir_time deadline = weir_after(i * WEIR_MS / 4);
		struct weir__parking parking;

		weir__parking_init(&parking);
		assert_int_equal(weir__park(&parking, deadline, both[i % 2]), -ETIMEDOUT);
		assert_true(weir_now() >= deadline);
	}
}

TEST(a_deadline_long_past_is_a_timeout)
{
	static const weir_time past[] = { 1, 0, -1, INT64_MIN };

	for (size_t i = 0; i < sizeof(past) / sizeof(*past); i++) {
		struct weir__parking parking;

		weir__parking_init(&parking);
		assert_int_equal(weir__park(&parking, past[i], WEIR__SLEEP), -ETIMEDOUT);
		assert_int_equal(weir__park(&parking, past[i], WEIR__WATCH), -ETIMEDOUT);
	}
}

TEST(a_notification_beats_a_deadline_long_past)
{
	struct weir__parking parking;

	weir__parking_init(&parking);
	weir__unpark(&parking);
	assert_int_equal(weir__park(&parking, INT64_MIN, WEIR__SLEEP), 0);
}

TEST(a_notification_after_the_timeout_is_kept_P5)
{
	struct weir__parking parking;

	weir__parking_init(&parking);
	assert_int_equal(weir__park(&parking, 1, WEIR__SLEEP), -ETIMEDOUT);
	weir__unpark(&parking);
	assert_int_equal(weir__park(&parking, WEIR_NEVER, WEIR__MUST), 0);
}

TEST(must_ignores_the_deadline_P5)
{
	struct sleeper sleeper = { .deadline = INT64_MIN, .patience = WEIR__MUST };

	sleeper_start(&sleeper);
	while (futex_watch_read().woken == 0)
		weir__futex_wake(&sleeper.parking.word, 1);
	sleeper_notify_and_join(&sleeper);
	assert_int_equal(futex_watch_read().timed_out, 0);
}

TEST(must_after_a_timeout_waits_for_the_other_side_P5)
{
	struct sleeper sleeper = { .deadline = INT64_MIN, .patience = WEIR__MUST };

	futex_watch_start(NULL, 0);
	weir__parking_init(&sleeper.parking);
	assert_int_equal(weir__park(&sleeper.parking, 1, WEIR__SLEEP), -ETIMEDOUT);
	sleeper.thread = start_thread(sleeper_body, &sleeper);
	while (futex_watch_read().woken == 0)
		weir__futex_wake(&sleeper.parking.word, 1);
	sleeper_notify_and_join(&sleeper);
}

TEST(a_spurious_wake_is_no_notification_CHECKLIST_10)
{
	struct sleeper sleeper = { .deadline = WEIR_NEVER, .patience = WEIR__SLEEP };

	sleeper_start(&sleeper);
	while (futex_watch_read().woken < 100)
		weir__futex_wake(&sleeper.parking.word, 1);
	sleeper_notify_and_join(&sleeper);
}

static void do_nothing(int signal)
{
	(void)signal;
}

TEST(a_signal_is_no_notification_CHECKLIST_10)
{
	struct sleeper sleeper = { .deadline = WEIR_NEVER, .patience = WEIR__SLEEP };
	struct sigaction action = { .sa_handler = do_nothing }; /* without SA_RESTART */
	struct sigaction before;

	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	sleeper_start(&sleeper);
	while (futex_watch_read().interrupted < 100) {
		(void)pthread_kill(sleeper.thread, SIGUSR1);
		(void)sched_yield();
	}
	sleeper_notify_and_join(&sleeper);
	(void)sigaction(SIGUSR1, &before, NULL);
}

/* Were the time that is left counted anew after each interruption, this would never end. */
TEST(interruptions_do_not_prolong_a_wait_P9_CHECKLIST_10)
{
	struct sleeper sleeper = { .deadline = weir_after(20 * WEIR_MS), .patience = WEIR__SLEEP };

	sleeper_start(&sleeper);
	while (futex_watch_read().timed_out == 0)
		weir__futex_wake(&sleeper.parking.word, 1);
	(void)pthread_join(sleeper.thread, NULL);
	assert_int_equal(sleeper.result, -ETIMEDOUT);
	assert_true(weir_now() >= sleeper.deadline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fresh_parking_is_the_threads_own),
		cmocka_unit_test(unpark_before_park_needs_no_system_call_P7),
		cmocka_unit_test(unpark_wakes_a_sleeper_with_one_call_P7),
		cmocka_unit_test(unpark_reaches_one_who_watches),
		cmocka_unit_test(a_timeout_is_never_early_P9),
		cmocka_unit_test(a_deadline_long_past_is_a_timeout),
		cmocka_unit_test(a_notification_beats_a_deadline_long_past),
		cmocka_unit_test(a_notification_after_the_timeout_is_kept_P5),
		cmocka_unit_test(must_ignores_the_deadline_P5),
		cmocka_unit_test(must_after_a_timeout_waits_for_the_other_side_P5),
		cmocka_unit_test(a_spurious_wake_is_no_notification_CHECKLIST_10),
		cmocka_unit_test(a_signal_is_no_notification_CHECKLIST_10),
		cmocka_unit_test(interruptions_do_not_prolong_a_wait_P9_CHECKLIST_10),
	};

	return RUN_TESTS(tests);
}

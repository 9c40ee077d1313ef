/* base: futexes. */
#include "base/futex.h"
#include "support/acquirer.h"
#include "support/futex_watch.h"
#include "support/unit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

TEST(a_changed_word_does_not_sleep)
{
	uint32_t word = 7;

	assert_int_equal(weir__futex_wait(&word, 8, WEIR_NEVER), -EAGAIN);
}

/* A deadline of CLOCK_MONOTONIC, taken for one of CLOCK_REALTIME, would be decades in the past:
 * that it is not early also shows which clock it is on. */
TEST(a_timeout_is_never_early_P9_CHECKLIST_12)
{
	uint32_t word = 7;

	for (int i = 0; i < 20; i++) {
		weir_time deadline = weir_after(i * WEIR_MS / 2);

		assert_int_equal(weir__futex_wait(&word, 7, deadline), -ETIMEDOUT);
		assert_true(weir_now() >= deadline);
	}
}

TEST(a_deadline_long_past_is_a_timeout)
{
	static const weir_time past[] = { 1, 0, -1, -WEIR_SECOND, INT64_MIN };
	uint32_t word = 7;

	for (size_t i = 0; i < sizeof(past) / sizeof(*past); i++)
		assert_int_equal(weir__futex_wait(&word, 7, past[i]), -ETIMEDOUT);
}

struct sleeper {
	uint32_t word;
	weir_time deadline;
	int result;
	pthread_t thread;
};

static void *sleep_once(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->result = weir__futex_wait(&sleeper->word, 7, sleeper->deadline);
	return NULL;
}

static void sleeper_start(struct sleeper *sleeper)
{
	futex_watch_start(NULL, 0);
	sleeper->thread = start_thread(sleep_once, sleeper);
}

TEST(a_wake_ends_a_sleep)
{
	struct sleeper sleeper = { .word = 7, .deadline = WEIR_NEVER };

	sleeper_start(&sleeper);
	while (futex_watch_read().woken == 0)
		weir__futex_wake(&sleeper.word, 1);
	(void)pthread_join(sleeper.thread, NULL);
	assert_int_equal(sleeper.result, 0);
}

TEST(a_deadline_far_off_is_slept_towards)
{
	static const weir_time far[] = { WEIR_NEVER - 1, WEIR_NEVER / 2, 1000000 * WEIR_SECOND };

	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
		struct sleeper sleeper = { .word = 7, .deadline = far[i] };

		sleeper_start(&sleeper);
		while (futex_watch_read().woken + futex_watch_read().timed_out == 0)
			weir__futex_wake(&sleeper.word, 1);
		(void)pthread_join(sleeper.thread, NULL);
		assert_int_equal(sleeper.result, 0);
	}
}

static void do_nothing(int signal)
{
	(void)signal;
}

TEST(a_signal_interrupts_and_says_so_CHECKLIST_10)
{
	struct sleeper sleeper = { .word = 7, .deadline = WEIR_NEVER };
	struct sigaction action = { .sa_handler = do_nothing }; /* without SA_RESTART */
	struct sigaction before;

	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	sleeper_start(&sleeper);
	while (futex_watch_read().interrupted == 0) {
		(void)pthread_kill(sleeper.thread, SIGUSR1);
		(void)sched_yield();
	}
	(void)pthread_join(sleeper.thread, NULL);
	(void)sigaction(SIGUSR1, &before, NULL);
	assert_int_equal(sleeper.result, -EINTR);
}

TEST(a_wake_at_memory_that_is_gone_is_harmless_P6_CHECKLIST_6)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t *word = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);

	assert_ptr_not_equal(word, MAP_FAILED);
	(void)munmap(word, size);
	errno = 12345;
	weir__futex_wake(word, 1);
	assert_int_equal(errno, 12345);
}

TEST(errno_is_left_alone)
{
	uint32_t word = 7;

	errno = 12345;
	(void)weir__futex_wait(&word, 8, WEIR_NEVER);
	(void)weir__futex_wait(&word, 7, 1);
	(void)weir__futex_wait(&word, 7, -1);
	weir__futex_wake(&word, 1);
	assert_int_equal(errno, 12345);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_word_does_not_sleep),
		cmocka_unit_test(a_timeout_is_never_early_P9_CHECKLIST_12),
		cmocka_unit_test(a_deadline_long_past_is_a_timeout),
		cmocka_unit_test(a_wake_ends_a_sleep),
		cmocka_unit_test(a_deadline_far_off_is_slept_towards),
		cmocka_unit_test(a_signal_interrupts_and_says_so_CHECKLIST_10),
		cmocka_unit_test(a_wake_at_memory_that_is_gone_is_harmless_P6_CHECKLIST_6),
		cmocka_unit_test(errno_is_left_alone),
	};

	return RUN_TESTS(tests);
}

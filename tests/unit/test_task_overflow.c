/* task: the last words on a stack that overflowed. Each case is a child process. */
#include "support/acquirer.h"
#include "support/child.h"
#include "support/on_top.h"
#include "support/tasks.h"

#include <stdlib.h>

enum { LARGE = 1 << 20 };

static int dig(int depth)
{
	volatile char frame[512];

	frame[0] = (char)depth;
	return depth == 0 ? 0 : dig(depth - 1) + frame[0];
}

TASK(digs)
{
	assert_int_equal(weir_task_name("digger"), 0);
	*value = dig(1000000);
	return 0;
}

TASK(lets_one_dig)
{
	return join(spawn(digs, NULL), NULL);
}

static void overflow(void)
{
	(void)weir_run(lets_one_dig, NULL, NULL);
}

TEST(an_overflow_names_the_task_and_ends_the_process)
{
	struct end end = end_of(overflow);

	assert_end(end, SIGSEGV, 0);
	assert_contains(end.said,
			"weir: task 2 \"digger\" has overflowed its stack of 59456 bytes");
	assert_contains(end.said, "it runs the function at ");
	assert_contains(end.said, "stack_size");
}

static void overflow_a_larger_one(void)
{
	struct weir_run_config config = { .stack_size = LARGE };

	(void)weir_run(digs, NULL, &config);
}

TEST(so_it_does_for_the_root_and_says_how_large_the_stack_was)
{
	struct end end = end_of(overflow_a_larger_one);

	assert_end(end, SIGSEGV, 0);
	assert_contains(end.said, "weir: task 1 \"digger\" has overflowed its stack of ");
	assert_true(strtoul(strstr(end.said, "stack of ") + 9, NULL, 10) >= LARGE);
}

/* Waits at every depth: in the end what the wait itself needs is too much. */
static __attribute__((noinline)) int dig_and_wait(int depth)
{
	volatile char frame[16];

	frame[0] = (char)depth;
	(void)weir_sleep_until(0);
	return depth == 0 ? 0 : dig_and_wait(depth - 1) + frame[0];
}

static enum weir_clock clock_of_wait;
static int head_start;

TASK(digs_and_waits)
{
	assert_int_equal(weir_task_name("digger"), 0);
	*value = head_start > 0 ? (head_start--, digs_and_waits(arg, value)) :
				  dig_and_wait(1000000);
	return 0;
}

static void overflow_in_a_wait(void)
{
	struct weir_run_config config = { .clock = clock_of_wait };

	(void)weir_run(digs_and_waits, NULL, &config);
}

/* Where exactly it is too much depends on where one begins. */
TEST(one_that_was_about_to_wait_is_named_too)
{
	/* It may be within ThreadSanitizer itself, which has a lock then that the handler needs. */
	if (UNDER_TSAN)
		skip();
	for (int i = 0; i < 8; i++) {
		struct end end;

		head_start = i / 2;
		clock_of_wait = i % 2 ? WEIR_CLOCK_VIRTUAL : WEIR_CLOCK_REAL;
		end = end_of(overflow_in_a_wait);
		assert_end(end, SIGSEGV, 0);
		assert_contains(end.said, "weir: task 1 \"digger\" has overflowed its stack of ");
	}
}

/* What is left of its stack when it waits, and lets a task run that is ready. */
static size_t room;

static __attribute__((noinline)) void yield_with_little_room(const char *lowest)
{
	size_t more = (size_t)((char *)__builtin_frame_address(0) - lowest) - room;
	volatile char *frame = __builtin_alloca(more);

	frame[more - 1] = 0;
	(void)weir_yield();
	frame[more - 1] = 1; /* so the frame is there until then */
}

TASK(yields_with_little_room)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t size = 64 << 10;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	assert_int_equal(weir_task_name("digger"), 0);
	yield_with_little_room((const char *)(here / size * size + page));
	return 0;
}

TASK(is_always_ready)
{
	while (weir_yield() == 0)
		;
	return 0;
}

TASK(lets_one_yield_beside_another)
{
	struct weir_future *other = spawn(is_always_ready, NULL);
	int result = join(spawn(yields_with_little_room, NULL), NULL);

	assert_int_equal(weir_cancel(other), 0);
	weir_future_unref(other);
	return result;
}

static void overflow_in_a_switch(void)
{
	_exit(weir_run(lets_one_yield_beside_another, NULL, NULL));
}

TEST(one_that_was_about_to_let_another_run_is_named_too)
{
	int overflows = 0;

	/* They have frames of their own in between, and this is about single bytes. */
	if (UNDER_TSAN || UNDER_ASAN)
		skip();
	for (room = 16; room < 512; room += 16) {
		struct end end = end_of(overflow_in_a_switch);

		if (strcmp(end.said, "") == 0) {
			assert_end(end, 0, 0);
			continue;
		}
		overflows++;
		assert_end(end, SIGSEGV, 0);
		assert_contains(end.said, "weir: task 3 \"digger\" has overflowed its stack of ");
	}
	assert_in_range(overflows, 3, 25);
}

TASK(sleeps)
{
	return weir_sleep(3600 * WEIR_SECOND);
}

/* The root's stack is followed by another one, whose page at the lower end is next. */
TASK(writes_beyond_the_upper_end)
{
	volatile char small[64];
	volatile char *end = small;

	(void)spawn(sleeps, NULL);
	(void)weir_yield();
	__asm__("" : "+r"(end)); /* the compiler is not to see where it ends */
	for (size_t i = 0; i < 2 * 64 << 10; i++)
		end[i] = 1;
	return 0;
}

static void write_beyond_the_upper_end(void)
{
	(void)weir_run(writes_beyond_the_upper_end, NULL, NULL);
}

TEST(nobody_is_named_for_what_another_one_wrote)
{
	struct end end;

	/* It says so itself. */
	if (UNDER_ASAN)
		skip();
	end = end_of(write_beyond_the_upper_end);
	assert_end(end, SIGSEGV, 0);
	assert_string_equal(end.said, "");
}

static void overflow_without_us(void)
{
	struct weir_run_config config = { .no_fault_handler = true };

	(void)weir_run(digs, NULL, &config);
}

TEST(who_wants_no_handler_gets_none)
{
	struct end end = end_of(overflow_without_us);

	assert_end(end, SIGSEGV, 0);
	assert_string_equal(end.said, "");
}

static void report_and_leave(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	say("reporter");
	_exit(8);
}

static void overflow_with_a_reporter(void)
{
	install(SA_SIGINFO | SA_ONSTACK, report_and_leave);
	overflow();
}

static void overflow_with_a_handler_that_has_no_room(void)
{
	install(SA_SIGINFO, report_and_leave);
	overflow();
}

TEST(a_reporter_of_crashes_hears_of_the_overflow_after_us)
{
	struct end end = end_of(overflow_with_a_reporter);

	assert_end(end, 0, 8);
	assert_contains(end.said, "weir: task 2 \"digger\"");
	assert_contains(end.said, "reporter");
	/* Without SA_ONSTACK it was never called for an overflow. */
	end = end_of(overflow_with_a_handler_that_has_no_room);
	assert_end(end, SIGSEGV, 0);
	assert_contains(end.said, "weir: task 2 \"digger\"");
	assert_null(strstr(end.said, "reporter"));
}

static void overflow_below_another_handler(void)
{
	(void)weir_run(installs_a_handler, NULL, NULL);
	overflow();
}

TEST(below_a_handler_that_passes_on_it_is_explained_too)
{
	struct end end = end_of(overflow_below_another_handler);

	assert_end(end, SIGSEGV, 0);
	assert_contains(end.said, "top weir: task 2 \"digger\"");
}

/* Several threads, each with a scheduler. */

TASK(returns)
{
	return 0;
}

TASK(waits_for_the_others)
{
	return weir_wait(arg, WEIR_NEVER, NULL);
}

static void *run_one_that_waits(void *promise_)
{
	(void)weir_run(waits_for_the_others, promise_, NULL);
	return NULL;
}

static void *run_one_that_digs(void *arg)
{
	(void)weir_run(digs, arg, NULL);
	return NULL;
}

static void overflow_in_one_of_three_threads(void)
{
	struct weir_future *end = promise();
	pthread_t threads[3];

	threads[0] = start_thread(run_one_that_waits, end);
	threads[1] = start_thread(run_one_that_waits, end);
	/* One that has come and gone takes nothing away from the others. */
	(void)weir_run(returns, NULL, NULL);
	threads[2] = start_thread(run_one_that_digs, NULL);
	(void)pthread_join(threads[2], NULL);
}

TEST(every_thread_with_a_scheduler_is_watched)
{
	struct end end = end_of(overflow_in_one_of_three_threads);

	assert_end(end, SIGSEGV, 0);
	assert_contains(end.said, "weir: task 1 \"digger\" has overflowed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_overflow_names_the_task_and_ends_the_process),
		cmocka_unit_test(so_it_does_for_the_root_and_says_how_large_the_stack_was),
		cmocka_unit_test(one_that_was_about_to_wait_is_named_too),
		cmocka_unit_test(one_that_was_about_to_let_another_run_is_named_too),
		cmocka_unit_test(nobody_is_named_for_what_another_one_wrote),
		cmocka_unit_test(who_wants_no_handler_gets_none),
		cmocka_unit_test(a_reporter_of_crashes_hears_of_the_overflow_after_us),
		cmocka_unit_test(below_a_handler_that_passes_on_it_is_explained_too),
		cmocka_unit_test(every_thread_with_a_scheduler_is_watched),
	};

	return RUN_TESTS(tests);
}

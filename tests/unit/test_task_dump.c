/* task: names, and the list of all tasks. */
#include "park/park.h"
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>
#include <stdlib.h>

/* The text of a dump; to be freed. */
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

TASK(sleeps)
{
	assert_int_equal(weir_task_name("sleeper"), 0);
	return weir_sleep(WEIR_SECOND);
}

TASK(acquires)
{
	assert_int_equal(weir_task_name("a very long name of a task, longer than is kept"), 0);
	return weir_sem_acquire(arg, 1);
}

TASK(waits)
{
	return weir_wait(arg, WEIR_NEVER, NULL);
}

TASK(gathers)
{
	struct weir_future *both[] = { arg, arg };

	return weir_gather(both, 2, WEIR_NEVER, NULL);
}

TASK(does_nothing)
{
	return 0;
}

TASK(dumps)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_future *future = promise();
	struct weir_future *tasks[7];
	char *text;
	char line[128];

	assert_int_equal(weir_task_name("the root"), 0);
	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	tasks[0] = spawn(sleeps, NULL);
	tasks[1] = spawn(acquires, &sem);
	tasks[2] = spawn(waits, future);
	tasks[3] = spawn(waits, tasks[0]);
	tasks[4] = spawn(gathers, tasks[2]);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_cancel(tasks[1]), 0);
	tasks[5] = spawn(does_nothing, NULL);
	tasks[6] = spawn(does_nothing, NULL);
	assert_int_equal(weir_cancel(tasks[6]), 0);
	text = dump();

	assert_contains(text, "8 tasks:\n");
	assert_contains(text, "  task 1 \"the root\", started at ");
	assert_contains(text, ": runs\n");
	assert_contains(text, "  task 2 \"sleeper\", started at ");
	assert_contains(text, ": waits for the end of its sleep\n");
	/* It was taken out of the queue by the cancel, and has not run since. */
	assert_contains(text, "  task 3 \"a very long name of a t\", started at ");
	assert_contains(text, ": is ready, cancelled\n");
	(void)snprintf(line, sizeof(line), ": waits for promise %p\n", (void *)future);
	assert_contains(text, line);
	assert_contains(text, ": waits for task 2 \"sleeper\"\n");
	assert_contains(text, ": waits for task 4, task 4\n");
	assert_contains(text, ": has not started\n");
	assert_contains(text, ": has not started, cancelled\n");
	free(text);

	assert_int_equal(weir_complete(future, 0), 0);
	for (int i = 0; i < 7; i++)
		assert_int_equal(join(tasks[i], NULL), i == 1 || i == 6 ? -ECANCELED : 0);
	weir_future_unref(future);
	text = dump();
	assert_contains(text, "1 task");
	assert_null(strstr(text, "task 2"));
	free(text);
	return 0;
}

TEST(a_dump_says_what_everybody_does)
{
	run(dumps, NULL);
}

static void assert_named(const char *name, const char *kept)
{
	char line[64];
	char *text;

	assert_int_equal(weir_task_name(name), 0);
	text = dump();
	(void)snprintf(line, sizeof(line), "  task 1 \"%s\", started at ", kept);
	assert_contains(text, line);
	free(text);
}

/* Nobody forges a line of the report, or moves the cursor of whoever reads it. */
TASK(names_itself_badly)
{
	assert_named("a\n  task 9 \"b\", runs", "a?  task 9 ?b?, runs");
	assert_named("\x1b[2J\x7f\r\t\x01", "?[2J????");
	/* A character is kept whole or not at all. */
	assert_named("na\xc3\xafve", "na\xc3\xafve");
	assert_named("123456789012345678901\xc3\xa9", "123456789012345678901\xc3\xa9");
	assert_named("1234567890123456789012\xc3\xa9", "1234567890123456789012");
	assert_named("12345678901234567890\xf0\x9f\x98\x80", "12345678901234567890");
	assert_named("12345678901234567890123\xc3\xa9", "12345678901234567890123");
	return 0;
}

TEST(a_name_is_printed_as_one_word)
{
	run(names_itself_badly, NULL);
}

TASK(dumps_one_that_waits)
{
	const weir_time *begin = arg;
	struct weir_future *future = promise();
	struct weir_future *task = spawn(waits, future);
	const char *lasts;
	double ms;
	char *text;

	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_sleep(2 * WEIR_MS), 0);
	text = dump();
	lasts = strstr(text, "has waited ");
	assert_non_null(lasts);
	assert_int_equal(sscanf(lasts, "has waited %lf ms for promise ", &ms), 1);
	/* Two clocks that need not agree to the last. */
	assert_true(ms > 1 && ms < (double)(weir_now() - *begin) / WEIR_MS * 1.5);
	free(text);
	assert_int_equal(weir_complete(future, 0), 0);
	assert_int_equal(join(task, NULL), 0);
	weir_future_unref(future);
	return 0;
}

/* On the virtual clock, where all other tests here run, it would be a time that nobody knows. */
TEST(a_dump_says_for_how_long_on_the_real_clock)
{
	weir_time begin = weir_now(); /* a scheduler's idea of the time may be a little old */

	run_on(WEIR_CLOCK_REAL, dumps_one_that_waits, &begin);
}

TASK(parks_for_nothing_known)
{
	struct weir__parking parking;

	weir__parking_init(&parking);
	return weir__park(&parking, WEIR_NEVER, WEIR__SLEEP);
}

TASK(dumps_an_unknown_wait)
{
	struct weir_future *task = spawn(parks_for_nothing_known, NULL);
	char *text;

	assert_int_equal(weir_yield(), 0);
	text = dump();
	assert_contains(text, ": waits for something\n");
	free(text);
	assert_int_equal(weir_cancel(task), 0);
	assert_int_equal(join(task, NULL), -ECANCELED);
	return 0;
}

TEST(a_wait_that_nobody_described_is_something)
{
	run(dumps_an_unknown_wait, NULL);
}

static void *close_and_free(void *sem)
{
	weir_sem_close(sem);
	free(sem);
	return NULL;
}

/* Whoever was told of it need not have run before it is freed. */
TASK(dumps_who_waited_for_what_is_gone)
{
	struct weir_sem *sem = malloc(sizeof(*sem));
	struct weir_future *task;
	pthread_t thread;
	char *text;

	assert_non_null(sem);
	assert_int_equal(weir_sem_init(sem, 1), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	task = spawn(acquires, sem);
	assert_int_equal(weir_yield(), 0);
	thread = start_thread(close_and_free, sem);
	assert_int_equal(pthread_join(thread, NULL), 0);
	text = dump();
	assert_null(strstr(text, "semaphore"));
	assert_contains(text, ": is ready\n");
	free(text);
	assert_int_equal(join(task, NULL), -ESHUTDOWN);
	return 0;
}

TEST(a_dump_knows_what_another_thread_has_told)
{
	run(dumps_who_waited_for_what_is_gone, NULL);
}

enum { CROWD = 300 };

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	for (size_t length; *text != '\0'; text += length + 1) {
		length = strcspn(text, "\n");
		longest = length > longest ? length : longest;
	}
	return longest;
}

TASK(gathers_a_crowd)
{
	struct weir_future *tasks[CROWD];

	for (int i = 0; i < CROWD; i++)
		tasks[i] = spawn(waits, arg);
	assert_int_equal(weir_gather(tasks, CROWD, WEIR_NEVER, NULL), 0);
	drop(tasks, CROWD);
	return 0;
}

TASK(dumps_a_crowd)
{
	struct weir_future *future = promise();
	struct weir_future *task = spawn(gathers_a_crowd, future);
	char *text;

	assert_int_equal(weir_yield(), 0);
	assert_int_equal(weir_yield(), 0);
	text = dump();
	assert_contains(text, "task 3, task 4, ");
	assert_contains(text, " and 280 more\n");
	assert_in_range(longest_line(text), 100, 500);
	free(text);
	assert_int_equal(weir_complete(future, 0), 0);
	weir_future_unref(future);
	return join(task, NULL);
}

TEST(a_dump_has_no_endless_lines)
{
	run(dumps_a_crowd, NULL);
}

TASK(dumps_where_there_is_no_room)
{
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	if (arg)
		setbuf(full, NULL);
	errno = 4711;
	assert_int_equal(weir_sched_dump(full), -EIO);
	assert_int_equal(errno, 4711);
	(void)fclose(full); /* which fails if something is in its buffer still */
	return 0;
}

TEST(a_dump_that_cannot_be_written_says_so)
{
	static int unbuffered;

	run(dumps_where_there_is_no_room, NULL);
	run(dumps_where_there_is_no_room, &unbuffered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dump_says_what_everybody_does),
		cmocka_unit_test(a_dump_says_for_how_long_on_the_real_clock),
		cmocka_unit_test(a_name_is_printed_as_one_word),
		cmocka_unit_test(a_wait_that_nobody_described_is_something),
		cmocka_unit_test(a_dump_knows_what_another_thread_has_told),
		cmocka_unit_test(a_dump_has_no_endless_lines),
		cmocka_unit_test(a_dump_that_cannot_be_written_says_so),
	};

	return RUN_TESTS(tests);
}

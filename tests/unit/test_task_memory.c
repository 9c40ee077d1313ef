/* task: memory: flat over thousands of cycles, and what happens when there is none.
 *
 * The linker puts counters, and a way to fail, before the functions that bring memory (--wrap). */
#include "base/lock.h"
#include "base/pages.h"
#include "support/acquirer.h"
#include "support/scarce.h"
#include "support/tasks.h"

#include <errno.h>

enum {
	CYCLES = 5000,
	/* What a scheduler has: its ready queue, its list of warm stacks, either twice while it
	 * grows, and four chunks of records: 120. */
	SCHEDULER = 7,
};

void *__real_weir__pages_map(size_t size);
void *__wrap_weir__pages_map(size_t size);
void __real_weir__pages_unmap(void *pages, size_t size);
void __wrap_weir__pages_unmap(void *pages, size_t size);
void __real_weir__unlock(struct weir__lock *lock);
void __wrap_weir__unlock(struct weir__lock *lock);

static int mapped;
static int slabs; /* ever mapped */
static bool no_pages;
static struct weir_future *to_drop; /* as soon as it has ended */

void *__wrap_weir__pages_map(size_t size)
{
	if (no_pages)
		return NULL;
	mapped++;
	slabs++;
	return __real_weir__pages_map(size);
}

void __wrap_weir__pages_unmap(void *pages, size_t size)
{
	mapped--;
	__real_weir__pages_unmap(pages, size);
}

/* Plays another thread, which comes in between. */
void __wrap_weir__unlock(struct weir__lock *lock)
{
	struct weir_future *future = to_drop;

	if (future && weir_future_done(future)) {
		to_drop = NULL;
		weir_future_unref(future);
		assert_int_equal(scarce_alive(), 1);
	}
	__real_weir__unlock(lock);
}

static int start(void **state)
{
	(void)state;
	scarce_watch();
	slabs = 0;
	(void)scarce_end();
	no_pages = false;
	return 0;
}

static int check_all_is_gone(void **state)
{
	(void)state;
	return scarce_alive() == 0 && mapped == 0 ? 0 : -1;
}

TASK(completes)
{
	return weir_complete(arg, 1);
}

TASK(cycles)
{
	for (int i = 0; i < CYCLES; i++) {
		struct weir_future *future = promise();
		struct weir_future *task = spawn(completes, future);

		assert_int_equal(value_of(future), 1);
		assert_int_equal(join(task, NULL), 0);
	}
	return 0;
}

TEST(five_thousand_cycles_keep_memory_flat_BEHAVIOURS_42)
{
	run(cycles, NULL);
	/* The root, a promise, a task and nobody else; one slab of stacks. */
	assert_true(scarce_most_alive() <= SCHEDULER + 3);
	assert_int_equal(slabs, 1);
}

TASK(two)
{
	*value = 2;
	return 0;
}

TASK(keeps_handles)
{
	struct weir_future *tasks[100];

	for (int i = 0; i < 100; i++)
		tasks[i] = spawn(two, NULL);
	for (int i = 0; i < CYCLES; i++)
		assert_int_equal(value_of(spawn(two, NULL)), 2);
	/* Results live as long as their handles. */
	for (int i = 0; i < 100; i++)
		assert_int_equal(value_of(tasks[i]), 2);
	return 0;
}

TEST(a_result_lives_as_long_as_its_handle_and_no_longer_BEHAVIOURS_42)
{
	run(keeps_handles, NULL);
	assert_true(scarce_most_alive() <= SCHEDULER + 1 + 100 + 1);
	assert_int_equal(slabs, 1);
}

TASK(forgets)
{
	for (int i = 0; i < CYCLES; i++) {
		weir_future_unref(spawn(two, NULL));
		if (i % 100 == 0)
			assert_int_equal(weir_yield(), 0);
	}
	return weir_yield();
}

TEST(tasks_whose_handles_are_dropped_vanish)
{
	run(forgets, NULL);
	assert_true(scarce_most_alive() <= SCHEDULER + 1 + 101);
	assert_int_equal(slabs, 1);
}

TASK(waits_on)
{
	return weir_wait(arg, WEIR_NEVER, NULL);
}

/* With a small cache most of the stacks go cold in between. */
TASK(uses_many_stacks)
{
	static struct weir_future *tasks[1000];

	for (int round = 0; round < 5; round++) {
		struct weir_future *future = promise();

		for (int i = 0; i < 1000; i++)
			tasks[i] = spawn(waits_on, future);
		assert_int_equal(weir_yield(), 0);
		assert_int_equal(weir_complete(future, 0), 0);
		assert_int_equal(weir_gather(tasks, 1000, WEIR_NEVER, NULL), 0);
		drop(tasks, 1000);
		weir_future_unref(future);
	}
	return 0;
}

TEST(stacks_are_reused_whatever_the_cache)
{
	static const size_t caches[] = { 1, 100, 0 };

	for (int i = 0; i < 3; i++) {
		struct weir_run_config config = { .stack_cache = caches[i], .alone = true };

		slabs = 0;
		assert_int_equal(weir_run(uses_many_stacks, NULL, &config), 0);
		assert_int_equal(slabs, 2);
	}
}

static void *cancel(void *argument)
{
	(void)weir_cancel(argument);
	return NULL;
}

TASK(is_cancelled_as_it_ends)
{
	pthread_t thread;

	assert_int_equal(weir_sleep(WEIR_SECOND), -ECANCELED);
	thread = start_thread(cancel, *(struct weir_future **)arg);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return 0;
}

TASK(leaves_it)
{
	struct weir_future **task = arg;

	*task = spawn(is_cancelled_as_it_ends, task);
	return weir_yield();
}

/* What is on its way when a scheduler ends holds a handle, and lets go of it. */
TEST(a_cancel_that_comes_too_late_leaks_nothing)
{
	struct weir_future *task;

	assert_int_equal(weir_run(leaves_it, &task, NULL), 0);
	assert_int_equal(join(task, NULL), 0);
}

TEST(who_sees_a_promise_ended_may_drop_the_last_handle_P6)
{
	to_drop = promise();
	assert_int_equal(weir_complete(to_drop, 1), 0);
	to_drop = promise();
	assert_int_equal(weir_fail(to_drop, -EIO), 0);
	to_drop = promise();
	assert_int_equal(weir_cancel(to_drop), 0);
	assert_null(to_drop);
}

TEST(without_memory_there_is_no_promise)
{
	scarce_after(0, true);
	assert_null(weir_promise());
}

TEST(without_memory_there_is_no_run)
{
	no_pages = true;
	assert_int_equal(weir_run(two, NULL, NULL), -ENOMEM);
	no_pages = false;
	scarce_after(0, true);
	assert_int_equal(weir_run(two, NULL, NULL), -ENOMEM);
	(void)scarce_end();
	assert_int_equal(weir_run(two, NULL, NULL), 0);
}

TASK(finds_no_memory)
{
	struct weir_future *futures[] = { promise(), promise() };
	static struct weir_future *tasks[600];
	int count = 0;

	scarce_after(0, true);
	assert_null(weir_spawn(two, NULL));
	assert_int_equal(weir_gather(futures, 2, WEIR_NEVER, NULL), -ENOMEM);
	assert_int_equal(weir_race(futures, 2, WEIR_NEVER, NULL, NULL), -ENOMEM);
	/* Waiting for one takes no memory, and neither does anything with a semaphore. */
	assert_int_equal(weir_wait(futures[0], weir_after(1), NULL), -ETIMEDOUT);
	assert_int_equal(weir_sleep(1), 0);

	/* No stack: as many tasks as the first slab holds. */
	(void)scarce_end();
	no_pages = true;
	while (count < 600 && (tasks[count] = weir_spawn(two, NULL)) != NULL)
		count++;
	assert_in_range(count, 1, 599);
	for (int i = 0; i < count; i++)
		assert_int_equal(value_of(tasks[i]), 2);
	assert_int_equal(value_of(spawn(two, NULL)), 2);
	drop(futures, 2);
	return 0;
}

TEST(a_task_that_finds_no_memory_is_told_and_goes_on)
{
	run(finds_no_memory, NULL);
}

enum { PARKED = 100 };

struct crowd {
	struct weir_sem sem;
	char *places[PARKED]; /* one of each stack */
	uint32_t count;
};

TASK(waits_in_a_crowd)
{
	struct crowd *crowd = arg;
	char place;

	crowd->places[crowd->count++] = &place;
	return weir_sem_acquire(&crowd->sem, 1);
}

TASK(looks_at_the_stacks_of_others)
{
	struct crowd *crowd = arg;
	struct weir_future *tasks[PARKED];
	size_t page = weir__page_size();

	assert_int_equal(weir_sem_acquire(&crowd->sem, 1), 0);
	for (int i = 0; i < PARKED; i++) {
		tasks[i] = spawn(waits_in_a_crowd, crowd);
		/* Nobody is ready then, and the one that has come last watches for a while. */
		assert_int_equal(weir_sleep(1), 0);
	}
	assert_int_equal(stats_of(&crowd->sem).waiting, PARKED);
	for (int i = 0; i < PARKED; i++) {
		char *top = crowd->places[i] - (uintptr_t)crowd->places[i] % page;

		assert_int_equal(weir__pages_untouched(top, page), 0);
		assert_int_equal(weir__pages_untouched(top - page, page), page);
	}
	weir_sem_close(&crowd->sem);
	for (int i = 0; i < PARKED; i++)
		assert_int_equal(join(tasks[i], NULL), -ESHUTDOWN);
	return 0;
}

TEST(a_task_that_waits_has_touched_one_page)
{
	struct crowd crowd = { .sem = WEIR_SEM_INIT(1) };

	/* A sanitizer's frames are several times as large. */
	if (UNDER_ASAN || UNDER_TSAN)
		skip();
	run_on(WEIR_CLOCK_REAL, looks_at_the_stacks_of_others, &crowd);
}

#define memory_test(name) cmocka_unit_test_setup_teardown(name, start, check_all_is_gone)

int main(void)
{
	const struct CMUnitTest tests[] = {
		memory_test(five_thousand_cycles_keep_memory_flat_BEHAVIOURS_42),
		memory_test(a_result_lives_as_long_as_its_handle_and_no_longer_BEHAVIOURS_42),
		memory_test(tasks_whose_handles_are_dropped_vanish),
		memory_test(stacks_are_reused_whatever_the_cache),
		memory_test(a_cancel_that_comes_too_late_leaks_nothing),
		memory_test(who_sees_a_promise_ended_may_drop_the_last_handle_P6),
		memory_test(without_memory_there_is_no_promise),
		memory_test(without_memory_there_is_no_run),
		memory_test(a_task_that_finds_no_memory_is_told_and_goes_on),
		memory_test(a_task_that_waits_has_touched_one_page),
	};

	return RUN_TESTS(tests);
}

/* support: what nearly every test of tasks says.
 *
 * A test's tasks run on the virtual clock, so that a second lasts no time and every run is the
 * same, unless the test is about other threads. */
#ifndef TESTS_SUPPORT_TASKS_H
#define TESTS_SUPPORT_TASKS_H

#include "support/sanitizers.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

#define TASK(name) \
	static int name(void *arg __attribute__((unused)), intptr_t *value __attribute__((unused)))

/* Runs a root that must succeed and leave nobody behind. */
static inline void run_deep(enum weir_clock clock, size_t stack_size, weir_task_fn *root, void *arg)
{
	size_t leftover = SIZE_MAX;
	struct weir_run_config config = { .clock = clock,
					  .stack_size = stack_size,
					  .leftover = &leftover };

	if (UNDER_ASAN) /* what it puts between variables makes frames several times as large */
		config.stack_size = 256 << 10;

	assert_int_equal(weir_run(root, arg, &config), 0);
	assert_int_equal(leftover, 0);
}

static inline void run_on(enum weir_clock clock, weir_task_fn *root, void *arg)
{
	run_deep(clock, 0, root, arg);
}

static inline void run(weir_task_fn *root, void *arg)
{
	run_on(WEIR_CLOCK_VIRTUAL, root, arg);
}

static inline struct weir_future *spawn(weir_task_fn *fn, void *arg)
{
	struct weir_future *future = weir_spawn(fn, arg);

	assert_non_null(future);
	return future;
}

static inline struct weir_future *promise(void)
{
	struct weir_future *future = weir_promise();

	assert_non_null(future);
	return future;
}

/* Waits for the end, drops the handle. */
static inline int join(struct weir_future *future, intptr_t *value)
{
	int result = weir_wait(future, WEIR_NEVER, value);

	weir_future_unref(future);
	return result;
}

/* The same for one that must succeed. */
static inline intptr_t value_of(struct weir_future *future)
{
	intptr_t value = -1;

	assert_int_equal(join(future, &value), 0);
	return value;
}

/* Drops handles whose ends nobody waits for. */
static inline void drop(struct weir_future **futures, size_t n)
{
	for (size_t i = 0; i < n; i++)
		weir_future_unref(futures[i]);
}

/* What happened, in order: words with a blank after each. */
struct events {
	char text[512];
};

static inline void event(struct events *events, const char *word)
{
	size_t length = strlen(events->text);

	assert_true(length + strlen(word) + 2 <= sizeof(events->text));
	(void)snprintf(events->text + length, sizeof(events->text) - length, "%s ", word);
}

#define assert_events(events, expected) assert_string_equal((events)->text, (expected))

#endif

/* lease: callers with small stacks. What a store does for them is done on a stack that is large
 * enough, whoever asks. A stack that is too small ends in a fault. */
#include "support/lite.h"
#include "support/tasks.h"

#include <limits.h>
#include <pthread.h>

static struct weir_store *store;

static int setup(void **state)
{
	int error = lite_setup(state);

	/* Longer than a test, so that only a message ends a wait. */
	strcat(lite_url, "&heartbeat=2m&default_ttl=10m");
	store = lite_open();
	return error;
}

static int teardown(void **state)
{
	weir_store_close(store);
	return lite_teardown(state);
}

#define STACK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- what they do ---------------------------------------------------------------------------- */

static void take_and_give(const char *name)
{
	struct weir_lease *lease = lite_acquire(store, name, 1, weir_after(60 * WEIR_SECOND));

	assert_int_equal(weir_renew(lease, 0), 0);
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
}

static int count(void *arg, const struct weir_sem_info *info)
{
	(void)info;
	(*(int *)arg)++;
	return 0;
}

/* All verbs, and waits that others end. */
static void do_all(void)
{
	const struct weir_visitor visitor = { .semaphore = count };
	struct weir_lease *lease;
	int semaphores = 0;

	for (int i = 0; i < 50; i++)
		take_and_give("shared");
	assert_int_equal(weir_ensure(store, "own", 2), 1);
	assert_int_equal(weir_set_limit(store, "own", 1), 0);
	lease = lite_acquire(store, "own", 0, 0);
	assert_true(weir_lease_bind_fd(lease) >= 0);
	assert_int_equal(weir_acquire(store,
				      &(struct weir_request){ .name = "own",
							      .deadline = weir_after(WEIR_MS) },
				      &lease),
			 -ETIMEDOUT);
	assert_int_equal(weir_list(store, NULL, 0, &visitor, &semaphores), 0);
	assert_int_equal(semaphores, 2);
	assert_int_equal(weir_reap(store, 10), 0);
	weir_lease_unref(lease);
}

static bool must_end;

/* Waits and is waited for, with an ordinary stack. */
static void *disturb(void *argument)
{
	(void)argument;
	while (!__atomic_load_n(&must_end, __ATOMIC_RELAXED))
		take_and_give("shared");
	return NULL;
}

static pthread_t start_disturbing(void)
{
	pthread_t thread;

	__atomic_store_n(&must_end, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, disturb, NULL), 0);
	return thread;
}

static void end_disturbing(pthread_t thread)
{
	__atomic_store_n(&must_end, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- on what --------------------------------------------------------------------------------- */

static void *do_all_in_thread(void *argument)
{
	(void)argument;
	do_all();
	return NULL;
}

TEST(a_thread_may_have_the_smallest_stack)
{
	pthread_t other = start_disturbing();
	pthread_attr_t attributes;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN), 0);
	assert_int_equal(pthread_create(&thread, &attributes, do_all_in_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
	end_disturbing(other);
}

TASK(do_all_in_task)
{
	(void)arg;
	do_all();
	return 0;
}

TEST(a_task_may_have_a_small_stack)
{
	struct weir_run_config config = { .stack_size = 8 * 1024 };
	pthread_t other = start_disturbing();

	assert_int_equal(weir_run(do_all_in_task, NULL, &config), 0);
	end_disturbing(other);
}

int main(void)
{
	if (UNDER_ASAN || UNDER_TSAN)
		return 77; /* they make every frame larger */

	const struct CMUnitTest tests[] = {
		STACK_TEST(a_thread_may_have_the_smallest_stack),
		STACK_TEST(a_task_may_have_a_small_stack),
	};

	return RUN_TESTS(tests);
}

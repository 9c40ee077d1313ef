/* task: a task's own handle. */
#include "support/acquirer.h"
#include "support/tasks.h"

#include <errno.h>

TASK(returns_itself)
{
	assert_non_null(weir_self());
	*value = (intptr_t)weir_self();
	return 0;
}

TASK(compares)
{
	struct weir_future *task = spawn(returns_itself, NULL);
	intptr_t seen = 0;

	assert_int_equal(weir_wait(task, WEIR_NEVER, &seen), 0);
	assert_ptr_equal((void *)seen, task);
	assert_ptr_not_equal(weir_self(), task);
	/* A wait in between changes nothing. */
	assert_int_equal(weir_yield(), 0);
	assert_ptr_not_equal(weir_self(), task);
	weir_future_unref(task);
	return 0;
}

TEST(it_is_what_the_spawner_has)
{
	run(compares, NULL);
}

TASK(waits_for_itself)
{
	struct weir_future *both[] = { weir_self(), weir_self() };

	assert_int_equal(weir_wait(weir_self(), WEIR_NEVER, NULL), -EDEADLK);
	assert_int_equal(weir_gather(both, 2, WEIR_NEVER, NULL), -EDEADLK);
	assert_int_equal(weir_race(both, 2, WEIR_NEVER, NULL, NULL), -EDEADLK);
	assert_false(weir_future_done(weir_self()));
	/* It is a task's and not a promise. */
	assert_int_equal(weir_complete(weir_self(), 1), -EINVAL);
	return 0;
}

TEST(waiting_for_oneself_is_an_error)
{
	run(waits_for_itself, NULL);
}

TASK(cancels_itself)
{
	assert_int_equal(weir_cancel(weir_self()), 0);
	return weir_yield();
}

TEST(the_root_can_cancel_itself)
{
	assert_int_equal(weir_run(cancels_itself, NULL, NULL), -ECANCELED);
}

/* Hands its handle out, and stays until somebody uses it. */
TASK(hands_itself_out)
{
	assert_int_equal(weir_complete(arg, (intptr_t)weir_future_ref(weir_self())), 0);
	return weir_sleep_until(WEIR_NEVER);
}

static void *cancel_the_root(void *argument)
{
	struct weir_future *root;
	intptr_t handed = 0;

	assert_int_equal(weir_wait(argument, WEIR_NEVER, &handed), 0);
	root = (struct weir_future *)handed;
	assert_int_equal(weir_cancel(root), 0);
	assert_int_equal(weir_wait(root, WEIR_NEVER, NULL), -ECANCELED);
	weir_future_unref(root);
	return NULL;
}

TEST(another_thread_can_cancel_the_root_and_wait_for_it)
{
	struct weir_future *handed = promise();
	pthread_t thread = start_thread(cancel_the_root, handed);

	assert_int_equal(weir_run(hands_itself_out, handed, NULL), -ECANCELED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	weir_future_unref(handed);
}

TASK(leaves_its_handle)
{
	*(struct weir_future **)arg = weir_future_ref(weir_self());
	*value = 7;
	return 0;
}

TEST(a_handle_outlives_the_task_and_the_run)
{
	struct weir_future *root = NULL;

	run(leaves_its_handle, &root);
	assert_true(weir_future_done(root));
	assert_int_equal(weir_cancel(root), 0);
	assert_int_equal(value_of(root), 7);
}

TASK(child_waits_for_the_root)
{
	return weir_wait(arg, weir_after(WEIR_SECOND), NULL);
}

TASK(lets_a_child_wait_for_it)
{
	struct weir_future *child = spawn(child_waits_for_the_root, weir_self());

	assert_int_equal(join(child, NULL), -ETIMEDOUT);
	return 0;
}

TEST(a_child_can_wait_for_its_parent)
{
	run(lets_a_child_wait_for_it, NULL);
}

TEST(outside_a_task_there_is_none)
{
	assert_null(weir_self());
	assert_int_equal(weir_run(cancels_itself, NULL, NULL), -ECANCELED);
	assert_null(weir_self());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_what_the_spawner_has),
		cmocka_unit_test(waiting_for_oneself_is_an_error),
		cmocka_unit_test(the_root_can_cancel_itself),
		cmocka_unit_test(another_thread_can_cancel_the_root_and_wait_for_it),
		cmocka_unit_test(a_handle_outlives_the_task_and_the_run),
		cmocka_unit_test(a_child_can_wait_for_its_parent),
		cmocka_unit_test(outside_a_task_there_is_none),
	};

	return RUN_TESTS(tests);
}

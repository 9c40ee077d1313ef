/* task: tasks and semaphores. BEHAVIOURS 1 to 20, and CHECKLIST 1 to 4 with real tasks.
 *
 * Lines 5, 6 and 13 are about the semaphore alone: see test_bad_input.c and test_init.c. */
#include "support/tasks.h"

#include <errno.h>
#include <stdlib.h>

struct scene {
	struct weir_sem sem;
	struct events events;
	int inside;
	int most;
};

struct actor {
	struct scene *scene;
	const char *name;
};

/* Takes the permit, says so and gives it back. */
TASK(enters)
{
	struct actor *actor = arg;
	int result = weir_sem_acquire(&actor->scene->sem, 1);

	if (result == 0) {
		event(&actor->scene->events, actor->name);
		assert_int_equal(weir_sem_release(&actor->scene->sem, 1), 0);
	}
	return result;
}

TASK(takes_and_gives)
{
	struct weir_sem *sem = arg;

	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_sem_release(sem, 1), 0);
	assert_permits(sem, 1, 0, 0);
	return 0;
}

TEST(one_task_takes_and_gives_at_once_BEHAVIOURS_1)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);

	run(takes_and_gives, &sem);
}

TASK(holds_while_another_comes)
{
	struct scene *scene = arg;
	struct actor second = { scene, "second" };
	struct weir_future *task = spawn(enters, &second);

	assert_int_equal(weir_sem_acquire(&scene->sem, 1), 0);
	assert_int_equal(weir_sleep(WEIR_SECOND), 0);
	event(&scene->events, "first");
	assert_int_equal(weir_sem_release(&scene->sem, 1), 0);
	return join(task, NULL);
}

TEST(the_second_enters_after_the_first_has_released_BEHAVIOURS_2)
{
	struct scene scene = { .sem = WEIR_SEM_INIT(1) };

	run(holds_while_another_comes, &scene);
	assert_events(&scene.events, "first second ");
}

/* Three tasks parked on a permit that the caller holds. */
static void park_three(struct scene *scene, struct actor *actors, struct weir_future **tasks)
{
	static const char *const names[] = { "first", "second", "third" };

	assert_int_equal(weir_sem_acquire(&scene->sem, 1), 0);
	for (int i = 0; i < 3; i++) {
		actors[i] = (struct actor){ scene, names[i] };
		tasks[i] = spawn(enters, &actors[i]);
	}
	assert_int_equal(weir_yield(), 0);
	assert_permits(&scene->sem, 1, 1, 3);
}

TASK(releases_for_three)
{
	struct scene *scene = arg;
	struct actor actors[3];
	struct weir_future *tasks[3];

	park_three(scene, actors, tasks);
	assert_int_equal(weir_sem_release(&scene->sem, 1), 0);
	/* BEHAVIOURS 7: a later one does not steal what was handed on. */
	assert_int_equal(weir_sem_try_acquire(&scene->sem, 1), -EAGAIN);
	assert_int_equal(weir_sem_acquire(&scene->sem, 1), 0);
	event(&scene->events, "root");
	assert_int_equal(weir_sem_release(&scene->sem, 1), 0);
	assert_int_equal(weir_gather(tasks, 3, WEIR_NEVER, NULL), 0);
	drop(tasks, 3);
	return 0;
}

TEST(waiters_are_served_in_order_and_nobody_steals_BEHAVIOURS_3_7)
{
	struct scene scene = { .sem = WEIR_SEM_INIT(1) };

	run(releases_for_three, &scene);
	assert_events(&scene.events, "first second third root ");
	assert_permits(&scene.sem, 1, 0, 0);
}

TASK(cancels_one_of_three)
{
	struct scene *scene = ((struct actor *)arg)->scene;
	int victim = ((struct actor *)arg)->name[0] - '0';
	struct actor actors[3];
	struct weir_future *tasks[3];

	park_three(scene, actors, tasks);
	assert_int_equal(weir_cancel(tasks[victim]), 0);
	assert_int_equal(weir_sem_release(&scene->sem, 1), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(join(tasks[i], NULL), i == victim ? -ECANCELED : 0);
	return 0;
}

TEST(a_cancelled_waiter_costs_no_permit_BEHAVIOURS_8_CHECKLIST_3)
{
	static const char *const rest[] = { "second third ", "first third ", "first second " };

	for (int i = 0; i < 3; i++) {
		struct scene scene = { .sem = WEIR_SEM_INIT(1) };
		const char victim[] = { (char)('0' + i), 0 };
		struct actor argument = { &scene, victim };

		run(cancels_one_of_three, &argument);
		assert_events(&scene.events, rest[i]);
		assert_permits(&scene.sem, 1, 0, 0);
	}
}

TASK(cancels_the_granted)
{
	struct scene *scene = arg;
	struct actor actors[3];
	struct weir_future *tasks[3];

	park_three(scene, actors, tasks);
	/* The permit is the first one's, who has not run yet. */
	assert_int_equal(weir_sem_release(&scene->sem, 1), 0);
	assert_permits(&scene->sem, 1, 1, 2);
	assert_int_equal(weir_cancel(tasks[0]), 0);
	assert_int_equal(join(tasks[0], NULL), -ECANCELED);
	assert_int_equal(join(tasks[1], NULL), 0);
	assert_int_equal(join(tasks[2], NULL), 0);
	return 0;
}

TEST(a_permit_handed_to_the_cancelled_goes_on_BEHAVIOURS_9_CHECKLIST_1)
{
	struct scene scene = { .sem = WEIR_SEM_INIT(1) };

	run(cancels_the_granted, &scene);
	assert_events(&scene.events, "second third ");
	assert_permits(&scene.sem, 1, 0, 0);
}

TASK(takes_two)
{
	return weir_sem_acquire(arg, 2);
}

TASK(takes_one)
{
	return weir_sem_acquire(arg, 1);
}

TASK(cancels_a_heavy_head)
{
	struct weir_sem *sem = arg;
	struct weir_future *heavy = spawn(takes_two, sem);
	struct weir_future *light = spawn(takes_one, sem);

	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_yield(), 0);
	assert_permits(sem, 2, 1, 2);
	assert_int_equal(weir_cancel(heavy), 0);
	assert_int_equal(join(light, NULL), 0);
	assert_int_equal(join(heavy, NULL), -ECANCELED);
	return 0;
}

TEST(a_heavy_head_that_is_cancelled_lets_the_next_in_CHECKLIST_2)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);

	run(cancels_a_heavy_head, &sem);
	assert_permits(&sem, 2, 2, 0);
}

TASK(drops_the_last_handle)
{
	struct weir_sem *sem;
	struct weir_sem *alias;
	struct weir_future *task;

	assert_int_equal(weir_sem_new(1, 0, &sem), 0);
	alias = weir_sem_ref(sem);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	task = spawn(takes_one, sem);
	assert_int_equal(weir_yield(), 0);
	/* BEHAVIOURS 12: an alias keeps it, and its waiters. */
	weir_sem_unref(sem);
	assert_int_equal(weir_yield(), 0);
	assert_int_equal(stats_of(alias).waiting, 1);
	weir_sem_unref(alias);
	assert_int_equal(join(task, NULL), -ESHUTDOWN);
	return 0;
}

TEST(dropping_the_last_handle_ends_the_wait_BEHAVIOURS_10_11_12)
{
	run(drops_the_last_handle, NULL);
}

TASK(interleaves)
{
	struct scene *scene = arg;

	for (int i = 0; i < 3; i++) {
		WEIR_HOLD(&scene->sem, 1) {
			event(&scene->events, "(");
			assert_int_equal(weir_yield(), 0);
			event(&scene->events, ")");
		}
	}
	return 0;
}

TASK(runs_two)
{
	struct weir_future *tasks[] = { spawn(interleaves, arg), spawn(interleaves, arg) };

	assert_int_equal(weir_gather(tasks, 2, WEIR_NEVER, NULL), 0);
	drop(tasks, 2);
	return 0;
}

TEST(in_a_mutex_entries_and_exits_never_interleave_BEHAVIOURS_14)
{
	struct scene scene = { .sem = WEIR_SEM_INIT(1) };

	run(runs_two, &scene);
	assert_events(&scene.events, "( ) ( ) ( ) ( ) ( ) ( ) ");
}

struct crowd {
	struct scene scene;
	intptr_t size;
	weir_time took;
	bool sleeps; /* inside, or else only yields */
};

struct member {
	struct crowd *crowd;
	intptr_t number;
};

TASK(joins_the_crowd)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;
	struct scene *scene = &crowd->scene;
	int error;

	WEIR_HOLD(&scene->sem, 1, &error) {
		if (++scene->inside > scene->most)
			scene->most = scene->inside;
		error = crowd->sleeps ? weir_sleep(WEIR_SECOND / 2) : weir_yield();
		scene->inside--;
		*value = member->number;
	}
	return error;
}

TASK(gathers_the_crowd)
{
	struct crowd *crowd = arg;
	size_t size = (size_t)crowd->size;
	struct member *members = calloc(size, sizeof(*members));
	struct weir_future **tasks = calloc(size, sizeof(*tasks));
	intptr_t *values = calloc(size, sizeof(*values));
	weir_time start = weir_now();

	assert_true(members && tasks && values);
	for (intptr_t i = 0; i < crowd->size; i++) {
		members[i] = (struct member){ crowd, i };
		tasks[i] = spawn(joins_the_crowd, &members[i]);
	}
	assert_int_equal(weir_gather(tasks, size, WEIR_NEVER, values), 0);
	crowd->took = weir_now() - start;
	for (intptr_t i = 0; i < crowd->size; i++)
		assert_int_equal(values[i], i);
	drop(tasks, size);
	free(members);
	free(tasks);
	free(values);
	return 0;
}

TEST(never_more_inside_than_permits_and_results_in_order_BEHAVIOURS_4_16_17_18)
{
	static const struct {
		uint32_t permits;
		intptr_t size;
		bool sleeps;
	} cases[] = { { 3, 6, false }, { 3, 10, false }, { 10, 50, false },  { 5, 20, true },
		      { 2, 6, false }, { 10, 20, true }, { 10, 1000, true }, { 1, 500, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct crowd crowd = { .size = cases[i].size, .sleeps = cases[i].sleeps };
		weir_time batches = (cases[i].size + cases[i].permits - 1) / cases[i].permits;

		assert_int_equal(weir_sem_init(&crowd.scene.sem, cases[i].permits), 0);
		run(gathers_the_crowd, &crowd);
		assert_int_equal(crowd.scene.most, cases[i].permits);
		assert_int_equal(crowd.took, crowd.sleeps ? batches * WEIR_SECOND / 2 : 0);
		assert_permits(&crowd.scene.sem, cases[i].permits, 0, 0);
	}
}

/* A value that is made when it is first asked for. */
struct lazy {
	struct weir_sem lock;
	bool made;
	int attempts;
	int failures_to_come;
};

TASK(asks)
{
	struct lazy *lazy = arg;
	int error;

	WEIR_HOLD(&lazy->lock, 1, &error) {
		if (lazy->made)
			continue;
		lazy->attempts++;
		error = weir_sleep(WEIR_SECOND);
		if (error == 0 && lazy->failures_to_come-- > 0)
			error = -EIO;
		lazy->made = error == 0;
	}
	return error;
}

TASK(asks_many_times)
{
	struct lazy keys[2] = { { .lock = WEIR_SEM_INIT(1) },
				{ .lock = WEIR_SEM_INIT(1), .failures_to_come = 1 } };
	struct weir_future *tasks[10];
	weir_time start = weir_now();

	for (int i = 0; i < 10; i++)
		tasks[i] = spawn(asks, &keys[i % 2]);
	/* The first who asks for the second key fails; the next one tries again. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(join(tasks[i], NULL), i == 1 ? -EIO : 0);
	assert_int_equal(keys[0].attempts, 1);
	assert_int_equal(keys[1].attempts, 2);
	/* The keys did not wait for each other. */
	assert_int_equal(weir_now() - start, 2 * WEIR_SECOND);
	return 0;
}

TEST(lazy_values_are_made_once_and_again_after_a_failure_BEHAVIOURS_19)
{
	run(asks_many_times, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_task_takes_and_gives_at_once_BEHAVIOURS_1),
		cmocka_unit_test(the_second_enters_after_the_first_has_released_BEHAVIOURS_2),
		cmocka_unit_test(waiters_are_served_in_order_and_nobody_steals_BEHAVIOURS_3_7),
		cmocka_unit_test(a_cancelled_waiter_costs_no_permit_BEHAVIOURS_8_CHECKLIST_3),
		cmocka_unit_test(a_permit_handed_to_the_cancelled_goes_on_BEHAVIOURS_9_CHECKLIST_1),
		cmocka_unit_test(a_heavy_head_that_is_cancelled_lets_the_next_in_CHECKLIST_2),
		cmocka_unit_test(dropping_the_last_handle_ends_the_wait_BEHAVIOURS_10_11_12),
		cmocka_unit_test(in_a_mutex_entries_and_exits_never_interleave_BEHAVIOURS_14),
		cmocka_unit_test(
			never_more_inside_than_permits_and_results_in_order_BEHAVIOURS_4_16_17_18),
		cmocka_unit_test(lazy_values_are_made_once_and_again_after_a_failure_BEHAVIOURS_19),
	};

	return RUN_TESTS(tests);
}

/* park and sem: a waiter of another kind than a thread.
 *
 * A scripted parker stands in for a scheduler's: "parked" means that it runs what the script says
 * the rest of the world does meanwhile, in the same thread, and then gives up or says that it was
 * notified. So races between a grant and a cancellation are played through move by move. */
#include "park/park.h"
#include "support/acquirer.h"
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>

struct script {
	struct weir_sem *sem;
	void (*meanwhile)(struct script *script);
	int gives_up;         /* 0, or the error that its first park returns */
	struct async next[3]; /* waiters behind it, for scripts that queue some */
	uint32_t parks;
	uint32_t musts;
	uint32_t unparks;
};

static int script_park(struct weir__parking *parking, weir_time deadline,
		       enum weir__patience patience)
{
	struct script *script = parking->self;

	(void)deadline;
	script->parks++;
	if (patience == WEIR__MUST) {
		script->musts++;
		assert_int_equal(script->unparks, 1);
		return 0;
	}
	script->meanwhile(script);
	if (script->gives_up)
		return script->gives_up;
	assert_int_equal(script->unparks, 1);
	return 0;
}

static int script_unpark(struct weir__parking *parking)
{
	struct script *script = parking->self;

	script->unparks++;
	return 0;
}

static const struct weir__parker script_parker = { .park = script_park, .unpark = script_unpark };

/* Acquires n as the scripted waiter. */
static int play(struct script *script, uint32_t n)
{
	int result;

	weir__parker_set(&script_parker, script);
	result = weir_sem_acquire(script->sem, n);
	weir__parker_set(NULL, NULL);
	return result;
}

static void nothing(struct script *script)
{
	(void)script;
}

static void release_one(struct script *script)
{
	assert_int_equal(weir_sem_release(script->sem, 1), 0);
}

static void queue_one_more(struct script *script)
{
	assert_int_equal(async_acquire(&script->next[0], script->sem, 1), 1);
}

static void queue_one_more_and_release_one(struct script *script)
{
	queue_one_more(script);
	release_one(script);
	/* P3: the permit went to the waiter in front. */
	assert_int_equal(script->unparks, 1);
	assert_int_equal(script->next[0].calls, 0);
}

static void close_it(struct script *script)
{
	weir_sem_close(script->sem);
}

static void shrink_to_one(struct script *script)
{
	assert_int_equal(weir_sem_resize(script->sem, 1), 0);
}

TEST(the_semaphore_parks_through_the_installed_parker)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct script script = { .sem = &sem, .meanwhile = release_one };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(play(&script, 1), 0);
	assert_int_equal(script.parks, 1);
	assert_int_equal(script.unparks, 1);
	assert_permits(&sem, 1, 1, 0);
}

TEST(nothing_is_parked_when_permits_are_free)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct script script = { .sem = &sem, .meanwhile = nothing };

	assert_int_equal(play(&script, 1), 0);
	assert_int_equal(script.parks, 0);
	assert_int_equal(script.unparks, 0);
}

TEST(a_parker_is_the_threads_own)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct script script = { .sem = &sem, .meanwhile = nothing };
	struct acquirer other = { .sem = &sem, .n = 1, .deadline = WEIR_NEVER };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	weir__parker_set(&script_parker, &script);
	acquirer_queue(&other);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(acquirer_join(&other), 0);
	weir__parker_set(NULL, NULL);
	assert_int_equal(script.parks + script.unparks, 0);
}

TEST(cancelled_before_the_grant_changes_nothing_P5)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct script script = { .sem = &sem, .meanwhile = nothing, .gives_up = -ECANCELED };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(play(&script, 1), -ECANCELED);
	assert_int_equal(script.musts + script.unparks, 0);
	assert_int_equal(stats_of(&sem).cancelled, 1);
	assert_permits(&sem, 1, 1, 0);
}

TEST(a_cancelled_waiter_is_not_granted_later_CHECKLIST_3)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct script script = { .sem = &sem, .meanwhile = queue_one_more, .gives_up = -ECANCELED };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(play(&script, 1), -ECANCELED);
	assert_int_equal(script.next[0].calls, 0);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_int_equal(script.unparks, 0);
	assert_int_equal(script.next[0].calls, 1);
	assert_permits(&sem, 1, 1, 0);
}

TEST(a_heavy_head_that_is_cancelled_lets_the_next_in_P4_CHECKLIST_2)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);
	struct script script = { .sem = &sem, .meanwhile = queue_one_more, .gives_up = -ECANCELED };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(play(&script, 2), -ECANCELED);
	assert_int_equal(script.next[0].calls, 1);
	assert_int_equal(script.next[0].result, 0);
	assert_permits(&sem, 2, 2, 0);
}

TEST(a_heavy_head_that_times_out_lets_the_next_in_P4_CHECKLIST_2)
{
	struct weir_sem sem = WEIR_SEM_INIT(2);
	struct script script = { .sem = &sem, .meanwhile = queue_one_more, .gives_up = -ETIMEDOUT };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(play(&script, 2), -ETIMEDOUT);
	assert_int_equal(stats_of(&sem).timed_out, 1);
	assert_int_equal(script.next[0].calls, 1);
	assert_permits(&sem, 2, 2, 0);
}

TEST(a_grant_that_raced_a_cancel_is_passed_on_P5_CHECKLIST_1)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct script script = { .sem = &sem,
				 .meanwhile = queue_one_more_and_release_one,
				 .gives_up = -ECANCELED };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(play(&script, 1), -ECANCELED);
	assert_int_equal(script.musts, 1);
	assert_int_equal(script.next[0].calls, 1);
	assert_int_equal(script.next[0].result, 0);
	assert_permits(&sem, 1, 1, 0);
}

TEST(a_grant_that_raced_a_cancel_is_free_again_when_nobody_waits_CHECKLIST_1)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct script script = { .sem = &sem, .meanwhile = release_one, .gives_up = -ECANCELED };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(play(&script, 1), -ECANCELED);
	assert_permits(&sem, 1, 0, 0);
	assert_int_equal(weir_sem_try_acquire(&sem, 1), 0);
}

static void queue_three_more_and_release_three(struct script *script)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(async_acquire(&script->next[i], script->sem, 1), 1);
	assert_int_equal(weir_sem_release(script->sem, 3), 0);
	assert_int_equal(script->next[0].calls, 0);
}

TEST(a_heavy_grant_that_raced_a_cancel_serves_several_CHECKLIST_4)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);
	struct script script = { .sem = &sem,
				 .meanwhile = queue_three_more_and_release_three,
				 .gives_up = -ECANCELED };

	assert_int_equal(weir_sem_acquire(&sem, 3), 0);
	assert_int_equal(play(&script, 3), -ECANCELED);
	for (int i = 0; i < 3; i++)
		assert_int_equal(script.next[i].calls, 1);
	assert_permits(&sem, 3, 3, 0);
}

TEST(a_grant_that_raced_a_timeout_is_kept_P5_CHECKLIST_5)
{
	struct weir_sem sem = WEIR_SEM_INIT(1);
	struct script script = { .sem = &sem,
				 .meanwhile = queue_one_more_and_release_one,
				 .gives_up = -ETIMEDOUT };

	assert_int_equal(weir_sem_acquire(&sem, 1), 0);
	assert_int_equal(play(&script, 1), 0);
	assert_int_equal(script.musts, 1);
	assert_int_equal(script.next[0].calls, 0);
	assert_int_equal(stats_of(&sem).timed_out, 0);
	assert_permits(&sem, 1, 1, 1);
	assert_int_equal(weir_sem_cancel(&sem, &script.next[0].waiter), 0);
}

TEST(a_close_that_raced_giving_up_decides_P5)
{
	static const int errors[] = { -ECANCELED, -ETIMEDOUT };

	for (int i = 0; i < 2; i++) {
		struct weir_sem sem = WEIR_SEM_INIT(1);
		struct script script = { .sem = &sem,
					 .meanwhile = close_it,
					 .gives_up = errors[i] };

		assert_int_equal(weir_sem_acquire(&sem, 1), 0);
		assert_int_equal(play(&script, 1), -ESHUTDOWN);
		assert_permits(&sem, 1, 1, 0);
		assert_int_equal(stats_of(&sem).cancelled + stats_of(&sem).timed_out, 0);
	}
}

TEST(a_shrink_that_raced_giving_up_decides_P5)
{
	static const int errors[] = { -ECANCELED, -ETIMEDOUT };

	for (int i = 0; i < 2; i++) {
		struct weir_sem sem = WEIR_SEM_INIT(2);
		struct script script = { .sem = &sem,
					 .meanwhile = shrink_to_one,
					 .gives_up = errors[i] };

		assert_int_equal(weir_sem_acquire(&sem, 1), 0);
		assert_int_equal(play(&script, 2), -E2BIG);
		assert_permits(&sem, 1, 1, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_semaphore_parks_through_the_installed_parker),
		cmocka_unit_test(nothing_is_parked_when_permits_are_free),
		cmocka_unit_test(a_parker_is_the_threads_own),
		cmocka_unit_test(cancelled_before_the_grant_changes_nothing_P5),
		cmocka_unit_test(a_cancelled_waiter_is_not_granted_later_CHECKLIST_3),
		cmocka_unit_test(a_heavy_head_that_is_cancelled_lets_the_next_in_P4_CHECKLIST_2),
		cmocka_unit_test(a_heavy_head_that_times_out_lets_the_next_in_P4_CHECKLIST_2),
		cmocka_unit_test(a_grant_that_raced_a_cancel_is_passed_on_P5_CHECKLIST_1),
		cmocka_unit_test(
			a_grant_that_raced_a_cancel_is_free_again_when_nobody_waits_CHECKLIST_1),
		cmocka_unit_test(a_heavy_grant_that_raced_a_cancel_serves_several_CHECKLIST_4),
		cmocka_unit_test(a_grant_that_raced_a_timeout_is_kept_P5_CHECKLIST_5),
		cmocka_unit_test(a_close_that_raced_giving_up_decides_P5),
		cmocka_unit_test(a_shrink_that_raced_giving_up_decides_P5),
	};

	return RUN_TESTS(tests);
}

/* park and sem: a waiter gives up after its wait was decided and before it is told.
 *
 * Two waiters are granted by one release. Telling the first is held up (its unpark blocks the
 * releasing thread), so that the second gives up in the gap: it must wait for the news, for its
 * node is still being looked at, and then obey it. */
#include "park/park.h"
#include "support/acquirer.h"
#include "support/unit.h"

#include <errno.h>
#include <sched.h>

struct gap {
	struct weir_sem sem;
	int gives_up;
	bool second_parks; /* and is done with the semaphore: all it waits for is news */
	bool telling;      /* the releasing thread is telling the first waiter */
	bool second_waits; /* the second has given up and now waits for the news */
	bool second_told;
	bool told_too_soon;
};

static void raise_flag(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_SEQ_CST);
}

static bool is_up(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void wait_for_flag(const bool *flag)
{
	while (!is_up(flag))
		(void)sched_yield();
}

static int first_park(struct weir__parking *parking, weir_time deadline,
		      enum weir__patience patience)
{
	struct gap *gap = parking->self;

	(void)deadline;
	(void)patience;
	wait_for_flag(&gap->second_waits);
	return 0;
}

static int first_unpark(struct weir__parking *parking)
{
	struct gap *gap = parking->self;

	raise_flag(&gap->telling);
	wait_for_flag(&gap->second_waits);
	return 0;
}

static int second_park(struct weir__parking *parking, weir_time deadline,
		       enum weir__patience patience)
{
	struct gap *gap = parking->self;

	(void)deadline;
	if (patience != WEIR__MUST) {
		raise_flag(&gap->second_parks);
		wait_for_flag(&gap->telling);
		return gap->gives_up;
	}
	gap->told_too_soon = is_up(&gap->second_told);
	raise_flag(&gap->second_waits);
	wait_for_flag(&gap->second_told);
	return 0;
}

static int second_unpark(struct weir__parking *parking)
{
	struct gap *gap = parking->self;

	raise_flag(&gap->second_told);
	return 0;
}

static const struct weir__parker first_parker = { .park = first_park, .unpark = first_unpark };
static const struct weir__parker second_parker = { .park = second_park, .unpark = second_unpark };

struct scripted_thread {
	const struct weir__parker *parker;
	struct gap *gap;
	int result;
	pthread_t thread;
};

static void *scripted_acquire(void *argument)
{
	struct scripted_thread *self = argument;

	weir__parker_set(self->parker, self->gap);
	self->result = weir_sem_acquire(&self->gap->sem, 1);
	return NULL;
}

/* Plays it with a second waiter that gives up with `gives_up`; returns what it got. */
static int play(struct gap *gap, int gives_up, void (*decide)(struct weir_sem *), int *ret_first)
{
	struct scripted_thread first = { .parker = &first_parker, .gap = gap };
	struct scripted_thread second = { .parker = &second_parker, .gap = gap };

	*gap = (struct gap){ .gives_up = gives_up };
	assert_int_equal(weir_sem_init(&gap->sem, 2), 0);
	assert_int_equal(weir_sem_acquire(&gap->sem, 2), 0);
	first.thread = start_thread(scripted_acquire, &first);
	wait_for_waiters(&gap->sem, 1);
	second.thread = start_thread(scripted_acquire, &second);
	wait_for_flag(&gap->second_parks);
	decide(&gap->sem);
	(void)pthread_join(first.thread, NULL);
	(void)pthread_join(second.thread, NULL);
	assert_false(gap->told_too_soon);
	*ret_first = first.result;
	return second.result;
}

static void release_both(struct weir_sem *sem)
{
	(void)weir_sem_release(sem, 2);
}

TEST(a_timeout_in_the_gap_waits_and_keeps_the_grant_P5_CHECKLIST_5)
{
	struct gap gap;
	int first;

	assert_int_equal(play(&gap, -ETIMEDOUT, release_both, &first), 0);
	assert_int_equal(first, 0);
	assert_permits(&gap.sem, 2, 2, 0);
	assert_int_equal(stats_of(&gap.sem).timed_out, 0);
}

TEST(a_cancel_in_the_gap_waits_and_passes_the_grant_on_P5_CHECKLIST_1)
{
	struct gap gap;
	int first;

	assert_int_equal(play(&gap, -ECANCELED, release_both, &first), -ECANCELED);
	assert_int_equal(first, 0);
	assert_permits(&gap.sem, 2, 1, 0);
}

TEST(a_timeout_in_the_gap_of_a_close_is_a_shutdown_P5)
{
	struct gap gap;
	int first;

	assert_int_equal(play(&gap, -ETIMEDOUT, weir_sem_close, &first), -ESHUTDOWN);
	assert_int_equal(first, -ESHUTDOWN);
	assert_permits(&gap.sem, 2, 2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timeout_in_the_gap_waits_and_keeps_the_grant_P5_CHECKLIST_5),
		cmocka_unit_test(a_cancel_in_the_gap_waits_and_passes_the_grant_on_P5_CHECKLIST_1),
		cmocka_unit_test(a_timeout_in_the_gap_of_a_close_is_a_shutdown_P5),
	};

	return RUN_TESTS(tests);
}

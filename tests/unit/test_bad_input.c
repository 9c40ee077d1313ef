/* sem: wrong use. Every case has its code and changes not one byte (P8, CHECKLIST 17). */
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>
#include <string.h>

/* Sizes around every power of two that a part of the state word ends at. */
static const uint32_t above_the_largest[] = {
	WEIR_SEM_MAX + 1,  (UINT32_C(1) << 29) + 1, (UINT32_C(1) << 30) - 1,
	UINT32_C(1) << 30, (UINT32_C(1) << 30) + 1, (UINT32_C(1) << 31) - 1,
	UINT32_C(1) << 31, (UINT32_C(1) << 31) + 1, UINT32_MAX - 1,
	UINT32_MAX,
};

enum { SIZES = sizeof(above_the_largest) / sizeof(*above_the_largest) };

/* The states in which a semaphore treats its callers differently. */
enum kind { PLAIN, COUNTED, IN_DEBT, QUEUED, KINDS };

struct subject {
	struct weir_sem_counted counted; /* `.sem` is the one under test */
	struct async waiting;            /* behind the holders, when QUEUED */
};

/* A semaphore of limit 5 with 2 permits held; in debt, of limit 1. */
static struct weir_sem *make(struct subject *subject, enum kind kind)
{
	struct weir_sem *sem = &subject->counted.sem;

	memset(subject, 0, sizeof(*subject));
	if (kind == COUNTED)
		assert_int_equal(weir_sem_init_counted(&subject->counted, 5), 0);
	else
		assert_int_equal(weir_sem_init(sem, 5), 0);
	assert_int_equal(weir_sem_acquire(sem, 2), 0);
	if (kind == IN_DEBT)
		assert_int_equal(weir_sem_resize(sem, 1), 0);
	if (kind == QUEUED)
		assert_int_equal(async_acquire(&subject->waiting, sem, 4), 1);
	return sem;
}

/* Runs `call`, which may use `sem` and `subject`, in every kind of state: it must return `code` and
 * leave semaphore and waiter as they were. */
#define assert_refused_in_every_state(code, call)                                \
	do {                                                                     \
		for (int kind = 0; kind < KINDS; kind++) {                       \
			struct subject subject;                                  \
			struct weir_sem *sem = make(&subject, (enum kind)kind);  \
			struct subject before;                                   \
			memcpy(&before, &subject, sizeof(before));               \
			assert_int_equal(call, code);                            \
			assert_memory_equal(&subject, &before, sizeof(subject)); \
		}                                                                \
	} while (0)

TEST(init_of_zero_permits_or_too_many)
{
	struct weir_sem_counted counted, before;

	memset(&counted, 0x5a, sizeof(counted));
	memset(&before, 0x5a, sizeof(before));
	assert_int_equal(weir_sem_init(&counted.sem, 0), -EINVAL);
	assert_int_equal(weir_sem_init_counted(&counted, 0), -EINVAL);
	for (int i = 0; i < SIZES; i++) {
		assert_int_equal(weir_sem_init(&counted.sem, above_the_largest[i]), -EINVAL);
		assert_int_equal(weir_sem_init_counted(&counted, above_the_largest[i]), -EINVAL);
	}
	assert_memory_equal(&counted, &before, sizeof(counted));
}

TEST(weight_zero)
{
	struct async waiter = { 0 };
	struct async untouched = { 0 };

	assert_refused_in_every_state(-EINVAL, weir_sem_acquire(sem, 0));
	assert_refused_in_every_state(-EINVAL, weir_sem_try_acquire(sem, 0));
	assert_refused_in_every_state(-EINVAL, weir_sem_acquire_until(sem, 0, WEIR_NEVER));
	assert_refused_in_every_state(-EINVAL, async_acquire(&waiter, sem, 0));
	assert_refused_in_every_state(-EINVAL, weir_sem_release(sem, 0));
	assert_memory_equal(&waiter, &untouched, sizeof(waiter));
}

TEST(weight_above_the_limit_CHECKLIST_17)
{
	struct async waiter = { 0 };

	assert_refused_in_every_state(-E2BIG, weir_sem_acquire(sem, 6));
	assert_refused_in_every_state(-E2BIG, weir_sem_try_acquire(sem, 6));
	assert_refused_in_every_state(-E2BIG, weir_sem_acquire_until(sem, 6, WEIR_NEVER));
	assert_refused_in_every_state(-E2BIG, async_acquire(&waiter, sem, 6));
	assert_refused_in_every_state(-E2BIG, weir_sem_acquire(sem, WEIR_SEM_MAX));
	assert_int_equal(waiter.calls, 0);
}

TEST(weights_at_the_powers_of_two_CHECKLIST_17)
{
	struct async waiter = { 0 };

	for (int i = 0; i < SIZES; i++) {
		uint32_t n = above_the_largest[i];

		assert_refused_in_every_state(-E2BIG, weir_sem_acquire(sem, n));
		assert_refused_in_every_state(-E2BIG, weir_sem_try_acquire(sem, n));
		assert_refused_in_every_state(-E2BIG, weir_sem_acquire_until(sem, n, WEIR_NEVER));
		assert_refused_in_every_state(-E2BIG, async_acquire(&waiter, sem, n));
		assert_refused_in_every_state(-EOVERFLOW, weir_sem_release(sem, n));
		assert_refused_in_every_state(-EINVAL, weir_sem_resize(sem, n));
	}
	assert_int_equal(waiter.calls, 0);
}

/* A paused semaphore lets requests wait for a limit not known yet, but there is a largest one. */
TEST(weights_above_any_limit_are_refused_even_when_paused)
{
	struct weir_sem sem = WEIR_SEM_INIT(5);
	struct weir_sem before;
	struct async waiter = { 0 };

	assert_int_equal(weir_sem_resize(&sem, 0), 0);
	before = sem;
	for (int i = 0; i < SIZES; i++) {
		uint32_t n = above_the_largest[i];

		assert_int_equal(weir_sem_acquire(&sem, n), -E2BIG);
		assert_int_equal(weir_sem_try_acquire(&sem, n), -E2BIG);
		assert_int_equal(async_acquire(&waiter, &sem, n), -E2BIG);
	}
	assert_memory_equal(&sem, &before, sizeof(sem));
	assert_int_equal(waiter.calls, 0);
}

TEST(release_of_more_than_is_held_CHECKLIST_17)
{
	assert_refused_in_every_state(-EOVERFLOW, weir_sem_release(sem, 3));
	assert_refused_in_every_state(-EOVERFLOW, weir_sem_release(sem, WEIR_SEM_MAX));
}

TEST(release_of_a_fresh_semaphore_CHECKLIST_17)
{
	struct weir_sem sem = WEIR_SEM_INIT(3);
	struct weir_sem before = sem;

	assert_int_equal(weir_sem_release(&sem, 1), -EOVERFLOW);
	assert_int_equal(weir_sem_release(&sem, 3), -EOVERFLOW);
	assert_memory_equal(&sem, &before, sizeof(sem));
}

TEST(the_largest_semaphore_refuses_like_any_other)
{
	struct weir_sem sem = WEIR_SEM_INIT(WEIR_SEM_MAX);
	struct weir_sem before;

	assert_int_equal(weir_sem_acquire(&sem, WEIR_SEM_MAX), 0);
	before = sem;
	for (int i = 0; i < SIZES; i++) {
		assert_int_equal(weir_sem_acquire(&sem, above_the_largest[i]), -E2BIG);
		assert_int_equal(weir_sem_try_acquire(&sem, above_the_largest[i]), -E2BIG);
		assert_int_equal(weir_sem_release(&sem, above_the_largest[i]), -EOVERFLOW);
	}
	assert_int_equal(weir_sem_try_acquire(&sem, WEIR_SEM_MAX), -EAGAIN);
	assert_memory_equal(&sem, &before, sizeof(sem));
	assert_int_equal(weir_sem_release(&sem, WEIR_SEM_MAX), 0);
	before = sem;
	for (int i = 0; i < SIZES; i++)
		assert_int_equal(weir_sem_acquire(&sem, above_the_largest[i]), -E2BIG);
	assert_int_equal(weir_sem_release(&sem, 1), -EOVERFLOW);
	assert_memory_equal(&sem, &before, sizeof(sem));
}

TEST(use_after_close)
{
	struct async waiter = { 0 };

	for (int kind = 0; kind < KINDS; kind++) {
		struct subject subject, before;
		struct weir_sem *sem = make(&subject, (enum kind)kind);

		weir_sem_close(sem);
		memcpy(&before, &subject, sizeof(before));
		assert_int_equal(weir_sem_acquire(sem, 1), -ESHUTDOWN);
		assert_int_equal(weir_sem_try_acquire(sem, 1), -ESHUTDOWN);
		assert_int_equal(weir_sem_acquire_until(sem, 1, WEIR_NEVER), -ESHUTDOWN);
		assert_int_equal(async_acquire(&waiter, sem, 1), -ESHUTDOWN);
		assert_int_equal(weir_sem_resize(sem, 7), -ESHUTDOWN);
		assert_int_equal(weir_sem_resize(sem, 0), -ESHUTDOWN);
		assert_int_equal(weir_sem_release(sem, 3), -EOVERFLOW);
		assert_memory_equal(&subject, &before, sizeof(subject));
	}
	assert_int_equal(waiter.calls, 0);
}

/* A wait that failed is counted, and nothing else has changed. */
TEST(a_deadline_already_past)
{
	static const weir_time past[] = { 1, 0, -1, INT64_MIN + 1, INT64_MIN };

	for (size_t i = 0; i < sizeof(past) / sizeof(*past); i++) {
		struct weir_sem sem = WEIR_SEM_INIT(2);
		struct weir_sem before;

		assert_int_equal(weir_sem_acquire(&sem, 2), 0);
		before = sem;
		before.timed_out++;
		assert_int_equal(weir_sem_acquire_until(&sem, 1, past[i]), -ETIMEDOUT);
		assert_memory_equal(&sem, &before, sizeof(sem));
	}
}

TEST(a_waiter_used_twice)
{
	struct weir_sem other = WEIR_SEM_INIT(1);
	struct weir_sem other_before = other;
	struct subject subject, before;
	struct weir_sem *sem = make(&subject, QUEUED);

	memcpy(&before, &subject, sizeof(before));
	assert_int_equal(async_acquire(&subject.waiting, sem, 1), -EINVAL);
	assert_int_equal(async_acquire(&subject.waiting, &other, 1), -EINVAL);
	assert_memory_equal(&subject, &before, sizeof(subject));
	assert_memory_equal(&other, &other_before, sizeof(other));
	assert_int_equal(weir_sem_release(sem, 2), 0);
	assert_int_equal(subject.waiting.calls, 1);
}

TEST(a_waiter_without_a_wake_function)
{
	struct weir_waiter waiter = { 0 };

	assert_refused_in_every_state(-EINVAL, weir_sem_acquire_async(sem, 1, &waiter, NULL));
	assert_refused_in_every_state(-EINVAL, weir_sem_acquire_async(sem, 5, &waiter, NULL));
}

TEST(cancel_of_a_node_that_never_waited)
{
	struct async fresh = { 0 };
	struct weir_sem other = WEIR_SEM_INIT(1);
	struct async elsewhere = { 0 };

	assert_int_equal(weir_sem_acquire(&other, 1), 0);
	assert_int_equal(async_acquire(&elsewhere, &other, 1), 1);
	assert_refused_in_every_state(-EINVAL, weir_sem_cancel(sem, &fresh.waiter));
	assert_refused_in_every_state(-EINVAL, weir_sem_cancel(sem, &elsewhere.waiter));
	assert_int_equal(stats_of(&other).waiting, 1);
	assert_int_equal(weir_sem_release(&other, 1), 0);
	assert_int_equal(elsewhere.calls, 1);
}

/* Whoever is told "too late" waits for the wake function. Here it would wait for ever. */
TEST(cancel_of_a_node_that_was_refused)
{
	struct async waiter = { 0 };
	struct weir_sem closed = WEIR_SEM_INIT(1);

	weir_sem_close(&closed);
	assert_int_equal(async_acquire(&waiter, &closed, 1), -ESHUTDOWN);
	assert_int_equal(weir_sem_cancel(&closed, &waiter.waiter), -EINVAL);
	assert_int_equal(waiter.calls, 0);
}

TEST(cancel_of_a_node_that_was_granted_at_once)
{
	struct weir_sem_counted counted;
	struct weir_sem plain = WEIR_SEM_INIT(1);
	struct async waiter = { 0 };

	assert_int_equal(weir_sem_init_counted(&counted, 1), 0);
	assert_int_equal(async_acquire(&waiter, &plain, 1), 0);
	assert_int_equal(weir_sem_cancel(&plain, &waiter.waiter), -EINVAL);
	assert_int_equal(async_acquire(&waiter, &counted.sem, 1), 0);
	assert_int_equal(weir_sem_cancel(&counted.sem, &waiter.waiter), -EINVAL);
	assert_permits(&plain, 1, 1, 0);
	assert_permits(&counted.sem, 1, 1, 0);
}

TEST(cancel_of_a_node_that_was_cancelled_already)
{
	struct subject subject;
	struct weir_sem *sem = make(&subject, QUEUED);

	assert_int_equal(weir_sem_cancel(sem, &subject.waiting.waiter), 0);
	assert_int_equal(weir_sem_cancel(sem, &subject.waiting.waiter), -EINVAL);
	assert_int_equal(stats_of(sem).cancelled, 1);
	assert_permits(sem, 5, 2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_of_zero_permits_or_too_many),
		cmocka_unit_test(weight_zero),
		cmocka_unit_test(weight_above_the_limit_CHECKLIST_17),
		cmocka_unit_test(weights_at_the_powers_of_two_CHECKLIST_17),
		cmocka_unit_test(weights_above_any_limit_are_refused_even_when_paused),
		cmocka_unit_test(release_of_more_than_is_held_CHECKLIST_17),
		cmocka_unit_test(release_of_a_fresh_semaphore_CHECKLIST_17),
		cmocka_unit_test(the_largest_semaphore_refuses_like_any_other),
		cmocka_unit_test(use_after_close),
		cmocka_unit_test(a_deadline_already_past),
		cmocka_unit_test(a_waiter_used_twice),
		cmocka_unit_test(a_waiter_without_a_wake_function),
		cmocka_unit_test(cancel_of_a_node_that_never_waited),
		cmocka_unit_test(cancel_of_a_node_that_was_refused),
		cmocka_unit_test(cancel_of_a_node_that_was_granted_at_once),
		cmocka_unit_test(cancel_of_a_node_that_was_cancelled_already),
	};

	return RUN_TESTS(tests);
}

/* sem: the lock in the state word, played move by move.
 *
 * The test holds the lock itself, by the table of bits in weir/sem.h, and looks at what others do
 * meanwhile: releases must not wait for it, and whoever sleeps on it must neither slip in nor be
 * forgotten. */
#include "base/futex.h"
#include "sem/word.h"
#include "support/acquirer.h"
#include "support/futex_watch.h"
#include "support/unit.h"

#include <errno.h>
#include <sched.h>

enum { THREADS = 4 };

static struct weir_sem sem;

static uint64_t word(void)
{
	return WEIR__LOAD(&sem.word, __ATOMIC_SEQ_CST);
}

static const uint32_t *lock_word(void)
{
	return (const uint32_t *)(const void *)&sem.word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* A semaphore of `permits`, of which `held` are out, whose lock is ours. */
static void start_locked(uint32_t permits, uint32_t held)
{
	assert_int_equal(weir_sem_init(&sem, permits), 0);
	if (held > 0)
		assert_int_equal(weir_sem_acquire(&sem, held), 0);
	WEIR__STORE(&sem.word, word_slow(sem.word) | WEIR__SEM_LOCK, __ATOMIC_SEQ_CST);
	futex_watch_start(&sem, sizeof(sem));
}

/* Gives the lock back, as somebody who found nothing to do, and wakes the one it owes a wake. */
static void unlock(void)
{
	uint64_t before = word();

	assert_true(before & WEIR__SEM_LOCK);
	WEIR__STORE(&sem.word, before & ~(WEIR__SEM_LOCK | WEIR__SEM_SLEEP), __ATOMIC_SEQ_CST);
	if (before & WEIR__SEM_SLEEP)
		weir__futex_wake(lock_word(), 1);
}

/* Starts threads that want one permit each and returns when all sleep on the lock. */
static void put_to_sleep(struct acquirer *threads)
{
	for (uint64_t i = 0; i < THREADS; i++) {
		threads[i] = (struct acquirer){ .sem = &sem, .n = 1, .deadline = WEIR_NEVER };
		acquirer_start(&threads[i]);
		while (futex_watch_read().waits_inside < i + 1)
			(void)sched_yield();
	}
	assert_true(word() & WEIR__SEM_SLEEP);
	assert_int_equal(futex_watch_read().waits, THREADS);
}

static void join_all(struct acquirer *threads)
{
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(acquirer_join(&threads[i]), 0);
}

TEST(a_release_does_not_wait_for_the_lock)
{
	start_locked(3, 3);
	assert_int_equal(weir_sem_release(&sem, 2), 0);
	assert_permits(&sem, 3, 1, 0);
	assert_int_equal(weir_sem_release(&sem, 2), -EOVERFLOW);
	assert_int_equal(weir_sem_release(&sem, 1), 0);
	assert_true(word() & WEIR__SEM_LOCK);
	assert_int_equal(futex_watch_read().waits, 0);
	unlock();
	assert_int_equal(weir_sem_acquire(&sem, 3), 0);
}

TEST(reading_the_statistics_does_not_wait_for_the_lock)
{
	start_locked(3, 2);
	assert_permits(&sem, 3, 2, 0);
	assert_int_equal(futex_watch_read().waits, 0);
}

TEST(nobody_who_sleeps_on_the_lock_is_forgotten_CHECKLIST_9)
{
	struct acquirer threads[THREADS];

	start_locked(THREADS, 0);
	put_to_sleep(threads);
	unlock();
	join_all(threads);
	assert_permits(&sem, THREADS, THREADS, 0);
}

TEST(a_spurious_wake_lets_nobody_in_CHECKLIST_10)
{
	struct acquirer threads[THREADS];

	start_locked(THREADS, 0);
	put_to_sleep(threads);
	while (futex_watch_read().woken < 100)
		weir__futex_wake(lock_word(), THREADS);
	assert_true(word() & WEIR__SEM_LOCK);
	assert_permits(&sem, THREADS, 0, 0);
	unlock();
	join_all(threads);
	assert_permits(&sem, THREADS, THREADS, 0);
}

/* The one that was woken finds the lock taken again and sleeps again; the others are still there.
 */
TEST(a_lock_taken_again_at_once_is_slept_on_again_CHECKLIST_9)
{
	struct acquirer threads[THREADS];
	uint64_t locked;

	start_locked(THREADS, 0);
	put_to_sleep(threads);
	locked = word() & ~WEIR__SEM_SLEEP;
	/* As after an unlock and a lock by somebody who never slept: SLEEP is clear. */
	WEIR__STORE(&sem.word, locked, __ATOMIC_SEQ_CST);
	while (!(word() & WEIR__SEM_SLEEP))
		weir__futex_wake(lock_word(), 1);
	unlock();
	join_all(threads);
	assert_permits(&sem, THREADS, THREADS, 0);
}

/* What was released while the lock was taken is granted by whoever takes it next (P4). */
TEST(a_permit_released_meanwhile_is_granted_P4)
{
	struct acquirer threads[THREADS];

	start_locked(THREADS, THREADS);
	put_to_sleep(threads);
	assert_int_equal(weir_sem_release(&sem, THREADS), 0);
	unlock();
	join_all(threads);
	assert_permits(&sem, THREADS, THREADS, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_release_does_not_wait_for_the_lock),
		cmocka_unit_test(reading_the_statistics_does_not_wait_for_the_lock),
		cmocka_unit_test(nobody_who_sleeps_on_the_lock_is_forgotten_CHECKLIST_9),
		cmocka_unit_test(a_spurious_wake_lets_nobody_in_CHECKLIST_10),
		cmocka_unit_test(a_lock_taken_again_at_once_is_slept_on_again_CHECKLIST_9),
		cmocka_unit_test(a_permit_released_meanwhile_is_granted_P4),
	};

	return RUN_TESTS(tests);
}

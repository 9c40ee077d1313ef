/* sem: no allocation, ever, but for weir_sem_new (P7). All of the process's allocations are
 * counted. */
#include "support/acquirer.h"
#include "support/allocations.h"
#include "support/async.h"
#include "support/sanitizers.h"
#include "support/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

TEST(the_counter_counts)
{
	uint64_t before = allocations_made();
	void *volatile memory = malloc(10);

	free(memory);
	assert_true(allocations_made() > before);
}

static void use_without_waiting(struct weir_sem *sem)
{
	struct weir_sem_stats stats;
	struct async waiter = { 0 };

	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(weir_sem_try_acquire(sem, 1), 0);
	assert_int_equal(weir_sem_acquire_until(sem, 1, WEIR_NEVER), 0);
	assert_int_equal(weir_sem_try_acquire(sem, 1), -EAGAIN);
	assert_int_equal(async_acquire(&waiter, sem, 2), 1);
	assert_int_equal(weir_sem_cancel(sem, &waiter.waiter), 0);
	assert_int_equal(async_acquire(&waiter, sem, 2), 1);
	assert_int_equal(weir_sem_release(sem, 3), 0);
	assert_int_equal(weir_sem_release(sem, 2), 0);
	assert_int_equal(weir_sem_resize(sem, 7), 0);
	assert_int_equal(weir_sem_resize(sem, 3), 0);
	weir_sem_stats(sem, &stats);
}

TEST(nothing_is_allocated_by_one_thread_P7)
{
	struct weir_sem plain = WEIR_SEM_INIT(3);
	struct weir_sem_counted counted;
	uint64_t before = allocations_made();

	assert_int_equal(weir_sem_init_counted(&counted, 3), 0);
	for (int i = 0; i < 1000; i++) {
		use_without_waiting(&plain);
		use_without_waiting(&counted.sem);
	}
	assert_int_equal(weir_sem_acquire(&plain, 3), 0);
	assert_int_equal(weir_sem_acquire_until(&plain, 1, weir_after(WEIR_MS)), -ETIMEDOUT);
	weir_sem_close(&plain);
	assert_int_equal(weir_sem_acquire(&plain, 1), -ESHUTDOWN);
	(void)weir_strerror(-EINVAL);
	assert_true(allocations_made() == before);
}

enum { THREADS = 3, ROUNDS = 10000 };

static struct weir_sem shared = WEIR_SEM_INIT(2);
static uint32_t ready;
static uint32_t done;
static bool go;
static bool quit;

static void wait_for_count(const uint32_t *count)
{
	while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < THREADS)
		(void)sched_yield();
}

static void wait_for_flag(const bool *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_SEQ_CST))
		(void)sched_yield();
}

/* The measured stretch lies between two counts: starting and ending a thread do allocate. */
static void *take_turns(void *argument)
{
	(void)argument;
	(void)__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	wait_for_flag(&go);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		if (weir_sem_acquire(&shared, i % 2 + 1) == 0)
			(void)weir_sem_release(&shared, i % 2 + 1);
		if (weir_sem_acquire_until(&shared, 1, weir_after(10 * WEIR_US)) == 0)
			(void)weir_sem_release(&shared, 1);
	}
	(void)__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
	wait_for_flag(&quit);
	return NULL;
}

TEST(nothing_is_allocated_under_contention_P7)
{
	pthread_t threads[THREADS];
	uint64_t before, after;

	for (int i = 0; i < THREADS; i++)
		threads[i] = start_thread(take_turns, NULL);
	wait_for_count(&ready);
	before = allocations_made();
	__atomic_store_n(&go, true, __ATOMIC_SEQ_CST);
	wait_for_count(&done);
	after = allocations_made();
	__atomic_store_n(&quit, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	assert_true(after == before);
	assert_permits(&shared, 2, 0, 0);
}

TEST(new_allocates_once_and_unref_frees_once)
{
	uint64_t made = allocations_made();
	uint64_t freed = allocations_freed();
	struct weir_sem *sem;

	assert_int_equal(weir_sem_new(3, WEIR_SEM_COUNTED, &sem), 0);
	assert_true(allocations_made() == made + 1);
	use_without_waiting(sem);
	(void)weir_sem_ref(sem);
	weir_sem_unref(sem);
	assert_true(allocations_made() == made + 1);
	assert_true(allocations_freed() == freed);
	weir_sem_unref(sem);
	assert_true(allocations_freed() == freed + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counter_counts),
		cmocka_unit_test(nothing_is_allocated_by_one_thread_P7),
		cmocka_unit_test(nothing_is_allocated_under_contention_P7),
		cmocka_unit_test(new_allocates_once_and_unref_frees_once),
	};

	if (UNDER_TSAN) {
		(void)puts("skipped: ThreadSanitizer's allocator cannot be observed completely");
		return 77;
	}
	allocations_start();
	return RUN_TESTS(tests);
}

/* sem: a semaphore in the caller's memory. */
#include "support/unit.h"

#include <errno.h>
#include <string.h>

static struct weir_sem from_static = WEIR_SEM_INIT(3);
static struct weir_sem smallest = WEIR_SEM_INIT(1);
static struct weir_sem largest = WEIR_SEM_INIT(WEIR_SEM_MAX);

TEST(a_semaphore_fits_a_cache_line)
{
	assert_true(sizeof(struct weir_sem) <= 64);
}

TEST(an_async_waiter_is_at_most_128_bytes)
{
	assert_true(sizeof(struct weir_waiter) <= 128);
}

TEST(init_makes_all_permits_free_P2)
{
	struct weir_sem sem;

	memset(&sem, 0xff, sizeof(sem));
	assert_int_equal(weir_sem_init(&sem, 5), 0);
	assert_permits(&sem, 5, 0, 0);
	assert_false(stats_of(&sem).closed);
	assert_false(stats_of(&sem).counted);
}

TEST(init_counted_makes_all_permits_free_P2)
{
	struct weir_sem_counted counted;

	memset(&counted, 0xff, sizeof(counted));
	assert_int_equal(weir_sem_init_counted(&counted, 5), 0);
	assert_permits(&counted.sem, 5, 0, 0);
	assert_true(stats_of(&counted.sem).counted);
	assert_int_equal(stats_of(&counted.sem).granted_at_once, 0);
	assert_int_equal(stats_of(&counted.sem).peak_held, 0);
}

TEST(the_static_initialiser_is_init)
{
	struct weir_sem sem;

	assert_int_equal(weir_sem_init(&sem, 3), 0);
	assert_memory_equal(&sem, &from_static, sizeof(sem));
	assert_int_equal(weir_sem_acquire(&from_static, 3), 0);
	assert_int_equal(weir_sem_try_acquire(&from_static, 1), -EAGAIN);
	assert_int_equal(weir_sem_release(&from_static, 3), 0);
	assert_permits(&smallest, 1, 0, 0);
}

TEST(the_largest_semaphore_works)
{
	assert_permits(&largest, WEIR_SEM_MAX, 0, 0);
	assert_int_equal(weir_sem_acquire(&largest, WEIR_SEM_MAX), 0);
	assert_permits(&largest, WEIR_SEM_MAX, WEIR_SEM_MAX, 0);
	assert_int_equal(weir_sem_try_acquire(&largest, 1), -EAGAIN);
	assert_int_equal(weir_sem_release(&largest, WEIR_SEM_MAX - 1), 0);
	assert_int_equal(weir_sem_acquire(&largest, WEIR_SEM_MAX - 2), 0);
	assert_permits(&largest, WEIR_SEM_MAX, WEIR_SEM_MAX - 1, 0);
	assert_int_equal(weir_sem_release(&largest, WEIR_SEM_MAX - 1), 0);
	assert_permits(&largest, WEIR_SEM_MAX, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_semaphore_fits_a_cache_line),
		cmocka_unit_test(an_async_waiter_is_at_most_128_bytes),
		cmocka_unit_test(init_makes_all_permits_free_P2),
		cmocka_unit_test(init_counted_makes_all_permits_free_P2),
		cmocka_unit_test(the_static_initialiser_is_init),
		cmocka_unit_test(the_largest_semaphore_works),
	};

	return RUN_TESTS(tests);
}

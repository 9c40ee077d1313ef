/* sem: a semaphore on the heap. The linker puts a counter, and a way to fail, before the two
 * functions of base/alloc.h (--wrap). */
#include "base/alloc.h"
#include "support/acquirer.h"
#include "support/async.h"
#include "support/unit.h"

#include <errno.h>

void *__real_weir__alloc(size_t size);
void *__wrap_weir__alloc(size_t size);
void __real_weir__free(void *memory);
void __wrap_weir__free(void *memory);

static int allocated;
static int freed;
static bool out_of_memory;

void *__wrap_weir__alloc(size_t size)
{
	if (out_of_memory)
		return NULL;
	allocated++;
	return __real_weir__alloc(size);
}

void __wrap_weir__free(void *memory)
{
	(void)__atomic_add_fetch(&freed, 1, __ATOMIC_SEQ_CST);
	__real_weir__free(memory);
}

static int start_counting(void **state)
{
	(void)state;
	allocated = 0;
	freed = 0;
	out_of_memory = false;
	return 0;
}

static int check_all_is_freed(void **state)
{
	(void)state;
	return allocated == freed ? 0 : -1;
}

TEST(new_makes_all_permits_free)
{
	struct weir_sem *sem;

	assert_int_equal(weir_sem_new(4, 0, &sem), 0);
	assert_permits(sem, 4, 0, 0);
	assert_false(stats_of(sem).counted);
	assert_int_equal(weir_sem_acquire(sem, 4), 0);
	assert_int_equal(weir_sem_release(sem, 4), 0);
	weir_sem_unref(sem);
	assert_int_equal(freed, 1);
}

TEST(new_may_count)
{
	struct weir_sem *sem;

	assert_int_equal(weir_sem_new(4, WEIR_SEM_COUNTED, &sem), 0);
	assert_true(stats_of(sem).counted);
	assert_int_equal(weir_sem_acquire(sem, 3), 0);
	assert_int_equal(stats_of(sem).peak_held, 3);
	assert_int_equal(weir_sem_release(sem, 3), 0);
	weir_sem_unref(sem);
}

TEST(new_has_its_own_cache_lines_CHECKLIST_26)
{
	struct weir_sem *sem;

	assert_int_equal(weir_sem_new(1, 0, &sem), 0);
	assert_int_equal((uintptr_t)sem % 64, 0);
	weir_sem_unref(sem);
}

TEST(bad_permits_and_flags_are_refused_and_leave_ret_P8)
{
	static const struct {
		uint32_t permits;
		uint32_t flags;
	} bad[] = {
		{ 0, 0 },
		{ 0, WEIR_SEM_COUNTED },
		{ WEIR_SEM_MAX + 1, 0 },
		{ UINT32_C(1) << 31, WEIR_SEM_COUNTED },
		{ UINT32_MAX, 0 },
		{ 1, 4 },
		{ 1, UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct weir_sem *untouched = (struct weir_sem *)(void *)&allocated;
		struct weir_sem *sem = untouched;

		assert_int_equal(weir_sem_new(bad[i].permits, bad[i].flags, &sem), -EINVAL);
		assert_ptr_equal(sem, untouched);
	}
}

TEST(no_memory_is_an_error_and_leaves_ret_P8)
{
	struct weir_sem *untouched = (struct weir_sem *)(void *)&allocated;
	struct weir_sem *sem = untouched;

	out_of_memory = true;
	assert_int_equal(weir_sem_new(1, 0, &sem), -ENOMEM);
	assert_int_equal(weir_sem_new(1, WEIR_SEM_COUNTED, &sem), -ENOMEM);
	assert_ptr_equal(sem, untouched);
}

TEST(unref_takes_NULL)
{
	weir_sem_unref(NULL);
	assert_int_equal(freed, 0);
}

TEST(a_reference_keeps_it_open)
{
	struct weir_sem *sem;
	struct weir_sem *alias;

	assert_int_equal(weir_sem_new(1, 0, &sem), 0);
	alias = weir_sem_ref(sem);
	assert_ptr_equal(alias, sem);
	weir_sem_unref(sem);
	assert_int_equal(freed, 0);
	assert_int_equal(weir_sem_acquire(alias, 1), 0);
	assert_int_equal(weir_sem_release(alias, 1), 0);
	weir_sem_unref(alias);
	assert_int_equal(freed, 1);
}

TEST(a_waiter_keeps_its_place_when_another_handle_goes)
{
	struct acquirer waiter = { .n = 1, .deadline = WEIR_NEVER };
	struct weir_sem *sem;

	assert_int_equal(weir_sem_new(1, 0, &sem), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	waiter.sem = weir_sem_ref(sem);
	acquirer_queue(&waiter);
	weir_sem_unref(sem);
	assert_int_equal(weir_sem_release(waiter.sem, 1), 0);
	assert_int_equal(acquirer_join(&waiter), 0);
	weir_sem_unref(waiter.sem);
}

TEST(dropping_it_ends_the_waits_and_the_last_to_leave_frees_P6)
{
	enum { WAITERS = 3 };
	struct acquirer waiters[WAITERS];
	struct weir_sem *sem;

	assert_int_equal(weir_sem_new(1, 0, &sem), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	for (int i = 0; i < WAITERS; i++) {
		waiters[i] = (struct acquirer){ .sem = sem, .n = 1, .deadline = WEIR_NEVER };
		acquirer_queue(&waiters[i]);
	}
	weir_sem_unref(sem);
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(acquirer_join(&waiters[i]), -ESHUTDOWN);
	assert_int_equal(freed, 1);
}

TEST(dropping_it_tells_async_waiters)
{
	struct async waiter = { 0 };
	struct weir_sem *sem;

	assert_int_equal(weir_sem_new(1, 0, &sem), 0);
	assert_int_equal(weir_sem_acquire(sem, 1), 0);
	assert_int_equal(async_acquire(&waiter, sem, 1), 1);
	weir_sem_unref(sem);
	assert_int_equal(waiter.calls, 1);
	assert_int_equal(waiter.result, -ESHUTDOWN);
	assert_int_equal(freed, 1);
}

struct last_user {
	struct weir_waiter waiter;
	struct weir_sem *sem;
};

static void use_and_drop(struct weir_waiter *waiter, int result)
{
	struct last_user *user = (struct last_user *)(void *)waiter;

	if (result == 0)
		(void)weir_sem_release(user->sem, 1);
	weir_sem_unref(user->sem);
}

TEST(a_wake_function_may_drop_the_last_handle)
{
	struct last_user user = { .sem = NULL };

	assert_int_equal(weir_sem_new(1, 0, &user.sem), 0);
	assert_int_equal(weir_sem_acquire(user.sem, 1), 0);
	assert_int_equal(weir_sem_acquire_async(user.sem, 1, &user.waiter, use_and_drop), 1);
	assert_int_equal(weir_sem_release(user.sem, 1), 0);
	assert_int_equal(freed, 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, start_counting, check_all_is_freed)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(new_makes_all_permits_free),
		test(new_may_count),
		test(new_has_its_own_cache_lines_CHECKLIST_26),
		test(bad_permits_and_flags_are_refused_and_leave_ret_P8),
		test(no_memory_is_an_error_and_leaves_ret_P8),
		test(unref_takes_NULL),
		test(a_reference_keeps_it_open),
		test(a_waiter_keeps_its_place_when_another_handle_goes),
		test(dropping_it_ends_the_waits_and_the_last_to_leave_frees_P6),
		test(dropping_it_tells_async_waiters),
		test(a_wake_function_may_drop_the_last_handle),
	};

	return RUN_TESTS(tests);
}

/* sem: WEIR_HOLD and the rest of the header in C++. */
#include <cerrno>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <weir/weir.h>

extern "C" {
#include <cmocka.h>
}

static struct weir_sem from_static = WEIR_SEM_INIT(2);

static uint32_t held(const struct weir_sem *sem)
{
	struct weir_sem_stats stats;

	weir_sem_stats(sem, &stats);
	return stats.held;
}

static void the_end_of_the_block(void **)
{
	WEIR_HOLD(&from_static, 2) {
		assert_int_equal(held(&from_static), 2);
	}
	assert_int_equal(held(&from_static), 0);
}

static void an_exception_gives_back(void **)
{
	bool caught = false;

	try {
		WEIR_HOLD(&from_static, 1) {
			WEIR_HOLD(&from_static, 1) {
				throw std::runtime_error("out of two blocks");
			}
		}
	} catch (const std::runtime_error &) {
		caught = true;
	}
	assert_true(caught);
	assert_int_equal(held(&from_static), 0);
}

static uint32_t return_from_inside()
{
	WEIR_HOLD(&from_static, 2)
		return held(&from_static);
	return 0;
}

static void return_gives_back(void **)
{
	assert_int_equal(return_from_inside(), 2);
	assert_int_equal(held(&from_static), 0);
}

static void the_block_is_skipped_when_the_acquire_fails(void **)
{
	int error = 0;

	WEIR_HOLD(&from_static, 3, &error) {
		fail();
	}
	assert_int_equal(error, -E2BIG);
}

static void a_wake_function_may_be_a_lambda(void **)
{
	struct waiter : weir_waiter {
		int result;
	} waiter = {};

	waiter.result = 1;
	assert_int_equal(weir_sem_acquire(&from_static, 2), 0);
	assert_int_equal(weir_sem_acquire_async(&from_static, 1, &waiter,
						[](weir_waiter *self, int result) {
							static_cast<struct waiter *>(self)->result =
								result;
						}),
			 1);
	assert_int_equal(weir_sem_release(&from_static, 2), 0);
	assert_int_equal(waiter.result, 0);
	assert_int_equal(weir_sem_release(&from_static, 1), 0);
}

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_the_block),
		cmocka_unit_test(an_exception_gives_back),
		cmocka_unit_test(return_gives_back),
		cmocka_unit_test(the_block_is_skipped_when_the_acquire_fails),
		cmocka_unit_test(a_wake_function_may_be_a_lambda),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}

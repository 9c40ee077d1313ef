/* store/sqlite: without memory. */
#include "support/lite.h"

void *__real_weir__alloc(size_t size);
void *__wrap_weir__alloc(size_t size);
void *__real_weir__alloc_small(size_t size);
void *__wrap_weir__alloc_small(size_t size);
void __real_weir__free(void *memory);
void __wrap_weir__free(void *memory);

static int allocations_left = -1; /* that will succeed; negative: all */
static int alive;

/* The one that fails is one alone, so that what follows has to cope with a half-made thing. */
static bool may_allocate(void)
{
	int left = __atomic_load_n(&allocations_left, __ATOMIC_SEQ_CST);

	if (left >= 0 && __atomic_fetch_sub(&allocations_left, 1, __ATOMIC_SEQ_CST) == 0)
		return false;
	(void)__atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST);
	return true;
}

void *__wrap_weir__alloc(size_t size)
{
	return may_allocate() ? __real_weir__alloc(size) : NULL;
}

void *__wrap_weir__alloc_small(size_t size)
{
	return may_allocate() ? __real_weir__alloc_small(size) : NULL;
}

void __wrap_weir__free(void *memory)
{
	if (memory != NULL)
		(void)__atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
	__real_weir__free(memory);
}

/* 0, or the first error; then what was begun has been undone. */
static int scenario(void)
{
	static const struct weir_visitor nobody = { 0 };
	struct weir_request request = { .name = "a", .limit = 1, .request_id = "x" };
	struct weir_request waits = { .name = "a", .deadline = 1 };
	struct weir_store *store = NULL;
	struct weir_lease *lease = NULL, *again = NULL, *none = NULL;
	int error = weir_store_open(lite_url, &store);

	if (error == 0)
		error = weir_ensure(store, "b", 1);
	if (error >= 0)
		error = weir_set_limit(store, "b", 100);
	if (error == 0)
		error = weir_acquire(store, &request, &lease);
	if (error == 0)
		error = weir_acquire(store, &request, &again);
	if (error == 0) { /* queues, and gives up at once */
		error = weir_acquire(store, &waits, &none);
		error = error == -ETIMEDOUT ? 0 : error;
	}
	if (error == 0)
		error = weir_lease_bind_fd(lease);
	if (error >= 0)
		error = weir_list(store, NULL, 0, &nobody, NULL);
	if (error == 0)
		error = weir_release(lease);
	weir_lease_unref(lease);
	weir_lease_unref(again);
	weir_store_close(store);
	return error;
}

TEST(without_memory_every_call_says_so_and_leaves_nothing)
{
	int before, failures = 0, left;

	assert_int_equal(scenario(), 0);
	before = alive;
	do {
		int error;

		__atomic_store_n(&allocations_left, failures, __ATOMIC_SEQ_CST);
		error = scenario();
		left = __atomic_exchange_n(&allocations_left, -1, __ATOMIC_SEQ_CST);
		if (error != 0 && error != -ENOMEM)
			fail_msg("allocation %d: %d, %s", failures, error, weir_store_error(NULL));
		assert_int_equal(alive, before);
		/* Whatever was left in the file does not outlast the process that left it. */
		(void)lite_sql("UPDATE claim SET start = start - 1");
		assert_true(++failures < 1000);
	} while (left < 0);
	assert_true(failures > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LITE_TEST(without_memory_every_call_says_so_and_leaves_nothing),
	};

	return RUN_TESTS(tests);
}

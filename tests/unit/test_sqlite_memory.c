/* store/sqlite: without memory. */
#include "support/lite.h"
#include "support/scarce.h"

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
	int before, failures = 0;
	bool failed;

	assert_int_equal(scenario(), 0);
	before = scarce_alive();
	do {
		int error;

		scarce_after(failures, false);
		error = scenario();
		failed = scarce_end();
		if (error != 0 && error != -ENOMEM)
			fail_msg("allocation %d: %d, %s", failures, error, weir_store_error(NULL));
		assert_int_equal(scarce_alive(), before);
		/* Whatever was left in the file does not outlast the process that left it. */
		(void)lite_sql("UPDATE claim SET start = start - 1");
		assert_true(++failures < 1000);
	} while (failed);
	assert_true(failures > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LITE_TEST(without_memory_every_call_says_so_and_leaves_nothing),
	};

	return RUN_TESTS(tests);
}

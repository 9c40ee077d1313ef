/* base: threads of the library's own, where no more can be started: that is not "no permit". */
#include "base/worker.h"
#include "support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <weir/lease.h>

static bool no_threads;

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(ret, attributes, run, arg);
}

static int setup(void **state)
{
	(void)state;
	no_threads = true;
	return 0;
}

static void note(void *arg)
{
	*(int *)arg += 1;
}

TEST(a_thread_that_cannot_be_started_is_no_full_semaphore)
{
	struct weir__worker worker;
	int runs = 0;

	assert_int_equal(weir__worker_start(&worker, "test", note, &runs), -EUSERS);
	assert_int_equal(runs, 0);
	no_threads = false;
	assert_int_equal(weir__worker_start(&worker, "test", note, &runs), 0);
	weir__worker_join(&worker);
	assert_int_equal(runs, 1);
}

TEST(a_lease_needs_one_and_says_so)
{
	struct weir_request request = { .name = "a", .limit = 1, .keepalive = true };
	struct weir_store *store;
	struct weir_lease *lease = NULL;

	assert_int_equal(weir_store_open("memory:", &store), 0);
	assert_int_equal(weir_acquire(store, &request, &lease), -EUSERS);
	assert_contains(weir_store_error(store), "no thread could be started");
	request.keepalive = false;
	assert_int_equal(weir_acquire(store, &request, &lease), -EUSERS);
	assert_contains(weir_store_error(store), "ulimit -u");
	assert_null(lease);

	no_threads = false;
	assert_int_equal(weir_acquire(store, &request, &lease), 0);
	assert_int_equal(weir_release(lease), 0);
	weir_lease_unref(lease);
	weir_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_thread_that_cannot_be_started_is_no_full_semaphore, setup),
		cmocka_unit_test_setup(a_lease_needs_one_and_says_so, setup),
	};

	return RUN_TESTS(tests);
}

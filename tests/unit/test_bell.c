/* base: the bell that wakes a scheduler. */
#include "base/bell.h"
#include "base/poller.h"
#include "support/acquirer.h"
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct weir__bell new_bell(void)
{
	struct weir__bell bell;

	assert_int_equal(weir__bell_init(&bell), 0);
	return bell;
}

TEST(rings_are_counted_and_heard_once)
{
	struct weir__bell bell = new_bell();

	for (int i = 0; i < 3; i++)
		weir__bell_ring(&bell);
	assert_int_equal(weir__bell_wait(&bell, WEIR_NEVER), 3);
	assert_int_equal(weir__bell_wait(&bell, 0), 0);
	weir__bell_done(&bell);
}

TEST(a_past_deadline_does_not_wait_and_hears_what_has_rung)
{
	struct weir__bell bell = new_bell();

	assert_int_equal(weir__bell_wait(&bell, 0), 0);
	assert_int_equal(weir__bell_wait(&bell, -WEIR_SECOND), 0);
	weir__bell_ring(&bell);
	assert_int_equal(weir__bell_wait(&bell, 0), 1);
	weir__bell_done(&bell);
}

TEST(a_deadline_is_never_early_P9)
{
	struct weir__bell bell = new_bell();
	weir_time deadline = weir_after(5 * WEIR_MS);

	assert_int_equal(weir__bell_wait(&bell, deadline), 0);
	assert_true(weir_now() >= deadline);
	weir__bell_done(&bell);
}

static void *ring(void *argument)
{
	weir__bell_ring(argument);
	return NULL;
}

TEST(another_thread_rings)
{
	struct weir__bell bell = new_bell();
	pthread_t thread = start_thread(ring, &bell);

	assert_int_equal(weir__bell_wait(&bell, WEIR_NEVER), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	weir__bell_done(&bell);
}

struct bells {
	struct weir__bell bell;
	struct weir__poller poller;
	bool rung;
};

static void *ring_while_cancelled(void *argument)
{
	struct bells *bells = argument;

	(void)pthread_cancel(pthread_self());
	weir__bell_ring(&bells->bell);
	weir__poller_ring(&bells->poller);
	bells->rung = true;
	pthread_testcancel();
	return NULL;
}

/* Neither this bell nor that of a store's own thread: whoever rings may have left something that
 * nobody else rings for, or have a lock. */
TEST(whoever_rings_is_not_cancelled_CHECKLIST_24)
{
	struct bells bells = { .bell = new_bell() };
	void *end = NULL;

	assert_int_equal(weir__poller_init(&bells.poller, false), 0);
	assert_int_equal(pthread_join(start_thread(ring_while_cancelled, &bells), &end), 0);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	assert_true(bells.rung);
	assert_int_equal(weir__bell_wait(&bells.bell, 0), 1);
	weir__poller_done(&bells.poller);
	weir__bell_done(&bells.bell);
}

static void ignore(int number)
{
	(void)number;
}

struct interruption {
	pthread_t victim;
	bool over;
};

static void *interrupt(void *argument)
{
	struct interruption *it = argument;

	while (!__atomic_load_n(&it->over, __ATOMIC_ACQUIRE)) {
		(void)pthread_kill(it->victim, SIGUSR1);
		(void)usleep(100);
	}
	return NULL;
}

/* CHECKLIST 10: an interrupted wait says that nobody rang. */
TEST(a_signal_is_not_a_ring)
{
	struct sigaction action = { .sa_handler = ignore };
	struct interruption it = { .victim = pthread_self() };
	struct weir__bell bell = new_bell();
	pthread_t thread;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	thread = start_thread(interrupt, &it);
	errno = 4711;
	assert_int_equal(weir__bell_wait(&bell, WEIR_NEVER), 0);
	assert_int_equal(errno, 4711);
	__atomic_store_n(&it.over, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	weir__bell_done(&bell);
}

TEST(errno_is_left_alone)
{
	struct weir__bell bell;

	errno = 4711;
	assert_int_equal(weir__bell_init(&bell), 0);
	weir__bell_ring(&bell);
	assert_int_equal(weir__bell_wait(&bell, WEIR_NEVER), 1);
	weir__bell_done(&bell);
	assert_int_equal(errno, 4711);
}

TEST(a_bell_is_closed_on_exec)
{
	struct weir__bell bell = new_bell();

	assert_true(fcntl(bell.fd, F_GETFD) & FD_CLOEXEC);
	weir__bell_done(&bell);
}

/* In a child, for the limit could not be raised again by everybody. */
TEST(without_descriptors_there_is_an_error)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit none = { 0, 0 };
		struct weir__bell bell;

		_exit(setrlimit(RLIMIT_NOFILE, &none) == 0 && weir__bell_init(&bell) == -EMFILE ?
			      0 :
			      1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_are_counted_and_heard_once),
		cmocka_unit_test(a_past_deadline_does_not_wait_and_hears_what_has_rung),
		cmocka_unit_test(a_deadline_is_never_early_P9),
		cmocka_unit_test(another_thread_rings),
		cmocka_unit_test(whoever_rings_is_not_cancelled_CHECKLIST_24),
		cmocka_unit_test(a_signal_is_not_a_ring),
		cmocka_unit_test(errno_is_left_alone),
		cmocka_unit_test(a_bell_is_closed_on_exec),
		cmocka_unit_test(without_descriptors_there_is_an_error),
	};

	return RUN_TESTS(tests);
}

/* lease: the agent lends its role to threads that ask. */
#include "base/boottime.h"
#include "lease/agent.h"
#include "lease/op.h"
#include "support/sanitizers.h"
#include "support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <weir/task.h>

static struct weir__agent *agent;
static int served, by_askers; /* written in the agent's role alone */
static bool inside;
static struct weir_sem entered, go_on;

static void enter(void)
{
	assert_false(inside);
	inside = true;
}

static void leave(void)
{
	inside = false;
}

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	(void)withdrawn;
	enter();
	while (operations != NULL) {
		struct weir__op *next = operations->next;

		if (operations->limit == 1) { /* a slow one */
			(void)weir_sem_release(&entered, 1);
			(void)weir_sem_acquire(&go_on, 1);
			usleep(1); /* where a thread can be cancelled */
		}
		served++;
		by_askers += !weir__agent_is_self(agent);
		operations->max_rows = !weir__agent_is_self(agent);
		weir__op_answer(operations, 0);
		operations = next;
	}
	errno = EDOM;
	leave();
}

static const struct weir__agent_work work = { .serve = serve };

static int start(void **state)
{
	(void)state;
	served = by_askers = 0;
	assert_int_equal(weir_sem_init(&entered, 1), 0);
	assert_int_equal(weir_sem_init(&go_on, 1), 0);
	assert_int_equal(weir_sem_acquire(&entered, 1), 0);
	assert_int_equal(weir_sem_acquire(&go_on, 1), 0);
	return weir__agent_new(&work, &served, &agent);
}

static int stop(void **state)
{
	(void)state;
	weir__agent_stop(agent);
	return 0;
}

/* Whether it was served by the caller. */
static bool ask(uint32_t limit)
{
	struct weir__op op = { .limit = limit, .agent = agent, .done = weir__op_wake };

	weir__agent_submit(agent, &op);
	weir__op_wait(&op);
	return op.max_rows == 1;
}

static void await_lending(void)
{
	while (!ask(0))
		usleep(1000);
}

TEST(a_thread_serves_itself_while_the_agent_sleeps)
{
	errno = 0;
	await_lending();
	assert_int_equal(errno, 0);
}

static int ask_in_task(void *arg, intptr_t *value)
{
	(void)value;
	for (int i = 0; i < 20; i++) {
		weir_sleep(WEIR_MS);
		if (ask(0))
			++*(int *)arg;
	}
	return 0;
}

TEST(a_task_never_serves_itself)
{
	int by_task = 0;

	await_lending();
	assert_int_equal(weir_run(ask_in_task, &by_task, NULL), 0);
	assert_int_equal(by_task, 0);
}

static void *ask_now_and_then(void *arg)
{
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		if (ask(0))
			++*(int *)arg;
	}
	return NULL;
}

/* What an engine needs is not known, so there must be plenty. */
TEST(a_thread_with_a_small_stack_never_serves_itself)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int by_thread = 0;

	if (UNDER_TSAN)
		skip(); /* it makes every stack larger */
	await_lending();
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, 64 * 1024), 0);
	assert_int_equal(pthread_create(&thread, &attributes, ask_now_and_then, &by_thread), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
	assert_int_equal(by_thread, 0);
}

static void *ask_slowly(void *arg)
{
	*(bool *)arg = ask(1);
	return NULL;
}

static void *ask_quickly(void *arg)
{
	*(bool *)arg = ask(0);
	return NULL;
}

struct alarm {
	struct weir__timer timer;
	struct weir_sem rung;
};

static void ring(struct weir__timer *timer)
{
	enter();
	leave();
	(void)weir_sem_release(&((struct alarm *)(void *)timer)->rung, 1);
}

/* Neither an operation nor a timer is forgotten that comes while the role is lent. Returns whether
 * it was. */
static bool come_meanwhile(void)
{
	struct alarm alarm = { .timer.fire = ring };
	pthread_t slow, quick;
	bool slow_alone, quick_alone;

	assert_int_equal(weir_sem_init(&alarm.rung, 1), 0);
	assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
	await_lending();
	assert_int_equal(pthread_create(&slow, NULL, ask_slowly, &slow_alone), 0);
	assert_int_equal(weir_sem_acquire(&entered, 1), 0);
	assert_int_equal(pthread_create(&quick, NULL, ask_quickly, &quick_alone), 0);
	weir__agent_timer_set(agent, &alarm.timer, weir__boottime());
	usleep(2000);
	assert_int_equal(weir_sem_try_acquire(&alarm.rung, 1), -EAGAIN);
	(void)weir_sem_release(&go_on, 1);
	assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
	assert_int_equal(pthread_join(slow, NULL), 0);
	assert_int_equal(pthread_join(quick, NULL), 0);
	return slow_alone;
}

TEST(what_comes_meanwhile_is_done_afterwards)
{
	while (!come_meanwhile()) {
	}
}

/* The same without a timer, which would wake up the agent by itself. */
static bool come_alone_meanwhile(void)
{
	pthread_t slow, quick;
	bool slow_alone, quick_alone;

	await_lending();
	usleep(5000); /* by now the agent sleeps */
	assert_int_equal(pthread_create(&slow, NULL, ask_slowly, &slow_alone), 0);
	assert_int_equal(weir_sem_acquire(&entered, 1), 0);
	assert_int_equal(pthread_create(&quick, NULL, ask_quickly, &quick_alone), 0);
	usleep(2000);
	(void)weir_sem_release(&go_on, 1);
	assert_int_equal(pthread_join(slow, NULL), 0);
	assert_int_equal(pthread_join(quick, NULL), 0);
	return slow_alone && !quick_alone;
}

TEST(who_comes_meanwhile_is_served_without_anybody_else_coming)
{
	while (!come_alone_meanwhile()) {
	}
}

static void *ask_and_be_cancelled(void *arg)
{
	(void)pthread_cancel(pthread_self());
	(void)ask_slowly(arg);
	pthread_testcancel();
	return NULL;
}

static bool cancel_who_serves(void)
{
	pthread_t thread;
	bool alone = false;
	void *result;

	await_lending();
	assert_int_equal(pthread_create(&thread, NULL, ask_and_be_cancelled, &alone), 0);
	assert_int_equal(weir_sem_acquire(&entered, 1), 0);
	(void)weir_sem_release(&go_on, 1);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	return alone;
}

TEST(who_serves_cannot_be_cancelled_meanwhile)
{
	while (!cancel_who_serves()) {
	}
	await_lending();
}

/* ---- all at once ----------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 500 };

struct pipe_watch {
	struct weir__watch watch;
	int bytes;
	struct weir_sem all;
};

static void drain(struct weir__watch *watch, uint32_t events)
{
	struct pipe_watch *pipe = (struct pipe_watch *)(void *)watch;
	char byte;

	(void)events;
	enter();
	if (read(watch->fd, &byte, 1) == 1 && ++pipe->bytes == ROUNDS)
		(void)weir_sem_release(&pipe->all, 1);
	leave();
}

static void *ask_often(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		(void)ask(0);
		if (arg != NULL)
			assert_int_equal(write(*(int *)arg, "x", 1), 1);
		if (i % 50 == 0)
			usleep(1000);
	}
	return NULL;
}

TEST(the_role_is_one_threads_at_a_time)
{
	struct pipe_watch watch = { .watch.ready = drain };
	pthread_t threads[THREADS];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	watch.watch.fd = ends[0];
	assert_int_equal(weir_sem_init(&watch.all, 1), 0);
	assert_int_equal(weir_sem_acquire(&watch.all, 1), 0);
	assert_int_equal(weir__agent_watch(agent, &watch.watch, EPOLLIN), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, ask_often, i == 0 ? &ends[1] : NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	/* Nobody keeps the agent from what it was told of. */
	assert_int_equal(weir_sem_acquire(&watch.all, 1), 0);
	await_lending();
	assert_true(served > THREADS * ROUNDS);
	assert_true(by_askers > 0);
}

#define agent_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		agent_test(a_thread_serves_itself_while_the_agent_sleeps),
		agent_test(a_task_never_serves_itself),
		agent_test(a_thread_with_a_small_stack_never_serves_itself),
		agent_test(what_comes_meanwhile_is_done_afterwards),
		agent_test(who_comes_meanwhile_is_served_without_anybody_else_coming),
		agent_test(who_serves_cannot_be_cancelled_meanwhile),
		agent_test(the_role_is_one_threads_at_a_time),
	};

	return RUN_TESTS(tests);
}

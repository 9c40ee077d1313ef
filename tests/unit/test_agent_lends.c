/* lease: the agent lends its role to threads that ask. */
#include "base/boottime.h"
#include "lease/agent_state.h"
#include "lease/op.h"
#include "support/sanitizers.h"
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
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

/* Not inline: a thread that is cancelled never leaves its frames, and what an instrumented one has
 * marked around its variables would stay marked for whatever runs there next. */
static __attribute__((noinline)) void *ask_slowly(void *arg)
{
	(void)arg;
	assert_true(ask(1));
	return NULL;
}

static void *ask_quickly(void *arg)
{
	(void)arg;
	assert_false(ask(0));
	return NULL;
}

static bool sleeps_until_called(const struct weir__agent *it)
{
	return it->asleep && it->wakes_at == WEIR_NEVER;
}

static bool wants_the_role(const struct weir__agent *it)
{
	return it->wanted != 0;
}

static void await(bool (*comes_true)(const struct weir__agent *))
{
	while (true) {
		bool has;

		weir__lock(&agent->lock);
		has = comes_true(agent);
		weir__unlock(&agent->lock);
		if (has)
			return;
		usleep(100);
	}
}

/* A thread that serves itself slowly: until end_slowly() nobody else may have the role. */
static pthread_t begin_slowly(void *(*asks)(void *))
{
	pthread_t slow;

	await_lending();
	await(sleeps_until_called);
	assert_int_equal(pthread_create(&slow, NULL, asks, NULL), 0);
	assert_int_equal(weir_sem_acquire(&entered, 1), 0);
	return slow;
}

static void *end_slowly(pthread_t slow)
{
	void *result;

	(void)weir_sem_release(&go_on, 1);
	assert_int_equal(pthread_join(slow, &result), 0);
	return result;
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

TEST(a_timer_that_is_due_meanwhile_fires_afterwards)
{
	struct alarm alarm = { .timer.fire = ring };
	pthread_t slow;

	assert_int_equal(weir_sem_init(&alarm.rung, 1), 0);
	assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
	slow = begin_slowly(ask_slowly);
	weir__agent_timer_set(agent, &alarm.timer, weir__boottime());
	await(wants_the_role);
	assert_int_equal(weir_sem_try_acquire(&alarm.rung, 1), -EAGAIN);
	(void)end_slowly(slow);
	assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
}

/* Nothing else would wake up the agent. */
TEST(who_comes_meanwhile_is_served_without_anybody_else_coming)
{
	pthread_t slow = begin_slowly(ask_slowly);
	pthread_t quick;

	assert_int_equal(pthread_create(&quick, NULL, ask_quickly, NULL), 0);
	await(weir__agent_has_work);
	(void)end_slowly(slow);
	assert_int_equal(pthread_join(quick, NULL), 0);
}

static void *ask_and_be_cancelled(void *arg)
{
	(void)pthread_cancel(pthread_self());
	(void)ask_slowly(arg);
	pthread_testcancel();
	return NULL;
}

TEST(who_serves_cannot_be_cancelled_meanwhile)
{
	assert_ptr_equal(end_slowly(begin_slowly(ask_and_be_cancelled)), PTHREAD_CANCELED);
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

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
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
		agent_test(a_timer_that_is_due_meanwhile_fires_afterwards),
		agent_test(who_comes_meanwhile_is_served_without_anybody_else_coming),
		agent_test(who_serves_cannot_be_cancelled_meanwhile),
		agent_test(the_role_is_one_threads_at_a_time),
	};

	return RUN_TESTS(tests);
}

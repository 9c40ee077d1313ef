/* lease: the agent. */
#include "base/boottime.h"
#include "lease/agent.h"
#include "lease/op.h"
#include "support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static struct weir__agent *agent;
static int served;
static uint32_t order[1000];

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	assert_ptr_equal(self, &served);
	assert_true(weir__agent_is_self(agent));
	while (operations != NULL) {
		struct weir__op *next = operations->next;

		if (!operations->wait) {
			order[served++] = operations->max_rows;
			weir__op_answer(operations, 0);
		}
		operations = next;
	}
	while (withdrawn != NULL) {
		struct weir__op *next = withdrawn->withdraw_next;

		weir__op_answer(withdrawn, withdrawn->give_up);
		withdrawn = next;
	}
}

static const struct weir__agent_work work = { .serve = serve };

static void gate_init(struct weir_sem *gate)
{
	assert_int_equal(weir_sem_init(gate, 1), 0);
	assert_int_equal(weir_sem_acquire(gate, 1), 0);
}

static int start(void **state)
{
	(void)state;
	served = 0;
	return weir__agent_new(&work, &served, &agent);
}

static int stop(void **state)
{
	(void)state;
	weir__agent_stop(agent);
	return 0;
}

TEST(operations_are_served_in_the_order_in_which_they_came)
{
	struct weir__op ops[100] = { 0 };

	for (uint32_t i = 0; i < 100; i++) {
		ops[i] = (struct weir__op){ .max_rows = i, .done = weir__op_wake };
		weir__agent_submit(agent, &ops[i]);
	}
	for (int i = 0; i < 100; i++)
		weir__op_wait(&ops[i]);
	assert_int_equal(served, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(order[i], i);
}

TEST(one_that_waits_is_withdrawn)
{
	struct weir__op op = { .wait = true, .done = weir__op_wake };

	weir__agent_submit(agent, &op);
	assert_int_equal(weir__op_wait_until(&op, weir_after(WEIR_MS)), -ETIMEDOUT);
	op.give_up = -ETIMEDOUT;
	weir__agent_withdraw(agent, &op);
	weir__op_wait(&op);
	assert_int_equal(op.result, -ETIMEDOUT);
}

/* An agent that stops inside serve(), where the test opens one gate after the other. */
static struct weir_sem inside, answer_it, return_now;
static struct weir__op *kept; /* one that waits; answered while the agent is inside */
static uint32_t looked_at;    /* withdrawals */

static void serve_slowly(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	if (withdrawn == NULL && operations->wait) {
		__atomic_store_n(&kept, operations, __ATOMIC_SEQ_CST);
		return;
	}
	for (; withdrawn != NULL; withdrawn = withdrawn->withdraw_next)
		looked_at++;
	(void)weir_sem_release(&inside, 1);
	(void)weir_sem_acquire(&answer_it, 1);
	weir__op_answer(kept, 0);
	(void)weir_sem_acquire(&return_now, 1);
	if (operations != NULL)
		weir__op_answer(operations, 0);
}

static const struct weir__agent_work slow_work = { .serve = serve_slowly };

static int start_slowly(void **state)
{
	(void)state;
	gate_init(&inside);
	gate_init(&answer_it);
	gate_init(&return_now);
	kept = NULL;
	looked_at = 0;
	return weir__agent_new(&slow_work, NULL, &agent);
}

static struct weir__op *submit_one_that_waits(void)
{
	struct weir__op *op = calloc(1, sizeof(*op));

	assert_non_null(op);
	*op = (struct weir__op){ .wait = true, .done = weir__op_wake, .give_up = -ETIMEDOUT };
	weir__agent_submit(agent, op);
	while (__atomic_load_n(&kept, __ATOMIC_SEQ_CST) == NULL)
		(void)weir_sleep(WEIR_MS);
	return op;
}

static void *submit_plain(void *arg)
{
	struct weir__op op = { .done = weir__op_wake };

	weir__agent_submit(agent, &op);
	weir__op_wait(&op);
	return arg;
}

/* The answer comes while the withdrawal is queued: nobody looks at it afterwards. */
TEST(a_withdrawal_that_is_queued_is_forgotten_P5)
{
	struct weir__op *op = submit_one_that_waits();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, submit_plain, NULL), 0);
	assert_int_equal(weir_sem_acquire(&inside, 1), 0);
	weir__agent_withdraw(agent, op);
	assert_int_equal(weir_sem_release(&answer_it, 1), 0);
	weir__op_wait(op);
	assert_int_equal(op->result, 0);
	weir__agent_forget(agent, op);
	free(op);
	assert_int_equal(weir_sem_release(&return_now, 1), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(looked_at, 0);
}

static uint32_t forgotten;

static void *withdraw_and_forget(void *arg)
{
	struct weir__op *op = arg;

	weir__agent_withdraw(agent, op);
	weir__op_wait(op);
	weir__agent_forget(agent, op);
	__atomic_store_n(&forgotten, 1, __ATOMIC_SEQ_CST);
	free(op);
	return NULL;
}

/* The agent has it in its hands: it is forgotten when the agent has let go. */
TEST(a_withdrawal_that_is_looked_at_is_waited_for_P5)
{
	struct weir__op *op = submit_one_that_waits();
	pthread_t thread;

	forgotten = 0;
	assert_int_equal(pthread_create(&thread, NULL, withdraw_and_forget, op), 0);
	assert_int_equal(weir_sem_acquire(&inside, 1), 0);
	assert_int_equal(weir_sem_release(&answer_it, 1), 0);
	(void)weir_sleep(5 * WEIR_MS);
	assert_int_equal(__atomic_load_n(&forgotten, __ATOMIC_SEQ_CST), 0);
	assert_int_equal(weir_sem_release(&return_now, 1), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(looked_at, 1);
}

static void *submit_many(void *arg)
{
	for (int i = 0; i < 200; i++) {
		struct weir__op op = { .done = weir__op_wake };

		weir__agent_submit(agent, &op);
		weir__op_wait(&op);
	}
	return arg;
}

TEST(any_thread_may_ask)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many, NULL), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(served, 800);
}

struct alarm {
	struct weir__timer timer;
	struct weir_sem rung;
	weir_time at;
	weir_time when;
	int left; /* how often it sets itself again */
};

static void ring(struct weir__timer *timer)
{
	struct alarm *alarm = (struct alarm *)(void *)timer;

	alarm->when = weir__boottime();
	assert_true(weir__agent_is_self(agent));
	assert_false(timer->set);
	if (alarm->left-- > 0)
		weir__agent_timer_set(agent, timer, weir__boottime());
	else
		(void)weir_sem_release(&alarm->rung, 1);
}

static void prepare(struct alarm *alarm, weir_time in)
{
	*alarm = (struct alarm){ .timer.fire = ring, .at = weir__boottime() + in };
	assert_int_equal(weir_sem_init(&alarm->rung, 1), 0);
	assert_int_equal(weir_sem_acquire(&alarm->rung, 1), 0);
}

TEST(timers_fire_in_order_and_never_early_P9)
{
	struct alarm alarms[3];

	for (int i = 0; i < 3; i++)
		prepare(&alarms[i], (30 - 10 * i) * WEIR_MS);
	for (int i = 0; i < 3; i++)
		weir__agent_timer_set(agent, &alarms[i].timer, alarms[i].at);
	for (int i = 0; i < 3; i++)
		assert_int_equal(weir_sem_acquire(&alarms[i].rung, 1), 0);
	for (int i = 0; i < 3; i++)
		assert_true(alarms[i].when >= alarms[i].at);
	assert_true(alarms[2].when <= alarms[1].when && alarms[1].when <= alarms[0].when);
}

TEST(setting_a_timer_that_is_set_moves_it)
{
	struct alarm alarm;

	prepare(&alarm, 3600 * WEIR_SECOND);
	weir__agent_timer_set(agent, &alarm.timer, alarm.at);
	weir__agent_timer_set(agent, &alarm.timer, weir__boottime());
	assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
}

TEST(a_timer_may_set_itself_again)
{
	struct alarm alarm;

	prepare(&alarm, 0);
	alarm.left = 50;
	weir__agent_timer_set(agent, &alarm.timer, alarm.at);
	assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
}

/* CHECKLIST 20: what was unset may be freed. */
TEST(after_unset_a_timer_does_not_fire)
{
	for (int i = 0; i < 300; i++) {
		struct alarm *alarm = malloc(sizeof(*alarm));

		assert_non_null(alarm);
		prepare(alarm, 0);
		alarm->left = 1000000;
		weir__agent_timer_set(agent, &alarm->timer, alarm->at);
		weir__agent_timer_unset(agent, &alarm->timer);
		assert_false(alarm->timer.set);
		free(alarm);
	}
}

struct pipe_watch {
	struct weir__watch watch;
	struct weir_sem seen;
};

static void drain(struct weir__watch *watch, uint32_t events)
{
	struct pipe_watch *pipe = (struct pipe_watch *)(void *)watch;
	char byte;

	assert_true((events & EPOLLIN) != 0);
	assert_int_equal(read(watch->fd, &byte, 1), 1);
	weir__agent_unwatch(agent, watch);
	assert_int_equal(watch->fd, -1);
	(void)weir_sem_release(&pipe->seen, 1);
}

TEST(descriptors_are_watched)
{
	struct pipe_watch watch = { .watch.ready = drain };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	watch.watch.fd = ends[0];
	assert_int_equal(weir_sem_init(&watch.seen, 1), 0);
	assert_int_equal(weir_sem_acquire(&watch.seen, 1), 0);
	assert_int_equal(weir__agent_watch(agent, &watch.watch, EPOLLIN), 0);
	assert_int_equal(weir__agent_start(agent), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(weir_sem_acquire(&watch.seen, 1), 0);
	weir__agent_unwatch(agent, &watch.watch);
	close(ends[0]);
	close(ends[1]);
}

TEST(what_cannot_be_watched_is_an_error)
{
	struct weir__watch watch = { .fd = 9999, .ready = drain };

	assert_int_equal(weir__agent_watch(agent, &watch, EPOLLIN), -EBADF);
}

static sigset_t mask;

static void read_mask(struct weir__timer *timer)
{
	(void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
	ring(timer);
}

TEST(the_agent_blocks_all_signals)
{
	struct alarm alarm;

	prepare(&alarm, 0);
	alarm.timer.fire = read_mask;
	weir__agent_timer_set(agent, &alarm.timer, alarm.at);
	assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
	assert_int_equal(sigismember(&mask, SIGTERM), 1);
	assert_int_equal(sigismember(&mask, SIGCHLD), 1);
	assert_int_equal(sigismember(&mask, SIGUSR1), 1);
}

/* CHECKLIST 23. */
TEST(in_a_child_after_a_fork_there_is_no_agent)
{
	pid_t child;
	int status;

	assert_int_equal(weir__agent_start(agent), 0);
	child = fork();
	if (child == 0) {
		struct weir__op op = { .done = weir__op_wake };

		weir__agent_submit(agent, &op);
		weir__agent_stop(agent);
		_exit(op.result == -ESHUTDOWN && weir__agent_start(agent) == -ESHUTDOWN ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define agent_test(name) cmocka_unit_test_setup_teardown(name, start, stop)
#define slow_test(name) cmocka_unit_test_setup_teardown(name, start_slowly, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		agent_test(operations_are_served_in_the_order_in_which_they_came),
		agent_test(one_that_waits_is_withdrawn),
		slow_test(a_withdrawal_that_is_queued_is_forgotten_P5),
		slow_test(a_withdrawal_that_is_looked_at_is_waited_for_P5),
		agent_test(any_thread_may_ask),
		agent_test(timers_fire_in_order_and_never_early_P9),
		agent_test(setting_a_timer_that_is_set_moves_it),
		agent_test(a_timer_may_set_itself_again),
		agent_test(after_unset_a_timer_does_not_fire),
		agent_test(descriptors_are_watched),
		agent_test(what_cannot_be_watched_is_an_error),
		agent_test(the_agent_blocks_all_signals),
		agent_test(in_a_child_after_a_fork_there_is_no_agent),
	};

	return RUN_TESTS(tests);
}

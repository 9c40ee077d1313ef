/* lease: a thread that waits for an answer does the agent's work meanwhile. */
#include "base/boottime.h"
#include "lease/agent_state.h"
#include "lease/op.h"
#include "support/sanitizers.h"
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* What an operation asks for, as its limit. */
enum { ANSWER_ME, KEEP_ME, ANSWER_THE_KEPT, END_THE_WATCH, BEGIN_THE_WATCH };

enum { KEPT_MAX = 8 };

struct pipe_watch {
	struct weir__watch watch;
	int other_end;
};

static struct weir__agent *agent;
static struct weir__op *kept[KEPT_MAX]; /* in the role alone, as all that follows */
static int n_kept;
static bool inside;
static bool by_agent, not_by_agent; /* who has had the role; cleared by the test */
static struct pipe_watch *listener;
static struct weir_sem heard;   /* released for each byte */
static struct weir_sem keeping; /* and for each operation that is kept */

static void enter(void)
{
	assert_false(inside);
	inside = true;
	__atomic_store_n(weir__agent_is_self(agent) ? &by_agent : &not_by_agent, true,
			 __ATOMIC_SEQ_CST);
}

static void answer_kept(void)
{
	for (int i = 0; i < n_kept; i++)
		weir__op_answer(kept[i], 0);
	n_kept = 0;
}

static void hear(struct weir__watch *watch, uint32_t events)
{
	char byte;

	(void)events;
	enter();
	if (read(watch->fd, &byte, 1) == 1) {
		answer_kept();
		(void)weir_sem_release(&heard, 1);
	}
	inside = false;
}

static void begin_watch(void)
{
	int ends[2];

	listener = malloc(sizeof(*listener));
	assert_non_null(listener);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	*listener = (struct pipe_watch){ { .fd = ends[0], .ready = hear }, ends[1] };
	assert_int_equal(weir__agent_watch(agent, &listener->watch, EPOLLIN), 0);
}

static void end_watch(void)
{
	int fd = listener->watch.fd;

	weir__agent_unwatch(agent, &listener->watch);
	close(fd);
	close(listener->other_end);
	free(listener);
}

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	enter();
	while (operations != NULL) {
		struct weir__op *op = operations;

		operations = op->next;
		if (op->limit == KEEP_ME) {
			kept[n_kept++] = op;
			(void)weir_sem_release(&keeping, 1);
			continue;
		}
		if (op->limit == ANSWER_THE_KEPT)
			answer_kept();
		if (op->limit == END_THE_WATCH)
			end_watch();
		if (op->limit == BEGIN_THE_WATCH)
			begin_watch();
		op->max_rows = (uint32_t)n_kept;
		weir__op_answer(op, 0);
	}
	for (; withdrawn != NULL; withdrawn = withdrawn->withdraw_next) {
		n_kept = 0;
		weir__op_answer(withdrawn, withdrawn->give_up);
	}
	inside = false;
}

static const struct weir__agent_work work = { .serve = serve };

static int start(void **state)
{
	(void)state;
	n_kept = 0;
	assert_int_equal(weir_sem_init(&heard, 1000), 0);
	assert_int_equal(weir_sem_acquire(&heard, 1000), 0);
	assert_int_equal(weir_sem_init(&keeping, 1000), 0);
	assert_int_equal(weir_sem_acquire(&keeping, 1000), 0);
	assert_int_equal(weir__agent_new(&work, NULL, &agent), 0);
	begin_watch();
	/* The thread runs, and is asleep or soon will be. */
	assert_int_equal(weir__agent_start(agent), 0);
	return 0;
}

/* How many are kept, when it was served. */
static int ask(uint32_t what)
{
	struct weir__op op = { .limit = what, .agent = agent, .done = weir__op_wake };

	weir__agent_submit(agent, &op);
	weir__op_wait(&op);
	assert_int_equal(op.result, 0);
	return (int)op.max_rows;
}

static int stop(void **state)
{
	(void)state;
	(void)ask(END_THE_WATCH);
	weir__agent_stop(agent);
	return 0;
}

static void forget_who(void)
{
	__atomic_store_n(&by_agent, false, __ATOMIC_SEQ_CST);
	__atomic_store_n(&not_by_agent, false, __ATOMIC_SEQ_CST);
}

static bool was_agent(void)
{
	return __atomic_load_n(&by_agent, __ATOMIC_SEQ_CST);
}

static void *write_a_byte(void *arg)
{
	assert_int_equal(weir_sem_acquire(&keeping, 1), 0);
	usleep(500); /* most likely it waits by now */
	assert_int_equal(write(listener->other_end, "x", 1), 1);
	return arg;
}

static void wait_for_a_byte(void)
{
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, write_a_byte, NULL), 0);
	(void)ask(KEEP_ME);
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(weir_sem_acquire(&heard, 1), 0);
}

/* Whether the agent's thread also looks is a matter of luck: it may have been about to. */
TEST(a_thread_that_waits_hears_the_news_itself)
{
	bool alone = false;

	for (int i = 0; i < 1000 && !alone; i++) {
		forget_who();
		wait_for_a_byte();
		alone = __atomic_load_n(&not_by_agent, __ATOMIC_SEQ_CST) && !was_agent();
	}
	assert_true(alone);
}

static void *wait_often(void *arg)
{
	for (int i = 0; i < 20; i++)
		wait_for_a_byte();
	return arg;
}

TEST(a_thread_with_a_small_stack_leaves_it_to_the_agent)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (UNDER_TSAN)
		skip(); /* it makes every stack larger */
	forget_who();
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, 64 * 1024), 0);
	assert_int_equal(pthread_create(&thread, &attributes, wait_often, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
	assert_true(was_agent());
	assert_false(__atomic_load_n(&not_by_agent, __ATOMIC_SEQ_CST));
}

TEST(while_nobody_waits_the_agent_hears_the_news)
{
	wait_for_a_byte();
	forget_who();
	for (int i = 0; i < 10; i++) {
		assert_int_equal(write(listener->other_end, "x", 1), 1);
		assert_int_equal(weir_sem_acquire(&heard, 1), 0);
	}
	assert_true(was_agent());
}

TEST(a_deadline_ends_the_wait_and_a_withdrawal_is_answered)
{
	struct weir__op op = { .limit = KEEP_ME, .agent = agent, .done = weir__op_wake };
	weir_time until = weir_after(2 * WEIR_MS);

	weir__agent_submit(agent, &op);
	assert_int_equal(weir__op_wait_until(&op, until), -ETIMEDOUT);
	assert_true(weir_now() >= until);
	op.give_up = -ETIMEDOUT;
	weir__agent_withdraw(agent, &op);
	weir__op_wait(&op);
	assert_int_equal(op.result, -ETIMEDOUT);
	weir__agent_forget(agent, &op);
}

static void *ask_to_keep(void *arg)
{
	(void)ask(KEEP_ME);
	return arg;
}

static void await_kept(int n)
{
	while (ask(ANSWER_ME) < n)
		usleep(100);
}

/* Whoever answers may be anybody: another asker here. */
TEST(all_that_wait_are_told_whoever_answers)
{
	for (int round = 0; round < 50; round++) {
		int n = 1 + round % 4;
		pthread_t threads[4];

		for (int i = 0; i < n; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, ask_to_keep, NULL), 0);
		await_kept(n);
		(void)ask(ANSWER_THE_KEPT);
		for (int i = 0; i < n; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
}

/* One leads, and the agent's thread goes on when that one is gone: the next byte is for the other.
 */
TEST(who_stays_is_told_after_the_leader_has_left)
{
	for (int round = 0; round < 50; round++) {
		struct weir__op op = { .limit = KEEP_ME, .agent = agent, .done = weir__op_wake };
		pthread_t other;

		weir__agent_submit(agent, &op);
		assert_int_equal(pthread_create(&other, NULL, ask_to_keep, NULL), 0);
		await_kept(2);
		assert_int_equal(weir__op_wait_until(&op, weir_after(WEIR_MS)), -ETIMEDOUT);
		assert_int_equal(write(listener->other_end, "x", 1), 1);
		weir__op_wait(&op);
		assert_int_equal(pthread_join(other, NULL), 0);
		assert_int_equal(weir_sem_acquire(&heard, 1), 0);
	}
}

static struct weir__op *overtaken;

bool __real_weir__errand_has_room(size_t room);
bool __wrap_weir__errand_has_room(size_t room);

/* An asker looks for room after it has said that it will lead, and before it begins to. */
bool __wrap_weir__errand_has_room(size_t room)
{
	struct pollfd bell = { .fd = agent->watching.bell, .events = POLLIN };

	if (overtaken != NULL &&
	    WEIR__LOAD(&overtaken->progress, __ATOMIC_ACQUIRE) == WEIR__LED_FOR) {
		overtaken = NULL;
		assert_int_equal(write(listener->other_end, "x", 1), 1);
		assert_int_equal(weir_sem_acquire(&heard, 1), 0); /* it is answered, and rung for */
		while (poll(&bell, 1, 0) == 1)
			(void)sched_yield(); /* until the agent's thread has heard that, too */
	}
	return __real_weir__errand_has_room(room);
}

TEST(an_answer_before_it_leads_is_not_waited_for)
{
	for (int round = 0; round < 20; round++) {
		struct weir__op op = { .limit = KEEP_ME, .agent = agent, .done = weir__op_wake };

		weir__agent_submit(agent, &op);
		await_kept(1);
		overtaken = &op;
		weir__op_wait(&op);
		assert_null(overtaken);
		assert_int_equal(op.result, 0);
	}
}

struct alarm {
	struct weir__timer timer;
	struct weir_sem rung;
};

static void ring(struct weir__timer *timer)
{
	enter();
	assert_true(weir__agent_is_self(agent));
	inside = false;
	(void)weir_sem_release(&((struct alarm *)(void *)timer)->rung, 1);
}

TEST(timers_are_the_agents_while_somebody_leads)
{
	struct alarm alarm = { .timer.fire = ring };
	pthread_t thread;

	assert_int_equal(weir_sem_init(&alarm.rung, 1), 0);
	assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, ask_to_keep, NULL), 0);
	await_kept(1);
	for (int i = 0; i < 20; i++) {
		weir__agent_timer_set(agent, &alarm.timer,
				      i % 2 == 0 ? 0 : weir__boottime() + WEIR_MS);
		assert_int_equal(weir_sem_acquire(&alarm.rung, 1), 0);
	}
	(void)ask(ANSWER_THE_KEPT);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The descriptor has something to say, and before whoever leads has the role it is not watched any
 * more, and its memory is gone: a sanitizer would tell. */
TEST(old_news_of_a_descriptor_is_forgotten)
{
	for (int round = 0; round < 200; round++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, ask_to_keep, NULL), 0);
		await_kept(1);
		assert_int_equal(write(listener->other_end, "x", 1), 1);
		(void)ask(END_THE_WATCH);
		(void)ask(ANSWER_THE_KEPT);
		assert_int_equal(pthread_join(thread, NULL), 0);
		(void)ask(BEGIN_THE_WATCH);
	}
}

#define agent_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		agent_test(a_thread_that_waits_hears_the_news_itself),
		agent_test(a_thread_with_a_small_stack_leaves_it_to_the_agent),
		agent_test(while_nobody_waits_the_agent_hears_the_news),
		agent_test(a_deadline_ends_the_wait_and_a_withdrawal_is_answered),
		agent_test(all_that_wait_are_told_whoever_answers),
		agent_test(who_stays_is_told_after_the_leader_has_left),
		agent_test(an_answer_before_it_leads_is_not_waited_for),
		agent_test(timers_are_the_agents_while_somebody_leads),
		agent_test(old_news_of_a_descriptor_is_forgotten),
	};

	return RUN_TESTS(tests);
}

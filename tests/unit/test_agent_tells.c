/* lease: threads that sleep until a server has answered are told of it, many at once. */
#include "base/futex.h"
#include "lease/agent_state.h"
#include "lease/op.h"
#include "support/sanitizers.h"
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

/* What an operation asks for, as its limit. */
enum { KEEP_ME, ANSWER_THE_KEPT };

enum {
	PLACES = WEIR__ROOMS * 32,
	KEPT_MAX = PLACES + 40,
	SMALL_STACK = 64 * 1024, /* too small to do the agent's work */
};

static struct weir__agent *agent;
static struct weir__watch listener;
static int other_end;
static struct weir__op *kept[KEPT_MAX]; /* in the role alone */
static int n_kept;
static struct weir_sem keeping; /* released for each */

static int wakes;             /* of rooms */
static bool answer_meanwhile; /* between a sleeper's last look and its sleep */

int __real_weir__futex_wait_bits(const uint32_t *word, uint32_t expected, weir_time deadline,
				 uint32_t bits);
int __wrap_weir__futex_wait_bits(const uint32_t *word, uint32_t expected, weir_time deadline,
				 uint32_t bits);
void __real_weir__futex_wake_bits(const uint32_t *word, uint32_t bits);
void __wrap_weir__futex_wake_bits(const uint32_t *word, uint32_t bits);

void __wrap_weir__futex_wake_bits(const uint32_t *word, uint32_t bits)
{
	__real_weir__futex_wake_bits(word, bits);
	(void)__atomic_add_fetch(&wakes, 1, __ATOMIC_SEQ_CST);
}

static void speak(void)
{
	assert_int_equal(write(other_end, "x", 1), 1);
}

int __wrap_weir__futex_wait_bits(const uint32_t *word, uint32_t expected, weir_time deadline,
				 uint32_t bits)
{
	if (answer_meanwhile) {
		int before = __atomic_load_n(&wakes, __ATOMIC_SEQ_CST);

		answer_meanwhile = false;
		speak();
		while (__atomic_load_n(&wakes, __ATOMIC_SEQ_CST) == before)
			usleep(100);
	}
	return __real_weir__futex_wait_bits(word, expected, deadline, bits);
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
	if (read(watch->fd, &byte, 1) == 1)
		answer_kept();
}

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	while (operations != NULL) {
		struct weir__op *op = operations;

		operations = op->next;
		if (op->limit == KEEP_ME) {
			kept[n_kept++] = op;
			(void)weir_sem_release(&keeping, 1);
			continue;
		}
		answer_kept();
		weir__op_answer(op, 0);
	}
	for (; withdrawn != NULL; withdrawn = withdrawn->withdraw_next) {
		n_kept = 0;
		weir__op_answer(withdrawn, withdrawn->give_up);
	}
}

static const struct weir__agent_work work = { .serve = serve, .distant = true };

static int start(void **state)
{
	int ends[2];

	(void)state;
	n_kept = 0;
	assert_int_equal(weir_sem_init(&keeping, 1000), 0);
	assert_int_equal(weir_sem_acquire(&keeping, 1000), 0);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	other_end = ends[1];
	listener = (struct weir__watch){ .fd = ends[0], .ready = hear };
	assert_int_equal(weir__agent_new(&work, NULL, &agent), 0);
	assert_int_equal(weir__agent_watch(agent, &listener, EPOLLIN), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	for (int i = 0; i < WEIR__ROOMS; i++)
		assert_int_equal(agent->rooms[i].taken, 0);
	weir__agent_stop(agent);
	close(listener.fd);
	close(other_end);
	return 0;
}

static void ask(uint32_t what)
{
	struct weir__op op = { .limit = what, .agent = agent, .done = weir__op_wake };

	weir__agent_submit(agent, &op);
	weir__op_wait(&op);
	assert_int_equal(op.result, 0);
}

static void *ask_to_keep(void *arg)
{
	ask(KEEP_ME);
	return arg;
}

/* So many threads that neither serve nor lead have asked, and sleep or soon will. */
static void start_sleepers(pthread_t *threads, int n)
{
	pthread_attr_t attributes;

	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(pthread_create(&threads[i], &attributes, ask_to_keep, NULL), 0);
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
	assert_int_equal(weir_sem_acquire(&keeping, (uint32_t)n), 0);
}

static void join_all(pthread_t *threads, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

TEST(one_call_tells_all_of_a_room)
{
	pthread_t threads[32];

	for (int round = 0; round < 20; round++) {
		start_sleepers(threads, 32);
		__atomic_store_n(&wakes, 0, __ATOMIC_SEQ_CST);
		speak();
		join_all(threads, 32);
		assert_true(__atomic_load_n(&wakes, __ATOMIC_SEQ_CST) <= 1);
	}
}

TEST(who_finds_no_place_is_told_as_well)
{
	pthread_t threads[KEPT_MAX];

	for (int round = 0; round < 3; round++) {
		start_sleepers(threads, KEPT_MAX);
		speak();
		join_all(threads, KEPT_MAX);
	}
}

TEST(all_are_told_whoever_answers)
{
	pthread_t threads[8];

	for (int round = 0; round < 50; round++) {
		start_sleepers(threads, 8);
		ask(ANSWER_THE_KEPT);
		join_all(threads, 8);
	}
}

static void *ask_alone(void *arg)
{
	answer_meanwhile = true;
	ask(KEEP_ME);
	assert_false(answer_meanwhile);
	return arg;
}

TEST(who_is_told_before_it_sleeps_does_not_CHECKLIST_8)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (UNDER_TSAN)
		skip(); /* it makes every stack larger, and then it leads */
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
	for (int round = 0; round < 20; round++) {
		assert_int_equal(pthread_create(&thread, &attributes, ask_alone, NULL), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
}

static void *run_out_of_time(void *arg)
{
	struct weir__op op = { .limit = KEEP_ME, .agent = agent, .done = weir__op_wake };
	weir_time until = weir_after(WEIR_MS);

	weir__agent_submit(agent, &op);
	assert_int_equal(weir__op_wait_until(&op, until), -ETIMEDOUT);
	assert_true(weir_now() >= until);
	op.give_up = -ETIMEDOUT;
	weir__agent_withdraw(agent, &op);
	weir__op_wait(&op);
	assert_int_equal(op.result, -ETIMEDOUT);
	weir__agent_forget(agent, &op);
	return arg;
}

TEST(a_deadline_ends_the_sleep)
{
	pthread_attr_t attributes;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
	assert_int_equal(pthread_create(&thread, &attributes, run_out_of_time, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
}

#define agent_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		agent_test(one_call_tells_all_of_a_room),
		agent_test(who_finds_no_place_is_told_as_well),
		agent_test(all_are_told_whoever_answers),
		agent_test(who_is_told_before_it_sleeps_does_not_CHECKLIST_8),
		agent_test(a_deadline_ends_the_sleep),
	};

	return RUN_TESTS(tests);
}

/* lease: a thread that has asked a server looks for the answer for a while before it sleeps.
 *
 * The descriptor speaks when the test has it speak: at a certain look, or when it is slept for.
 * Time passes with each look, and only then. */
#include "base/boottime.h"
#include "base/cpu.h"
#include "lease/agent_state.h"
#include "lease/op.h"
#include "support/unit.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { NEVER = 0, SOON = 3, MANY = 2 * WEIR__GLANCE_LONGEST };

static const weir_time sleep_time = 50 * WEIR_US;

static struct weir__agent *agent;
static struct weir__watch listener;
static int other_end;
static struct weir__op *kept;
static struct weir_sem keeping; /* released for each */
static int answer_after;        /* so many bytes */

static __thread bool is_asker;
static bool to_spare;
static weir_time now, look_time;
static int looks, sleeps;
static int speak_at; /* which look; NEVER: when it is slept for */

static int to_say; /* bytes; a sleep may end for no reason, and that is no news */

static void speak(void)
{
	if (to_say-- > 0)
		assert_int_equal(write(other_end, "x", 1), 1);
}

bool __wrap_weir__cpu_to_spare(void);
weir_time __real_weir__boottime(void);
weir_time __wrap_weir__boottime(void);
int __real_weir__poller_wait(struct weir__poller *poller, weir_time deadline,
			     struct weir__poll_event *events, int size);
int __wrap_weir__poller_wait(struct weir__poller *poller, weir_time deadline,
			     struct weir__poll_event *events, int size);

bool __wrap_weir__cpu_to_spare(void)
{
	return to_spare;
}

weir_time __wrap_weir__boottime(void)
{
	return is_asker ? now : __real_weir__boottime();
}

int __wrap_weir__poller_wait(struct weir__poller *poller, weir_time deadline,
			     struct weir__poll_event *events, int size)
{
	if (is_asker && deadline == 0) {
		now += look_time;
		if (++looks == speak_at)
			speak();
	} else if (is_asker) {
		now += sleep_time;
		sleeps++;
		speak();
	}
	return __real_weir__poller_wait(poller, deadline, events, size);
}

static void hear(struct weir__watch *watch, uint32_t events)
{
	char byte;

	(void)events;
	/* Nothing: the agent's thread was about to look when the asker began to, and was first. */
	if (read(watch->fd, &byte, 1) == 1 && --answer_after == 0)
		weir__op_answer(kept, 0);
}

static void serve(void *self, struct weir__op *operations, struct weir__op *withdrawn)
{
	(void)self;
	assert_null(withdrawn);
	assert_null(operations->next);
	kept = operations;
	(void)weir_sem_release(&keeping, 1);
}

static const struct weir__agent_work distant = { .serve = serve, .distant = true };
static const struct weir__agent_work near = { .serve = serve };

static void start_agent(const struct weir__agent_work *work)
{
	int ends[2];

	to_spare = true;
	look_time = WEIR_US;
	now = __real_weir__boottime();
	assert_int_equal(weir_sem_init(&keeping, 1), 0);
	assert_int_equal(weir_sem_acquire(&keeping, 1), 0);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	other_end = ends[1];
	assert_int_equal(weir__agent_new(work, NULL, &agent), 0);
	listener = (struct weir__watch){ .fd = ends[0], .ready = hear };
	assert_int_equal(weir__agent_watch(agent, &listener, EPOLLIN), 0);
	is_asker = true;
}

static int start(void **state)
{
	(void)state;
	start_agent(&distant);
	return 0;
}

static int start_near(void **state)
{
	(void)state;
	start_agent(&near);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	is_asker = false;
	weir__agent_stop(agent);
	close(listener.fd);
	close(other_end);
	return 0;
}

/* One question, answered after so many bytes, of which the first comes at that look. */
static void ask(int at, int bytes)
{
	struct weir__op op = { .agent = agent, .done = weir__op_wake };

	looks = sleeps = 0;
	speak_at = at;
	answer_after = to_say = bytes;
	weir__agent_submit(agent, &op);
	assert_int_equal(weir_sem_acquire(&keeping, 1), 0);
	weir__op_wait(&op);
	assert_int_equal(op.result, 0);
}

static int count_looked, count_slept;

/* Of many questions, how many were looked for, and how many slept for. */
static void ask_many(int at)
{
	count_looked = count_slept = 0;
	for (int i = 0; i < MANY; i++) {
		ask(at, 1);
		count_looked += looks != 0;
		count_slept += sleeps != 0;
	}
}

TEST(an_answer_that_comes_soon_is_looked_for)
{
	ask_many(SOON);
	assert_in_range(count_looked, MANY / 10 * 9, MANY);
	assert_int_equal(count_looked + count_slept, MANY);
	assert_true(count_slept > 0); /* now and then, to see whether that is still so */
}

TEST(what_is_looked_for_in_vain_is_slept_for)
{
	ask_many(NEVER);
	assert_in_range(count_looked, 1, MANY / 10);
	assert_int_equal(count_slept, MANY);
}

/* Each look lets somebody else run first. */
TEST(where_looking_takes_longer_it_is_slept_for)
{
	look_time = sleep_time / 2;
	ask_many(SOON);
	assert_in_range(count_looked, 1, MANY / 10);
}

TEST(what_has_changed_is_found_out)
{
	ask_many(NEVER);
	ask_many(SOON);
	assert_in_range(count_looked, MANY / 3, MANY);
	ask_many(NEVER);
	assert_in_range(count_looked, 1, MANY / 2);
}

/* What is waited for after the first news is a grant, which may take for ever. (Now and then the
 * agent's thread has just been about to look, and hears the first news.) */
TEST(a_grant_is_slept_for)
{
	int at_once = 0;

	ask_many(SOON);
	for (int i = 0; i < 100; i++) {
		ask(SOON, 2);
		assert_true(sleeps > 0);
		at_once += looks <= SOON;
	}
	assert_true(at_once > 50);
}

TEST(nobody_looks_where_nobody_else_can_run_CHECKLIST_27)
{
	to_spare = false;
	for (int i = 0; i < 100; i++) {
		ask(NEVER, 1);
		assert_int_equal(looks, 0);
	}
}

/* What such an engine has not answered at once is a grant. */
TEST(nobody_looks_for_what_no_server_answers)
{
	for (int i = 0; i < 100; i++) {
		ask(NEVER, 1);
		assert_int_equal(looks, 0);
	}
}

#define agent_test(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		agent_test(an_answer_that_comes_soon_is_looked_for),
		agent_test(what_is_looked_for_in_vain_is_slept_for),
		agent_test(where_looking_takes_longer_it_is_slept_for),
		agent_test(what_has_changed_is_found_out),
		agent_test(a_grant_is_slept_for),
		agent_test(nobody_looks_where_nobody_else_can_run_CHECKLIST_27),
		cmocka_unit_test_setup_teardown(nobody_looks_for_what_no_server_answers, start_near,
						stop),
	};

	return RUN_TESTS(tests);
}

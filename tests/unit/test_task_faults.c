/* task: while weir_run watches for stacks that overflow, all other faults are as they were. */
#include "support/acquirer.h"
#include "support/child.h"
#include "support/on_top.h"
#include "support/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Not NULL itself, which UndefinedBehaviorSanitizer would have a word on. */
static volatile char *volatile nowhere = (volatile char *)64;

TASK(dereferences_null)
{
	*nowhere = 1;
	return 0;
}

static void dereference_null(void)
{
	(void)weir_run(dereferences_null, NULL, NULL);
}

TEST(another_fault_ends_the_process_as_ever)
{
	struct end end = end_of(dereference_null);

	assert_end(end, SIGSEGV, 0);
	assert_string_equal(end.said, "");
}

TASK(is_sent)
{
	(void)raise((int)(intptr_t)arg);
	return 0;
}

static void be_sent_segv(void)
{
	(void)weir_run(is_sent, (void *)SIGSEGV, NULL);
}

static void be_sent_bus(void)
{
	(void)weir_run(is_sent, (void *)SIGBUS, NULL);
}

static void ignore_what_is_sent(void)
{
	(void)signal(SIGSEGV, SIG_IGN);
	(void)weir_run(is_sent, (void *)SIGSEGV, NULL);
	_exit(7);
}

static void ignore_a_fault(void)
{
	(void)signal(SIGSEGV, SIG_IGN);
	dereference_null();
	_exit(7);
}

TEST(a_signal_that_was_sent_does_what_it_did)
{
	assert_end(end_of(be_sent_segv), SIGSEGV, 0);
	assert_end(end_of(be_sent_bus), SIGBUS, 0);
	assert_end(end_of(ignore_what_is_sent), 0, 7);
	assert_end(end_of(ignore_a_fault), SIGSEGV, 0);
}

/* Handlers of the program. */

/* Whether it finds the signals blocked that its own mask says, and the right address. */
static void leave(int number, siginfo_t *info, void *context)
{
	sigset_t blocked;

	(void)context;
	(void)sigprocmask(SIG_BLOCK, NULL, &blocked);
	if (number == SIGSEGV && info->si_addr == (void *)nowhere &&
	    sigismember(&blocked, SIGUSR2) == 1 && sigismember(&blocked, SIGSEGV) == 1)
		_exit(3);
	_exit(4);
}

static void fault_with_a_handler(void)
{
	install(SA_SIGINFO, leave);
	dereference_null();
}

static void simple_leave(int number)
{
	_exit(number == SIGSEGV ? 5 : 6);
}

static void fault_with_a_simple_handler(void)
{
	(void)signal(SIGSEGV, simple_leave);
	dereference_null();
}

static void say_and_return(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	say("handler ");
}

/* It returns, and the instruction faults again. */
static void fault_with_a_handler_for_one_fault(void)
{
	install(SA_SIGINFO | (int)SA_RESETHAND, say_and_return);
	dereference_null();
}

TEST(the_handler_of_the_program_gets_other_faults)
{
	struct end end = end_of(fault_with_a_handler);

	assert_end(end, 0, 3);
	assert_string_equal(end.said, "");
	assert_end(end_of(fault_with_a_simple_handler), 0, 5);
	end = end_of(fault_with_a_handler_for_one_fault);
	assert_end(end, SIGSEGV, 0);
	assert_string_equal(end.said, "handler ");
}

static char *page;
static size_t page_size;

static void open_the_page(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	(void)mprotect(page, page_size, PROT_READ | PROT_WRITE);
}

TASK(writes_to_the_page)
{
	errno = EDOM;
	*(volatile char *)page = 9;
	*value = errno == EDOM ? page[0] : 0;
	return 0;
}

static void repair_the_fault(void)
{
	intptr_t seen = 0;
	struct weir_run_config config = { .value = &seen };

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	page = mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	install(SA_SIGINFO, open_the_page);
	(void)weir_run(writes_to_the_page, NULL, &config);
	_exit((int)seen);
}

TEST(a_handler_that_repairs_the_fault_lets_the_task_go_on)
{
	assert_end(end_of(repair_the_fault), 0, 9);
}

/* What is there before and after. */

struct setting {
	struct sigaction segv;
	struct sigaction bus;
	stack_t stack;
};

static struct setting setting(void)
{
	struct setting now;

	memset(&now, 0, sizeof(now));
	assert_int_equal(sigaction(SIGSEGV, NULL, &now.segv), 0);
	assert_int_equal(sigaction(SIGBUS, NULL, &now.bus), 0);
	assert_int_equal(sigaltstack(NULL, &now.stack), 0);
	return now;
}

static void assert_same(const struct setting *a, const struct setting *b)
{
	assert_ptr_equal((void *)a->segv.sa_sigaction, (void *)b->segv.sa_sigaction);
	assert_ptr_equal((void *)a->bus.sa_sigaction, (void *)b->bus.sa_sigaction);
	assert_int_equal(a->segv.sa_flags, b->segv.sa_flags);
	assert_int_equal(sigismember(&a->segv.sa_mask, SIGUSR2),
			 sigismember(&b->segv.sa_mask, SIGUSR2));
	assert_int_equal(a->stack.ss_flags, b->stack.ss_flags);
	/* Where there is none its place means nothing, and valgrind makes one up. */
	if (!(a->stack.ss_flags & SS_DISABLE))
		assert_ptr_equal(a->stack.ss_sp, b->stack.ss_sp);
}

TASK(looks_at_the_setting)
{
	*(struct setting *)arg = setting();
	return 0;
}

static void look_without_a_handler(void)
{
	struct weir_run_config config = { .no_fault_handler = true };
	struct setting before = setting();
	struct setting during;

	assert_int_equal(weir_run(looks_at_the_setting, &during, &config), 0);
	assert_same(&before, &during);
}

TEST(a_run_leaves_everything_as_it_was)
{
	struct setting before;
	struct setting during;
	struct setting after;
	struct sigaction old;

	assert_int_equal(sigaction(SIGSEGV, NULL, &old), 0);
	install(SA_SIGINFO, say_and_return);
	before = setting();
	assert_int_equal(weir_run(looks_at_the_setting, &during, NULL), 0);
	after = setting();
	assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
	assert_same(&before, &after);
	assert_ptr_not_equal((void *)before.segv.sa_sigaction, (void *)during.segv.sa_sigaction);
	assert_ptr_not_equal((void *)before.bus.sa_sigaction, (void *)during.bus.sa_sigaction);
	assert_int_equal(during.stack.ss_flags & SS_DISABLE, 0);
	look_without_a_handler();
}

TEST(a_thread_that_has_a_signal_stack_keeps_it)
{
	enum { SIZE = 64 * 1024 };
	stack_t own = { .ss_sp = malloc(SIZE), .ss_size = SIZE };
	struct setting during;
	struct setting after;
	stack_t old;

	assert_non_null(own.ss_sp);
	assert_int_equal(sigaltstack(&own, &old), 0);
	assert_int_equal(weir_run(looks_at_the_setting, &during, NULL), 0);
	after = setting();
	assert_int_equal(sigaltstack(&old, NULL), 0);
	assert_ptr_equal(during.stack.ss_sp, own.ss_sp);
	assert_ptr_equal(after.stack.ss_sp, own.ss_sp);
	free(own.ss_sp);
}

TASK(waits)
{
	return weir_wait(arg, WEIR_NEVER, NULL);
}

static void *run_one_that_waits(void *promise_)
{
	(void)weir_run(waits, promise_, NULL);
	return NULL;
}

static void *dereference_null_here(void *arg)
{
	(void)arg;
	*nowhere = 1;
	return NULL;
}

static void fault_in_a_thread_without_tasks(void)
{
	pthread_t other = start_thread(run_one_that_waits, promise());
	pthread_t thread = start_thread(dereference_null_here, NULL);

	(void)pthread_join(thread, NULL);
	(void)pthread_join(other, NULL);
}

TEST(a_thread_without_tasks_faults_as_ever)
{
	struct end end = end_of(fault_in_a_thread_without_tasks);

	assert_end(end, SIGSEGV, 0);
	assert_string_equal(end.said, "");
}

static void fault_below_another_handler(void)
{
	(void)weir_run(installs_a_handler, NULL, NULL);
	dereference_null();
}

TEST(a_handler_on_top_of_ours_stays_and_may_pass_on)
{
	struct end end = end_of(fault_below_another_handler);

	assert_end(end, SIGSEGV, 0);
	assert_string_equal(end.said, "top ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_fault_ends_the_process_as_ever),
		cmocka_unit_test(a_signal_that_was_sent_does_what_it_did),
		cmocka_unit_test(the_handler_of_the_program_gets_other_faults),
		cmocka_unit_test(a_handler_that_repairs_the_fault_lets_the_task_go_on),
		cmocka_unit_test(a_run_leaves_everything_as_it_was),
		cmocka_unit_test(a_thread_that_has_a_signal_stack_keeps_it),
		cmocka_unit_test(a_thread_without_tasks_faults_as_ever),
		cmocka_unit_test(a_handler_on_top_of_ours_stays_and_may_pass_on),
	};

	return RUN_TESTS(tests);
}

/* model: a crash, or a step that never ends, is the program's failure and not the explorer's. */
#include "model/fault.h"

#include "model/engine.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

enum { PATIENCE = 2 };

static struct {
	uint64_t steps;
	int stuck; /* seconds of processor time without a step */
} watch;

static void crashed(int number)
{
	if (!engine.executing) {
		(void)signal(number, SIG_DFL);
		(void)raise(number);
	}
	fail("T%d crashed: %s", engine.current ? thread_index(engine.current) : -1,
	     strsignal(number));
	siglongjmp(engine.escape, 1);
}

static void ticked(int number)
{
	(void)number;
	if (!engine.current || watch.steps != engine.all_steps) {
		watch.steps = engine.all_steps;
		watch.stuck = 0;
	} else if (++watch.stuck == PATIENCE) {
		fail("T%d is caught in an endless loop", thread_index(engine.current));
		siglongjmp(engine.escape, 1);
	}
}

void fault_init(void)
{
	static char stack[64 * 1024];
	stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction crash = { .sa_handler = crashed, .sa_flags = SA_ONSTACK | SA_NODEFER };
	struct sigaction tick = { .sa_handler = ticked,
				  .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART };
	struct itimerval second = { .it_interval = { .tv_sec = 1 }, .it_value = { .tv_sec = 1 } };
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

	(void)sigaltstack(&alternative, NULL);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		(void)sigaction(crashes[i], &crash, NULL);
	(void)sigaction(SIGVTALRM, &tick, NULL);
	(void)setitimer(ITIMER_VIRTUAL, &second, NULL);
}

/* support: a handler that comes on top of ours and passes on to it, as crash reporters do. */
#ifndef TESTS_SUPPORT_ON_TOP_H
#define TESTS_SUPPORT_ON_TOP_H

#include "support/child.h"
#include "support/tasks.h"

static struct sigaction below;

static void say_and_pass_on(int number, siginfo_t *info, void *context)
{
	say("top ");
	if (below.sa_flags & SA_SIGINFO)
		below.sa_sigaction(number, info, context);
	else
		(void)signal(SIGSEGV, SIG_DFL);
}

TASK(installs_a_handler)
{
	struct sigaction top = { .sa_sigaction = say_and_pass_on,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK };

	assert_int_equal(sigaction(SIGSEGV, &top, &below), 0);
	return 0;
}

#endif

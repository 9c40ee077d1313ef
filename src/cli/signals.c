/* cli: signals wait while weir works, come in while it waits for a permit, and are as they were
 * found in the command. */
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"

/* What ends a wait for a permit. TSTP and CONT do then what they always do. */
static const int fatal[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
#define N_FATAL (sizeof(fatal) / sizeof(fatal[0]))

const int forwarded[N_FORWARDED] = { SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
				     SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT };

static sigset_t mask_found;
static bool child_signal_ignored;
static struct sigaction fatal_found[N_FATAL];

static void block_all(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, old);
}

void hold_signals(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	struct sigaction old;

	block_all(&mask_found);
	/* Where it is ignored, children vanish and their exit codes with them. */
	sigaction(SIGCHLD, &action, &old);
	child_signal_ignored = old.sa_handler == SIG_IGN;
}

/* Those that are ignored stay ignored. */
static void catch_fatal(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < N_FATAL; i++) {
		sigaction(fatal[i], &action, &fatal_found[i]);
		if (fatal_found[i].sa_handler == SIG_IGN)
			sigaction(fatal[i], &fatal_found[i], NULL);
	}
}

void let_signals_in(void (*handler)(int))
{
	catch_fatal(handler);
	sigprocmask(SIG_SETMASK, &mask_found, NULL);
	patience_goes_on();
}

void let_fatal_in(void (*handler)(int))
{
	sigset_t set;

	catch_fatal(handler);
	sigemptyset(&set);
	for (size_t i = 0; i < N_FATAL; i++) {
		if (!sigismember(&mask_found, fatal[i]))
			sigaddset(&set, fatal[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void hold_signals_again(void)
{
	block_all(NULL);
	for (size_t i = 0; i < N_FATAL; i++)
		sigaction(fatal[i], &fatal_found[i], NULL);
}

void restore_signals(void)
{
	if (child_signal_ignored)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, &mask_found, NULL);
}

/* Away from a terminal the exit code is what was promised; a shell makes the same of both. */
_Noreturn void die_of(int signal, bool tell_group)
{
	if (signal == SIGINT || signal == SIGQUIT)
		die_on_terminal(signal, tell_group);
	_exit(128 + signal);
}

/* cli: ending as what runs in the foreground of a terminal does.
 *
 * A shell learns from a child that died of an interrupt that the user wants the script, or the
 * loop, to end, too; from an exit code it does not.
 */
#include "cli/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

bool in_foreground(int terminal)
{
	return tcgetpgrp(terminal) == getpgrp();
}

/* Asked of the terminal itself: the standard descriptors may all lead elsewhere. */
static bool has_terminal(void)
{
	int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool has;

	if (terminal < 0)
		return false;
	has = in_foreground(terminal);
	close(terminal);
	return has;
}

void die_on_terminal(int number, bool tell_group)
{
	struct sigaction found;
	sigset_t set;

	if (!has_terminal())
		return;
	/* A handler of ours may be there; what is ignored stays ignored. */
	if (sigaction(number, NULL, &found) == 0 && found.sa_handler != SIG_IGN)
		(void)signal(number, SIG_DFL);
	(void)prctl(PR_SET_DUMPABLE, 0); /* of QUIT, it is the command's core that is wanted */
	sigemptyset(&set);
	sigaddset(&set, number);
	kill(tell_group ? 0 : getpid(), number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* cli: starting the command.
 *
 * It gets what weir got: the same descriptors, signal mask, ignored signals and environment, with
 * WEIR_* added, and the descriptor that binds the lease to it. New is its process group, and that
 * it is told when weir dies.
 *
 * vfork: the parent stands still until the child has become the command or has failed, and the
 * child tells why by writing into memory they share. No pipe is needed, and no page is copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

/* The binding descriptor moves out of the way of scripts, which use the low numbers, and 10, 100,
 * 200 and 255, for their own. */
#define BIND_FD_LEAST 230

static bool export_lease(const struct weir_lease_info *info)
{
	char token[TOKEN_TEXT + 1];
	char slot[16];
	char fence[24];

	token_print(info->token, token);
	snprintf(slot, sizeof(slot), "%u", info->slot);
	snprintf(fence, sizeof(fence), "%llu", (unsigned long long)info->fence);
	return setenv("WEIR_NAME", info->name, 1) == 0 && setenv("WEIR_TOKEN", token, 1) == 0 &&
	       setenv("WEIR_SLOT", slot, 1) == 0 && setenv("WEIR_FENCE", fence, 1) == 0 &&
	       setenv("WEIR_OWNER", info->owner, 1) == 0;
}

/* In the child; returns only if it cannot be run. Signals are blocked until just before exec, so
 * nothing of the parent's runs here, and handing over the terminal does not stop us. */
static void become(const struct child *child, pid_t parent)
{
	setpgid(0, 0);
	if (child->terminal >= 0)
		tcsetpgrp(child->terminal, getpid());
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		raise(SIGKILL); /* it died before we asked to be told */
	if (child->bind_fd >= 0 && fcntl(child->bind_fd, F_DUPFD, BIND_FD_LEAST) < 0)
		fcntl(child->bind_fd, F_SETFD, 0);
	restore_signals();
	execvp(child->argv[0], child->argv);
}

/* Apart, so that no variable of the caller lives across the two returns of vfork. */
__attribute__((noinline)) static pid_t start(const struct child *child, pid_t parent,
					     volatile int *why)
{
	pid_t pid = vfork();

	if (pid == 0) {
		become(child, parent);
		*why = errno;
		_exit(EXIT_FAILED);
	}
	if (pid < 0)
		*why = errno;
	return pid;
}

int spawn(struct child *child, const struct weir_lease_info *info)
{
	volatile int why = 0;

	if (!export_lease(info))
		return ENOMEM;
	child->pid = start(child, getpid(), &why);
	if (why && child->pid > 0) {
		waitpid(child->pid, NULL, 0);
		take_terminal_back(child);
	}
	return why;
}

/* cli: from the start of the command to its end.
 *
 * All signals are blocked, and taken one by one by sigtimedwait: those that are for the command,
 * CHLD when it ended or stopped, and one of our own when the lease was lost. The command's id
 * cannot be reused while nobody has taken its exit status away. We only look at that, also while we
 * wait for what it left behind (family.c), so signals go to nobody else.
 *
 * Each signal reaches the command once: it is in a process group of its own, so the terminal's
 * interrupt goes to that group alone when it has the terminal, and to us alone when it has not.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

/* What is left of a lease when KILL is sent: a part of its TTL, for a busy machine's sake. */
#define MARGIN_PART 20
#define MARGIN_LEAST (20 * WEIR_MS)
#define MARGIN_MOST WEIR_SECOND

#define SIG_LOST SIGRTMIN

enum why { NOT_STOPPED, LOST, HELD_TOO_LONG };

struct watch {
	const struct options *options;
	struct child *child;
	struct weir_lease *lease;
	weir_time kill_after;
	weir_time end;    /* of --max-hold, or WEIR_NEVER */
	weir_time expiry; /* of the lease, as last seen */
	weir_time kill_at;
	enum why why;
	int forwarded; /* the last signal that weir was sent, and the command was not */
};

void tell_lost(struct weir_lease *lease, void *arg)
{
	(void)lease;
	(void)arg;
	kill(getpid(), SIG_LOST);
}

static void to_group(const struct watch *watch, int signal)
{
	kill(-watch->child->pid, signal);
}

/* ---- the lease ---- */

static void stop(struct watch *watch, enum why why, weir_time kill_at)
{
	watch->why = why;
	watch->kill_at = kill_at;
	if (why == HELD_TOO_LONG)
		fail(0, "held for %s, the most allowed: the command is told to end",
		     time_text(watch->options->max_hold).text);
	to_group(watch, watch->options->signal);
	to_group(watch, SIGCONT); /* one that is stopped could not end */
}

static void stop_lost(struct watch *watch, weir_time now, bool held)
{
	weir_time kill_at = now + watch->kill_after;
	const char *how;

	if (held)
		how = "it could not be renewed in time (see weir doctor)";
	else if (now >= watch->expiry)
		how = "it ran out before weir could renew it";
	else /* This clock stands still in a suspension, and the lease's does not. */
		how = "it was evicted or released, or the machine was suspended";
	fail(0, "the lease is lost: %s: the command is told to end", how);
	stop(watch, LOST, kill_at < watch->expiry ? kill_at : watch->expiry);
}

static weir_time margin(weir_time ttl)
{
	weir_time part = ttl / MARGIN_PART;

	if (part < MARGIN_LEAST)
		return MARGIN_LEAST;
	return part < MARGIN_MOST ? part : MARGIN_MOST;
}

/* Looks at the lease and the clock, does what is due, and says how long to wait. */
static weir_time look(struct watch *watch)
{
	weir_time now = weir_now();
	struct weir_lease_info info;
	weir_time due;

	if (watch->why == NOT_STOPPED) {
		weir_lease_get(watch->lease, &info);
		if (info.held)
			watch->expiry = now + info.left;
		due = watch->expiry - watch->kill_after - margin(info.ttl);
		if (!info.held || due <= now) {
			stop_lost(watch, now, info.held);
		} else if (watch->end <= now) {
			stop(watch, HELD_TOO_LONG, now + watch->kill_after);
		} else {
			return (watch->end < due ? watch->end : due) - now;
		}
	}
	if (watch->kill_at > now)
		return watch->kill_at - now;
	to_group(watch, SIGKILL);
	return WEIR_NEVER;
}

/* ---- the terminal ---- */

/* Whether the command gets the terminal from the beginning: when it may read from it. In a pipe
 * to a pager it must not, for then the pager would lose it; should it read all the same, it is
 * stopped for a moment and gets it (see stopped). */
int terminal_to_hand_over(void)
{
	struct stat out;

	if (!in_foreground(STDIN_FILENO))
		return -1;
	if (fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode))
		return -1;
	return STDIN_FILENO;
}

bool take_terminal_back(const struct child *child)
{
	if (child->terminal < 0 || tcgetpgrp(child->terminal) != child->pid)
		return false;
	tcsetpgrp(child->terminal, getpgrp());
	return true;
}

static void hand_terminal_over(const struct child *child)
{
	if (child->terminal >= 0 && in_foreground(child->terminal))
		tcsetpgrp(child->terminal, child->pid);
}

/* The command was stopped. Somebody in the background who wanted the terminal gets it if we have
 * it. Else it is a stop of the job: we stop, too, so that the shell sees it. */
static void stopped(struct watch *watch, int signal)
{
	struct child *child = watch->child;

	if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
		return;
	if (signal != SIGTSTP && child->terminal < 0) {
		child->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
		if (child->terminal >= 0 && in_foreground(child->terminal)) {
			hand_terminal_over(child);
			to_group(watch, SIGCONT);
			return;
		}
	}
	if (take_terminal_back(child))
		kill(0, SIGTSTP); /* the rest of a pipeline, and a script that waits for us */
	kill(getpid(), SIGSTOP);
}

/* The lease comes first: it may have been lost while we were stopped, and then the command must not
 * go on. */
static void continued(struct watch *watch)
{
	look(watch);
	if (watch->why != NOT_STOPPED)
		return;
	hand_terminal_over(watch->child);
	to_group(watch, SIGCONT);
}

/* ---- the command ---- */

/* Whether it has ended. Its status is left where it is. */
static bool has_ended(struct watch *watch)
{
	pid_t pid = watch->child->pid;
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid)
		return true;
	info.si_pid = 0;
	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid)
		stopped(watch, info.si_status);
	return false;
}

static void signals_of_interest(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	for (int i = 0; i < N_FORWARDED; i++)
		sigaddset(ret_set, forwarded[i]);
	sigaddset(ret_set, SIGCHLD);
	sigaddset(ret_set, SIG_LOST);
}

static void wait_for_end(struct watch *watch)
{
	sigset_t set;

	signals_of_interest(&set);
	for (;;) {
		weir_time wait = look(watch);
		struct timespec timeout = { .tv_sec = wait / WEIR_SECOND,
					    .tv_nsec = wait % WEIR_SECOND };
		int signal = sigtimedwait(&set, NULL, wait == WEIR_NEVER ? NULL : &timeout);

		if (signal == SIGCHLD) {
			if (has_ended(watch))
				return;
		} else if (signal == SIGCONT) {
			continued(watch);
		} else if (signal > 0 && signal != SIG_LOST) {
			watch->forwarded = signal;
			to_group(watch, signal);
		}
	}
}

/* The keys of a terminal tell the command alone that has it. What it dies of is news for the group
 * then; but not what weir was sent, and passed on. */
static int make_ending(const struct watch *watch, bool had_terminal)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)watch->child->pid, &info, WEXITED | WNOWAIT) < 0)
		return fail(EXIT_FAILED, "the command's exit code is lost: somebody else took it");
	if (info.si_code == CLD_EXITED)
		watch->child->own_code = info.si_status;
	else
		watch->child->own_end = info.si_status;
	if (watch->why == LOST)
		return EXIT_LOST;
	if (watch->why == HELD_TOO_LONG)
		return EXIT_MAX_HOLD;
	if (info.si_code == CLD_EXITED)
		return info.si_status;
	watch->child->ending.died_of = info.si_status;
	watch->child->ending.tell_group = had_terminal && info.si_status != watch->forwarded;
	return 128 + info.si_status;
}

void supervise(const struct options *options, struct child *child, struct weir_lease *lease)
{
	struct watch watch = {
		.options = options,
		.child = child,
		.lease = lease,
		.kill_after = options->kill_after,
		.end = child->end,
		.expiry = weir_now(),
	};

	wait_for_end(&watch);
	if (watch.why != NOT_STOPPED)
		to_group(&watch, SIGKILL); /* those it left behind have had their time */
	child->ending.code = make_ending(&watch, take_terminal_back(child));
}

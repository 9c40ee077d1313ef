/* cli: the processes that a command leaves behind when it has ended.
 *
 * They have inherited the descriptor that binds the lease, so the permit is theirs until the last
 * of them has ended, and weir need not stay. Only --max-hold keeps it: somebody must see to it that
 * nobody of the group is alive when the lease's time is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"

/* Our own copy of the descriptor is given up, to see whether there are others: its number stays
 * taken, by something else, for the lease to close. The other end of it, or -1: it has no other. */
static int other_end(int bind_fd)
{
	char path[32];
	char byte;
	int end, nothing;
	bool bound = false;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", bind_fd);
	end = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	nothing = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (end >= 0 && nothing >= 0 && dup3(nothing, bind_fd, O_CLOEXEC) >= 0)
		bound = read(end, &byte, 1) < 0 && errno == EAGAIN;
	if (nothing >= 0)
		close(nothing);
	if (end >= 0 && !bound) {
		close(end);
		end = -1;
	}
	return end;
}

/* A signal that came for us is for them. */
static void pass_on(int signals, pid_t group)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) == sizeof(info))
		kill(-group, (int)info.ssi_signo);
}

/* Until all have ended: true. False: they have not, and the time is over. */
static bool await_family(int end, pid_t group, weir_time until)
{
	struct pollfd fds[2] = { { .fd = end }, { .events = POLLIN } };
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < N_FORWARDED; i++)
		sigaddset(&set, forwarded[i]);
	fds[1].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	for (;;) {
		weir_time left = until - weir_now();
		struct timespec timeout = { .tv_sec = left / WEIR_SECOND,
					    .tv_nsec = left % WEIR_SECOND };

		if (left <= 0)
			return false;
		if (ppoll(fds, 2, &timeout, NULL) <= 0)
			continue;
		if (fds[1].revents)
			pass_on(fds[1].fd, group);
		if (fds[0].revents & POLLHUP)
			return true;
	}
}

bool leave_to_family(const struct options *options, struct child *child)
{
	int end = child->bind_fd >= 0 ? other_end(child->bind_fd) : -1;

	if (end < 0)
		return false;
	if (!options->max_hold)
		return true;
	if (!await_family(end, child->pid, child->end)) {
		fail(0,
		     "held for %s, the most allowed: what the command left behind is told to "
		     "end",
		     time_text(options->max_hold).text);
		kill(-child->pid, options->signal);
		if (!await_family(end, child->pid, child->end + options->kill_after))
			kill(-child->pid, SIGKILL);
		child->ending = (struct ending){ .code = EXIT_MAX_HOLD };
	}
	close(end);
	return false;
}

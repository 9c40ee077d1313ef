/* support: how a child process ends, and what it says on its standard error. */
#ifndef TESTS_SUPPORT_CHILD_H
#define TESTS_SUPPORT_CHILD_H

#include "support/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct end {
	int signal; /* or 0 */
	int status;
	char said[2048];
};

/* Runs `body` in a child that begins without handlers: a sanitizer has some of its own. */
static inline struct end end_of(void (*body)(void))
{
	struct end end = { .signal = 0 };
	size_t length = 0;
	ssize_t count;
	int words[2];
	int status = 0;
	pid_t child;

	assert_int_equal(pipe(words), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)dup2(words[1], STDERR_FILENO);
		(void)signal(SIGSEGV, SIG_DFL);
		(void)signal(SIGBUS, SIG_DFL);
		body();
		_exit(0);
	}
	(void)close(words[1]);
	while (length < sizeof(end.said) - 1 &&
	       (count = read(words[0], end.said + length, sizeof(end.said) - 1 - length)) > 0)
		length += (size_t)count;
	(void)close(words[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	return end;
}

#define assert_end(end, signal_, status_)                \
	do {                                             \
		assert_int_equal((end).signal, signal_); \
		assert_int_equal((end).status, status_); \
	} while (0)

/* Makes it the handler of SIGSEGV; SIGUSR2 is blocked while it runs. */
static inline void install(int flags, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = flags };

	(void)sigemptyset(&action.sa_mask);
	(void)sigaddset(&action.sa_mask, SIGUSR2);
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
}

/* What a signal handler can say. */
static inline void say(const char *text)
{
	(void)!write(STDERR_FILENO, text, strlen(text));
}

#endif

/* cli: an end to waiting for a store that does not answer.
 *
 * A call to a store returns when its server has answered, or after the store's own time-outs and
 * retries, which are made for servers that come back and may take half a minute. Who is in a hurry
 * ends the process instead, in the handler of a timer's signal. That is fine at the moments when
 * this is used: nothing is held yet, or the command has ended and the lease ends by itself.
 *
 * When the time is over, the timer ticks on a few times before the end comes: the call may just be
 * about to return, and who was stopped all the time gets one tick for it and not the end at once.
 */
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define SIG_PATIENCE (SIGRTMIN + 1) /* SIGRTMIN is that of supervise.c */
#define TICK (100 * WEIR_MS)
#define TICKS 20

static struct {
	volatile sig_atomic_t there; /* and to be obeyed */
	volatile sig_atomic_t ticks;
	struct ending ending;
	timer_t timer;
	struct sigaction found;
	int fd;
	const char *words; /* that are said there */
	size_t length;
	char line[200];
	size_t clear; /* as much of it clears a status line */
} patience;

static void set_timer(weir_time time)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = time / WEIR_SECOND, .tv_nsec = time % WEIR_SECOND },
		.it_interval = { .tv_nsec = TICK },
	};

	(void)timer_settime(patience.timer, 0, &when, NULL);
}

/* With the ticks that are still to come. */
static weir_time time_left(void)
{
	struct itimerspec when = { 0 };
	weir_time next;

	(void)timer_gettime(patience.timer, &when);
	next = when.it_value.tv_sec * WEIR_SECOND + when.it_value.tv_nsec;
	return next ? next + (patience.ticks - 1) * TICK : WEIR_NEVER;
}

static void tick(int number)
{
	(void)number;
	if (!patience.there || --patience.ticks > 0)
		return;
	/* Nobody is left to be told when that fails. */
	if (write(patience.fd, patience.words, patience.length) < 0)
		patience.there = false;
	if (patience.ending.died_of)
		die_of(patience.ending.died_of, patience.ending.tell_group);
	_exit(patience.ending.code);
}

/* On a terminal a status line may stand where this is to be written. */
static void prepare_line(const char *format, va_list args)
{
	size_t size = sizeof(patience.line) - 1;
	const char *clear = isatty(STDERR_FILENO) ? "\r\033[K" : "";
	int length = snprintf(patience.line, size, "%sweir: ", clear);

	(void)vsnprintf(patience.line + length, size - (size_t)length, format, args);
	strcat(patience.line, "\n");
	patience.clear = strlen(clear);
}

static void begin(weir_time time, const struct ending *ending, int fd, const char *words)
{
	struct sigaction action = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIG_PATIENCE };

	if (timer_create(CLOCK_MONOTONIC, &event, &patience.timer) < 0)
		return; /* then it takes as long as it takes */
	patience.ending = *ending;
	patience.fd = fd;
	patience.words = words;
	patience.length = strlen(words);
	patience.ticks = TICKS;
	patience.there = true;
	sigfillset(&action.sa_mask);
	sigaction(SIG_PATIENCE, &action, &patience.found);
	/* The ticks are a part of the time. */
	if (time != WEIR_NEVER)
		set_timer(time > TICKS * TICK ? time - (TICKS - 1) * TICK : TICK);
	patience_goes_on();
}

void patience_begin(weir_time time, const struct ending *ending, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	prepare_line(format, args);
	va_end(args);
	begin(time, ending, STDERR_FILENO, patience.line);
}

void patience_begin_output(weir_time time, const struct ending *ending, const char *words)
{
	begin(time, ending, STDOUT_FILENO, words);
}

void patience_goes_on(void)
{
	sigset_t set;

	if (!patience.there)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIG_PATIENCE);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void patience_shorten(weir_time time, int died_of)
{
	if (!patience.there)
		return;
	if (died_of) {
		/* One by one, for a tick may come in between: the code is good until the signal
		 * takes its place. */
		patience.ending.tell_group = false;
		patience.length = patience.clear;
		patience.ending.died_of = died_of;
	}
	if (time < time_left()) {
		patience.ticks = 1;
		set_timer(time);
	}
}

void patience_end(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	if (!patience.there)
		return;
	patience.there = false;
	timer_delete(patience.timer);
	sigemptyset(&set);
	sigaddset(&set, SIG_PATIENCE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* One that has been sent meanwhile is forgotten thereby. */
	sigaction(SIG_PATIENCE, &ignore, NULL);
	sigaction(SIG_PATIENCE, &patience.found, NULL);
}

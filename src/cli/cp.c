/* cli: weir-cp. */
#include "cli/cp.h"

#include "cli/standard.h"
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct weir_copy_flag *interrupted;
static volatile sig_atomic_t signal_seen;

static void interrupt(int number)
{
	signal_seen = number;
	weir_copy_cancel(interrupted);
}

/* A second signal ends it the hard way. */
static void catch_signals(struct weir_copy_flag *cancel)
{
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	interrupted = cancel;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction old;

		/* What nohup or the shell ignores for us stays ignored. */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &action, NULL);
	}
	/* The call that fails says it as well, of one entry. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
}

/* As many descriptors as the system lets us have: this process is the copier's alone. */
static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int finish(struct cp *cp, const struct weir_copy_stats *stats, int result)
{
	bool written;

	if (result >= 0 || result == -ECANCELED)
		weir__cp_summary(cp, stats, result);
	if (result == -ECANCELED)
		fprintf(stderr, "%s: interrupted\n", cp->program);
	else if (result == -EINVAL) /* the one thing that the options did not keep out */
		fprintf(stderr, "%s: a source or the destination is an empty name\n", cp->program);
	else if (result < 0)
		weir__cp_failed(cp->config.destination, result, cp);
	written = weir__cp_output_written(cp);
	if (result < 0)
		return CP_FAILED;
	return result == 1 ? CP_SOME : written ? CP_ALL : CP_FAILED;
}

int weir__cli_cp(int argc, char **argv)
{
	struct cp cp = { .config.failed = weir__cp_failed };
	struct weir_copy_stats stats = { 0 };
	int result, code;

	if (take_closed_descriptors() < 0)
		return CP_FAILED;
	/* A whole line goes out in one write, so that those of several copiers do not mix. */
	(void)setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	cp.program = argc > 0 && strcmp(argv[0], CP_AS_COMMAND) == 0 ? CP_AS_COMMAND : "weir-cp";
	if (!weir__cp_parse(&cp, argc, argv)) {
		free(cp.rules);
		return weir__cp_output_written(&cp) ? (int)cp.exit : CP_FAILED;
	}
	cp.config.arg = &cp;
	cp.config.cancel = &cp.cancel;
	if (cp.verbose)
		cp.config.done = weir__cp_done;
	if (cp.progress || (isatty(STDERR_FILENO) && !cp.quiet))
		cp.config.progress = weir__cp_progress;
	catch_signals(&cp.cancel);
	raise_limit();
	result = weir_copy(&cp.config, &stats);
	code = finish(&cp, &stats, result);
	free(cp.rules);
	/* As cp(1) does, for the sake of the script or the loop it is in. */
	if (result == -ECANCELED && signal_seen)
		die_on_terminal(signal_seen, false);
	return code;
}

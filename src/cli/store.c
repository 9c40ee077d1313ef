/* cli: which store, and opening it. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* XDG says that a path that is not absolute is to be ignored. */
static const char *absolute(const char *path)
{
	return path && path[0] == '/' ? path : NULL;
}

char *default_path(void)
{
	const char *state = absolute(getenv("XDG_STATE_HOME"));
	const char *home = absolute(getenv("HOME"));
	char *path = NULL;
	int length = -1;

	if (state)
		length = asprintf(&path, "%s/weir/weir.db", state);
	else if (home)
		length = asprintf(&path, "%s/.local/state/weir/weir.db", home);
	return length < 0 ? NULL : path;
}

const char *store_problem(const char *url, const char *path)
{
	if (url && strncmp(url, "memory:", 7) == 0)
		return "a memory: store ends with this command and nobody else can see it, so it "
		       "would hold nobody back: say --store sqlite:PATH or leave it out";
	if (url && *url)
		return NULL;
	if (!path)
		return "there is no default store without HOME: say --store sqlite:PATH or set "
		       "WEIR_STORE";
	if (strchr(path, '?'))
		return "the path of the default store has a question mark, after which options "
		       "would follow: say --store sqlite:PATH or set WEIR_STORE";
	return NULL;
}

static int open_default(const struct options *options, struct weir_store **ret_store)
{
	char *path = default_path();
	const char *problem = store_problem(NULL, path);
	char *url = NULL;
	int code;

	if (problem) {
		free(path);
		return fail(EXIT_USAGE, "%s", problem);
	}
	if (asprintf(&url, "sqlite:%s", path) < 0) {
		free(path);
		return fail(EXIT_FAILED, "out of memory");
	}
	code = weir_store_open(url, ret_store);
	code = code < 0 ? fail_store(options, code) : 0;
	free(url);
	free(path);
	return code;
}

/* Nothing is held yet that would have to be given back. */
static void leave(int number)
{
	die_of(number, false);
}

static void begin_patience(const struct options *options)
{
	bool once = options->nonblock || (options->has_wait && options->wait == 0);
	weir_time told = once ? PATIENCE : options->wait;
	weir_time time = once ? PATIENCE : WEIR_NEVER;

	if (!once && options->has_wait && __builtin_add_overflow(told, PATIENCE_SLACK, &time))
		time = WEIR_NEVER;
	patience_begin(time, &(struct ending){ .code = EXIT_STORE },
		       "the store did not answer within %s: see weir doctor", time_text(told).text);
}

int open_and_hold_signals(const struct options *options, struct weir_store **ret_store)
{
	int code;

	hold_signals();
	begin_patience(options);
	let_signals_in(leave);
	code = open_store(options, ret_store);
	hold_signals_again();
	return code;
}

int open_store(const struct options *options, struct weir_store **ret_store)
{
	const char *url = options->store ? options->store : getenv("WEIR_STORE");
	const char *problem;
	int error;

	if (!url || !*url)
		return open_default(options, ret_store);
	problem = store_problem(url, NULL);
	if (problem)
		return fail(EXIT_USAGE, "%s", problem);
	error = weir_store_open(url, ret_store);
	return error < 0 ? fail_store(options, error) : 0;
}

/* cli: which store, and opening it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* Makes the directories that lead to path; those who are not its owner do not get in. 0 or a
 * positive errno. */
static int make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int error = 0;

		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			error = errno;
		*slash = '/';
		if (error && error != EACCES && error != EROFS)
			return error;
		if (error && !strchr(slash + 1, '/'))
			return error;
	}
	return 0;
}

/* The directories are made only when opening fails: they are there every time but the first. */
static int open_default(const struct options *options, struct weir_store **ret_store)
{
	char *path = default_path();
	char *url = NULL;
	int code;

	if (!path)
		return fail(EXIT_USAGE, "there is no default store without HOME: say --store "
					"sqlite:PATH or set WEIR_STORE");
	if (strpbrk(path, "?%#")) {
		free(path);
		return fail(EXIT_USAGE, "the path of the default store has a ?, %% or #: say "
					"--store sqlite:PATH or set WEIR_STORE");
	}
	if (asprintf(&url, "sqlite:%s", path) < 0) {
		free(path);
		return fail(EXIT_FAILED, "out of memory");
	}
	code = weir_store_open(url, ret_store);
	if (code < 0 && make_parents(path) == 0)
		code = weir_store_open(url, ret_store);
	code = code < 0 ? fail_store(options, code) : 0;
	free(url);
	free(path);
	return code;
}

int open_store(const struct options *options, struct weir_store **ret_store)
{
	const char *url = options->store ? options->store : getenv("WEIR_STORE");
	int error;

	if (!url || !*url)
		return open_default(options, ret_store);
	error = weir_store_open(url, ret_store);
	return error < 0 ? fail_store(options, error) : 0;
}

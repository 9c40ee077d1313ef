/* cli: weir cp. The copier is a program of its own, weir-cp(1), so that nobody else loads its
 * libraries; it stands beside this one. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cp.h"

int start_cp(char **argv)
{
	static const char name[] = "weir-cp";
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
	char *slash = NULL;

	argv[0] = CP_AS_COMMAND;
	if (length > 0 && (size_t)length < sizeof(path)) {
		path[length] = '\0';
		slash = strrchr(path, '/');
	}
	if (slash && (size_t)(slash + 1 - path) + sizeof(name) <= sizeof(path)) {
		memcpy(slash + 1, name, sizeof(name));
		(void)execv(path, argv);
	}
	if (!slash || errno == ENOENT)
		(void)execvp(name, argv);
	return fail(EXIT_FAILED, "%s cannot be started: %s", name, strerror(errno));
}

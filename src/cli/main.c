/* cli: weir(1). What happens before and after a command. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/cli.h"

static int (*const commands[CMD_COUNT])(const struct options *options) = {
	[CMD_RUN] = command_run,       [CMD_ACQUIRE] = command_acquire,
	[CMD_RENEW] = command_renew,   [CMD_RELEASE] = command_release,
	[CMD_LS] = command_ls,         [CMD_SHOW] = command_show,
	[CMD_LIMIT] = command_limit,   [CMD_EVICT] = command_evict,
	[CMD_DOCTOR] = command_doctor, [CMD_STORE] = command_store,
};

/* If a standard descriptor is closed, the next file to be opened would take its place: the
 * database, say, and then a message to standard error would go there. So the place is taken, and
 * left by exec as it was found. Reading or writing it fails as it would on a closed one. */
static int take_closed_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		int taken;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		taken = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (taken != fd)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options options;
	int code;

	if (take_closed_descriptors() < 0)
		return EXIT_FAILED;
	if (getauxval(AT_SECURE))
		return fail(EXIT_USAGE, "weir does not run setuid, setgid or with capabilities of "
					"its file: take those off");
	/* The store's thread would get a heap of its own, which costs more than it saves here. */
	mallopt(M_ARENA_MAX, 1);
	code = options_parse(argc, argv, &options);
	if (code >= 0)
		return code;
	return commands[options.command](&options);
}

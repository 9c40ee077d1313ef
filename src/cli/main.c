/* cli: weir(1). What happens before and after a command. */
#include <malloc.h>
#include <sys/auxv.h>

#include "cli/cli.h"
#include "cli/standard.h"

static int (*const commands[CMD_COUNT])(const struct options *options) = {
	[CMD_RUN] = command_run,       [CMD_ACQUIRE] = command_acquire,
	[CMD_RENEW] = command_renew,   [CMD_RELEASE] = command_release,
	[CMD_LS] = command_ls,         [CMD_SHOW] = command_show,
	[CMD_LIMIT] = command_limit,   [CMD_EVICT] = command_evict,
	[CMD_DOCTOR] = command_doctor, [CMD_STORE] = command_store,
};

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
	/* An object of --json goes out in one write, so that those of several commands do not mix.
	 */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	code = options_parse(argc, argv, &options);
	if (code >= 0)
		return code;
	return commands[options.command](&options);
}

/* cli: words for people, on standard error, and the end of standard output. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* A whole line goes out in one write, so that the lines of several commands do not mix. What cannot
 * be shown in a terminal without doing something there is replaced. */
static void say(const char *format, va_list args)
{
	char line[1024] = "weir: ";
	size_t prefix = strlen(line);
	int n = vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, args);
	size_t length = prefix + (n < 0 ? 0 : (size_t)n);

	if (length > sizeof(line) - 2)
		length = sizeof(line) - 2;
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[length++] = '\n';
	/* Nobody is left to be told when standard error fails. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

int fail(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return code;
}

void note(const struct options *options, const char *format, ...)
{
	va_list args;

	if (!options->verbose || options->json)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

int fail_store(const struct options *options, int error)
{
	/* The calls below may overwrite it. */
	const char *text = weir_store_error(NULL);

	switch (error) {
	case -EAGAIN:
	case -ETIMEDOUT:
	case -ENOBUFS:
		if (!options->quiet)
			fail(0, "%s", text);
		return options->conflict;
	case -ESTALE:
		return fail(EXIT_LOST, "%s", text);
	case -EINVAL:
	case -ENOENT:
	case -EEXIST:
	case -E2BIG:
		return fail(EXIT_USAGE, "%s", text);
	case -EHOSTUNREACH:
	case -EPROTO:
		return fail(EXIT_STORE, "%s", text);
	default:
		return fail(EXIT_FAILED, "%s", text);
	}
}

int finish_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	return fail(EXIT_FAILED, "cannot write to standard output: %s", strerror(errno));
}

int check_name(const char *name)
{
	if (weir_name_valid(name))
		return -1;
	return fail(EXIT_USAGE, "'%.200s' is not a name: 1 to 200 of A-Z a-z 0-9 - _ : / .", name);
}

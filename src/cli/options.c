/* cli: reading the command line by the tables of options.h. */
#include "cli/options.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"

static const char *command_name(enum command_id command)
{
	return command_specs[command].name;
}

static bool is_one_of(const char *name, size_t length, const struct option_spec *spec)
{
	return (strlen(spec->name) == length && memcmp(spec->name, name, length) == 0) ||
	       (spec->also && strlen(spec->also) == length &&
		memcmp(spec->also, name, length) == 0);
}

static const struct option_spec *find_long(const char *name, size_t length, enum command_id command)
{
	for (size_t i = 0; i < n_option_specs; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (spec->commands & (1u << command) && is_one_of(name, length, spec))
			return spec;
	}
	return NULL;
}

static const struct option_spec *find_short(char letter, enum command_id command)
{
	for (size_t i = 0; i < n_option_specs; i++) {
		if (option_specs[i].commands & (1u << command) && option_specs[i].letter == letter)
			return &option_specs[i];
	}
	return NULL;
}

static int bad_value(const struct option_spec *spec, const char *value, const char *want)
{
	return fail(EXIT_USAGE, "--%s: '%s' is not %s", spec->name, value, want);
}

static int set_time(const struct option_spec *spec, const char *value, weir_time *ret_time)
{
	if (parse_duration(value, ret_time) < 0)
		return bad_value(spec, value, "a time like 30, 30s, 5m, 1h or 250ms");
	return -1;
}

static int set_number(const struct option_spec *spec, const char *value, uint32_t least,
		      uint32_t most, uint32_t *ret_number)
{
	if (parse_number(value, least, most, ret_number) < 0)
		return fail(EXIT_USAGE, "--%s: '%s' is not a whole number from %u to %u",
			    spec->name, value, least, most);
	return -1;
}

/* How many permits there may be is for the store to say, which is not open yet. */
static int set_permits(const struct option_spec *spec, const char *value, uint32_t *ret_number)
{
	if (parse_number(value, 1, INT32_MAX, ret_number) < 0)
		return bad_value(
			spec, value,
			"a whole number from 1 to what the store allows, 10000 by default");
	return -1;
}

static int set_flag(struct options *options, const struct option_spec *spec)
{
	switch (spec->id) {
	case OPT_NONBLOCK:
		options->nonblock = true;
		break;
	case OPT_ALL:
		options->all = true;
		break;
	case OPT_WATCH:
		options->watch = true;
		break;
	case OPT_QUIET:
		options->quiet = true;
		break;
	case OPT_VERBOSE:
		options->verbose = true;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	default:
		print_command_help(stdout, options->command);
		return finish_output(0);
	}
	return -1;
}

/* Most likely a variable that is not set: whoever names a store must not get another one. */
static int set_store(struct options *options, const char *value)
{
	if (!*value)
		return fail(EXIT_USAGE, "--store is an empty word: say a URL like sqlite:PATH, or "
					"leave it out for $WEIR_STORE or the default");
	options->store = value;
	return -1;
}

static int set_value(struct options *options, const struct option_spec *spec, const char *value)
{
	uint32_t number;
	int code;

	switch (spec->id) {
	case OPT_WAIT:
		options->has_wait = true;
		return set_time(spec, value, &options->wait);
	case OPT_CONFLICT:
		code = set_number(spec, value, 0, 255, &number);
		if (code < 0)
			options->conflict = (int)number;
		return code;
	case OPT_COMMAND:
		options->shell = value;
		break;
	case OPT_LIMIT:
		options->has_limit = true;
		return set_permits(spec, value, &options->limit);
	case OPT_ID:
		options->id = value;
		break;
	case OPT_KILL_AFTER:
		options->has_kill_after = true;
		return set_time(spec, value, &options->kill_after);
	case OPT_SIGNAL:
		if (parse_signal(value, &options->signal) < 0)
			return bad_value(spec, value, "a signal like TERM, SIGINT or 15");
		break;
	case OPT_TTL:
	case OPT_MAX_HOLD:
		code = set_time(spec, value,
				spec->id == OPT_TTL ? &options->ttl : &options->max_hold);
		if (code < 0 && (spec->id == OPT_TTL ? options->ttl : options->max_hold) == 0)
			return fail(EXIT_USAGE, "--%s must be more than 0", spec->name);
		return code;
	case OPT_WEIGHT:
		return set_permits(spec, value, &options->weight);
	case OPT_OWNER:
		options->owner = value;
		break;
	case OPT_REQUEST_ID:
		options->request_id = value;
		break;
	case OPT_GRANT:
		options->grant = value;
		break;
	case OPT_STORE:
		return set_store(options, value);
	default:
		break;
	}
	return -1;
}

static int unknown(const struct options *options, const char *option)
{
	static const char request_id[] = "--request-id";
	size_t length = strcspn(option, "=");

	/* Scripts may have it from a time when two runs of one id ran at once, on one permit. */
	if (options->command == CMD_RUN && length == strlen(request_id) &&
	    strncmp(option, request_id, length) == 0)
		return fail(EXIT_USAGE,
			    "weir run has no --request-id, for two runs of one id would "
			    "share a permit and run at once: leave it out, or use weir "
			    "acquire --request-id and weir release");
	return fail(EXIT_USAGE, "unknown option %s: see weir %s --help", option,
		    command_name(options->command));
}

static int parse_long(struct options *options, char **argv, int *i)
{
	const char *name = argv[*i] + 2;
	const char *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_spec *spec = find_long(name, length, options->command);

	if (!spec)
		return unknown(options, argv[*i]);
	if (spec->value == VALUE_NONE) {
		if (equals)
			return fail(EXIT_USAGE, "--%s takes no value", spec->name);
		return set_flag(options, spec);
	}
	if (equals)
		return set_value(options, spec, equals + 1);
	if (!argv[*i + 1])
		return fail(EXIT_USAGE, "--%s needs a value, %s: see weir %s --help", spec->name,
			    spec->metavar, command_name(options->command));
	(*i)++;
	return set_value(options, spec, argv[*i]);
}

/* A word of one-letter options, of which the last may have a value. */
static int parse_short(struct options *options, char **argv, int *i)
{
	for (const char *letter = argv[*i] + 1; *letter; letter++) {
		const struct option_spec *spec = find_short(*letter, options->command);
		int code;

		if (!spec)
			return unknown(options, argv[*i]);
		if (spec->value == VALUE_NONE) {
			code = set_flag(options, spec);
			if (code >= 0)
				return code;
			continue;
		}
		if (letter[1])
			return set_value(options, spec, letter + 1);
		if (!argv[*i + 1])
			return fail(EXIT_USAGE, "-%c needs a value, %s: see weir %s --help",
				    *letter, spec->metavar, command_name(options->command));
		(*i)++;
		return set_value(options, spec, argv[*i]);
	}
	return -1;
}

/* The options of a command and, moved to the front of argv, what is none. */
static int parse_words(struct options *options, int argc, char **argv)
{
	bool names_first = command_specs[options->command].names_first;
	int i = 0;

	options->args = argv;
	for (; i < argc; i++) {
		char *word = argv[i];
		int code = -1;

		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if (word[0] != '-' || word[1] == '\0') {
			if (names_first)
				break;
			options->args[options->n_args++] = word;
			continue;
		}
		code = word[1] == '-' ? parse_long(options, argv, &i) :
					parse_short(options, argv, &i);
		if (code >= 0)
			return code;
	}
	while (i < argc)
		options->args[options->n_args++] = argv[i++];
	options->args[options->n_args] = NULL;
	return -1;
}

static int find_command(const char *name, enum command_id *ret_command)
{
	for (int i = 0; i < CMD_COUNT; i++) {
		if (strcmp(command_specs[i].name, name) == 0) {
			*ret_command = (enum command_id)i;
			return -1;
		}
	}
	return fail(EXIT_USAGE, "there is no command '%s': see weir --help", name);
}

static int print_version(void)
{
	printf("weir %s\n", weir_version());
	return finish_output(0);
}

int options_parse(int argc, char **argv, struct options *ret_options)
{
	struct options options = { .conflict = EXIT_CONFLICT, .signal = SIGTERM };
	int code;

	if (argc < 2)
		return fail(EXIT_USAGE, "say what to do, for example: weir run NAME COMMAND: see "
					"weir --help");
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return print_version();
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    (strcmp(argv[1], "help") == 0 && argc == 2)) {
		print_help(stdout);
		return finish_output(0);
	}
	if (strcmp(argv[1], "help") == 0) {
		code = find_command(argv[2], &options.command);
		if (code < 0 && options.command == CMD_CP)
			return start_cp((char *[]){ argv[0], "--help", NULL });
		if (code < 0)
			print_command_help(stdout, options.command);
		return code < 0 ? finish_output(0) : code;
	}
	if (argv[1][0] == '-')
		return fail(EXIT_USAGE,
			    "options come after the command, as in weir run %s: see "
			    "weir --help",
			    argv[1]);
	code = find_command(argv[1], &options.command);
	if (code < 0 && options.command == CMD_CP)
		return start_cp(argv + 1);
	if (code < 0)
		code = parse_words(&options, argc - 2, argv + 2);
	if (code < 0)
		*ret_options = options;
	return code;
}

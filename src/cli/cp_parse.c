/* cli: reading the command line of weir-cp by its table, and --help, for 80 columns. */
#include "cli/cp.h"

#include <string.h>

static void print_help(const char *program)
{
	printf("Usage: %s [OPTION...] SOURCE... DEST\n\n"
	       "Copies files and trees, many entries at a time. SOURCE/ is what is in it.\n\n",
	       program);
	for (const struct weir__cp_option *at = weir__cp_options; at->name; at++) {
		char name[48];

		(void)snprintf(name, sizeof(name), "%s%s%s", at->name,
			       at->value && *at->value != '[' ? " " : "",
			       at->value ? at->value : "");
		printf("  %c%c --%-24s %s\n", at->letter ? '-' : ' ', at->letter ? at->letter : ' ',
		       name, at->help);
	}
	puts("\nExit: 0 all has arrived, 23 some entries failed, 64 wrong usage, 125 otherwise.");
}

static bool complain(struct cp *cp, const char *what, const char *option)
{
	fprintf(stderr, "%s: %s: %s\nTry '%s --help'.\n", cp->program, option, what, cp->program);
	cp->exit = CP_USAGE;
	return false;
}

static bool apply(struct cp *cp, const struct weir__cp_option *option, const char *value,
		  const char *word)
{
	cp->config.flags |= option->flags;
	if (option->set && option->set(cp, value) < 0) {
		char what[256];

		(void)snprintf(what, sizeof(what), "'%s' will not do; it takes %s: %s", value,
			       option->value, option->help);
		return complain(cp, what, word);
	}
	return true;
}

/* --name, --name=value or --name value. */
static bool parse_long(struct cp *cp, char **argv, int *at, int argc)
{
	char *word = argv[*at];
	char *value = strchr(word, '=');
	size_t length = value ? (size_t)(value - word) - 2 : strlen(word) - 2;

	value = value ? value + 1 : NULL;
	for (const struct weir__cp_option *option = weir__cp_options; option->name; option++) {
		if (strncmp(option->name, word + 2, length) != 0 || option->name[length])
			continue;
		if (!option->value && value)
			return complain(cp, "takes no value", word);
		if (option->value && *option->value != '[' && !value) {
			if (*at + 1 >= argc)
				return complain(cp, "needs a value", word);
			value = argv[++*at];
		}
		return apply(cp, option, value, word);
	}
	return complain(cp, "no such option", word);
}

/* -abc, and -jN or -j N. */
static bool parse_short(struct cp *cp, char **argv, int *at, int argc)
{
	char *word = argv[*at];

	for (const char *letter = word + 1; *letter; letter++) {
		const struct weir__cp_option *option = weir__cp_options;
		const char *value = letter + 1;

		while (option->name && option->letter != (*letter == 'R' ? 'r' : *letter))
			option++;
		if (!option->name)
			return complain(cp, "no such option", word);
		if (!option->value) {
			if (!apply(cp, option, NULL, word))
				return false;
			continue;
		}
		if (!*value && *at + 1 >= argc)
			return complain(cp, "needs a value", word);
		return apply(cp, option, *value ? value : argv[++*at], word);
	}
	return true;
}

bool weir__cp_parse(struct cp *cp, int argc, char **argv)
{
	int names = 0;
	bool options = true;

	for (int i = 1; i < argc; i++) {
		char *word = argv[i];

		if (!options || word[0] != '-' || !word[1]) {
			argv[names++] = word;
		} else if (strcmp(word, "--") == 0) {
			options = false;
		} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			print_help(cp->program);
			return false;
		} else if (strcmp(word, "--version") == 0) {
			printf("weir %s\n", weir_version());
			return false;
		} else if (!(word[1] == '-' ? parse_long(cp, argv, &i, argc) :
					      parse_short(cp, argv, &i, argc))) {
			return false;
		}
	}
	if (names < 2)
		return complain(cp, names == 0 ? "missing" : "no destination after it",
				names == 0 ? "SOURCE and DEST" : argv[0]);
	cp->config.sources = (const char *const *)argv;
	cp->config.source_count = (size_t)names - 1;
	cp->config.destination = argv[names - 1];
	return true;
}

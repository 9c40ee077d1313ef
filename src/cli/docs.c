/* cli: what is written from the tables when weir is built: the manual page and the completions.
 *
 *     weir-docs man PROSE     PROSE, a page with "@OPTIONS COMMAND@" where options belong
 *     weir-docs bash | zsh
 *
 * Not installed.
 */
#include "cli/docs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cp.h"
#include "cli/options.h"

/* ---- manual ---- */

/* Hyphens are minus signs in a manual, and a line must not begin with a dot or a quote. */
static void man_text(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
	}
}

/* From a line of help; but a choice of values is written as it is. */
static void man_sentence(const char *text)
{
	bool lower = 'a' <= *text && *text <= 'z' && text[strcspn(text, " |")] != '|';

	putchar(lower ? *text - 32 : *text);
	man_text(text + 1);
	puts(".");
}

static void man_option(const struct option_spec *spec)
{
	fputs(".TP\n", stdout);
	if (spec->letter)
		printf("\\fB\\-%c\\fR, ", spec->letter);
	fputs("\\fB\\-\\-", stdout);
	man_text(spec->name);
	fputs("\\fR", stdout);
	if (spec->also) {
		fputs(", \\fB\\-\\-", stdout);
		man_text(spec->also);
		fputs("\\fR", stdout);
	}
	if (spec->metavar && *spec->metavar == '[') /* one that may be left out */
		fputs(spec->metavar, stdout);
	else if (spec->metavar)
		printf(" \\fI%s\\fR", spec->metavar);
	putchar('\n');
	man_sentence(spec->text);
	if (spec->more) {
		man_text(spec->more);
		putchar('\n');
	}
}

static void man_cp_options(void)
{
	for (const struct weir__cp_option *at = weir__cp_options; at->name; at++) {
		struct option_spec spec = { .letter = at->letter,
					    .name = at->name,
					    .metavar = at->value,
					    .text = at->help };

		man_option(&spec);
	}
}

/* One list for all commands, each option with the commands that have it; or one command's. */
static int man_options(const char *command)
{
	if (strcmp(command, "cp") == 0) {
		man_cp_options();
		return 0;
	}
	for (int i = 0; i < CMD_COUNT; i++) {
		if (strcmp(command_specs[i].name, command) != 0)
			continue;
		for (size_t j = 0; j < n_option_specs; j++) {
			/* Those of all commands are in a list of their own. */
			if (option_specs[j].commands & (1u << i) &&
			    option_specs[j].commands != ALL_COMMANDS)
				man_option(&option_specs[j]);
		}
		return 0;
	}
	if (strcmp(command, "all") != 0) {
		fprintf(stderr, "weir-docs: no command '%s'\n", command);
		return 1;
	}
	for (size_t j = 0; j < n_option_specs; j++) {
		if (option_specs[j].commands == ALL_COMMANDS)
			man_option(&option_specs[j]);
	}
	return 0;
}

static int man_synopsis(void)
{
	for (int i = 0; i < CMD_COUNT; i++) {
		if (i)
			puts(".br");
		printf("\\fBweir %s\\fR ", command_specs[i].name);
		man_text(command_specs[i].synopsis);
		putchar('\n');
	}
	return 0;
}

static int write_man(const char *path)
{
	FILE *prose = fopen(path, "r");
	char line[1024];
	int code = 0;

	if (!prose) {
		perror(path);
		return 1;
	}
	while (code == 0 && fgets(line, sizeof(line), prose)) {
		char command[32];

		if (strcmp(line, "@SYNOPSIS@\n") == 0)
			code = man_synopsis();
		else if (strcmp(line, "@PREPROCESS@\n") == 0)
			puts("'\\\" t");
		else if (strcmp(line, "@VERSION@\n") == 0)
			printf(".TH WEIR 1 \"\" \"weir %s\" \"User Commands\"\n", WEIR_VERSION);
		else if (sscanf(line, "@OPTIONS %31[a-z]@", command) == 1)
			code = man_options(command);
		else
			fputs(line, stdout);
	}
	fclose(prose);
	return code;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "man") == 0)
		return write_man(argv[2]);
	if (argc == 2 && strcmp(argv[1], "bash") == 0)
		return write_bash();
	if (argc == 2 && strcmp(argv[1], "zsh") == 0)
		return write_zsh();
	fputs("usage: weir-docs man PROSE | bash | zsh\n", stderr);
	return EXIT_FAILURE;
}

/* cli: --help, from the tables. Each fits a screen of 80 columns and 24 lines. */
#include <string.h>

#include "cli/cli.h"

void print_help(FILE *stream)
{
	fputs("Usage: weir COMMAND [OPTION...] ...\n"
	      "Lets through just as many as there are permits.\n\n",
	      stream);
	for (int i = 0; i < CMD_COUNT; i++)
		fprintf(stream, "  weir %-8s %s\n", command_specs[i].name, command_specs[i].text);
	fputs("\n"
	      "  weir run -j 2 api -- curl ...        at most two at a time, the others wait\n"
	      "  weir run -n backup -- backup.sh      not while it still runs (exit code 75)\n"
	      "  weir show api                        who holds and who waits\n"
	      "\n"
	      "weir COMMAND --help says more, man weir the rest, weir --version the version.\n"
	      "Exit codes: the command's own; 75 no permit, 76 lease lost, 124 held too long,\n"
	      "69 store not reachable, 64 wrong usage, 125 other failures, 126 and 127 the\n"
	      "command cannot be run or is not found.\n",
	      stream);
}

static void print_option(FILE *stream, const struct option_spec *spec)
{
	char left[48];
	int length = snprintf(left, sizeof(left), "%c%c%s --%s", spec->letter ? '-' : ' ',
			      spec->letter ? spec->letter : ' ', spec->letter ? "," : " ",
			      spec->name);

	if (spec->metavar)
		snprintf(left + length, sizeof(left) - (size_t)length, " %s", spec->metavar);
	fprintf(stream, "  %-29s %s\n", left, spec->text);
}

void print_command_help(FILE *stream, enum command_id command)
{
	const struct command_spec *spec = &command_specs[command];

	fprintf(stream, "Usage: weir %s %s\n%s\n\n", spec->name, spec->synopsis, spec->help);
	for (size_t i = 0; i < n_option_specs; i++) {
		if (option_specs[i].commands & (1u << command))
			print_option(stream, &option_specs[i]);
	}
}

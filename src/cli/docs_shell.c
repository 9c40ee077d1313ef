/* cli: completions for bash and zsh, from the tables. Part of weir-docs. */
#include <stdio.h>
#include <string.h>

#include "cli/cp.h"
#include "cli/docs.h"
#include "cli/options.h"

/* How URLs of stores begin that several processes can use. */
#define STORES                                                      \
	"sqlite: redis:// rediss:// redis+unix: redis+sentinel:// " \
	"rediss+sentinel:// postgres://"

/* ---- bash ---- */

static void bash_words(int command, enum value_kind only)
{
	for (size_t i = 0; i < n_option_specs; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (!(spec->commands & (1u << command)))
			continue;
		if (only != VALUE_NONE && spec->value != only)
			continue;
		printf(" --%s", spec->name);
		if (only == VALUE_NONE && spec->letter)
			printf(" -%c", spec->letter);
	}
}

static void bash_cp_words(void)
{
	for (const struct weir__cp_option *at = weir__cp_options; at->name; at++) {
		printf(" --%s", at->name);
		if (at->letter)
			printf(" -%c", at->letter);
	}
}

/* The patterns of a case for options that take such a value. */
static void bash_case(enum value_kind kind)
{
	bool more = false;

	for (size_t i = 0; i < n_option_specs; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (spec->value != kind)
			continue;
		printf("%s--%s", more ? "|" : "", spec->name);
		if (spec->also)
			printf("|--%s", spec->also);
		if (spec->letter)
			printf("|-%c", spec->letter);
		more = true;
	}
}

static void bash_values(void)
{
	static const enum value_kind free_text[] = { VALUE_TEXT, VALUE_DURATION, VALUE_NUMBER };

	fputs("\tcase $previous in\n\t", stdout);
	bash_case(VALUE_SIGNAL);
	puts(") COMPREPLY=($(compgen -W 'TERM INT HUP QUIT KILL USR1 USR2' -- \"$word\")); return "
	     ";;");
	putchar('\t');
	bash_case(VALUE_STORE);
	puts(") _weir_stores; return ;;");
	putchar('\t');
	bash_case(VALUE_NAME);
	puts(") COMPREPLY=($(compgen -W \"$(_weir_names)\" -- \"$word\")); return ;;");
	putchar('\t');
	for (size_t i = 0; i < sizeof(free_text) / sizeof(free_text[0]); i++) {
		fputs(i ? "|" : "", stdout);
		bash_case(free_text[i]);
	}
	puts(") return ;;");
	puts("\tesac");
}

/* Options with a value take the next word, too: the loop skips both. */
static void bash_skip(void)
{
	fputs("\t\t", stdout);
	for (int kind = VALUE_TEXT; kind <= VALUE_NAME; kind++) {
		fputs(kind > VALUE_TEXT ? "|" : "", stdout);
		bash_case((enum value_kind)kind);
	}
	puts(") ((i++)) ;;");
}

/* A colon ends a word for bash, but not for weir; and = stands between an option and its value. */
static void bash_join(void)
{
	puts("_weir_join() {\n"
	     "\tlocal i\n"
	     "\tall=()\n"
	     "\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
	     "\t\tif ((i > 1)) && [[ ${COMP_WORDS[i]} == :* || ${all[-1]} == *: ]]; then\n"
	     "\t\t\tall[-1]+=${COMP_WORDS[i]}\n"
	     "\t\telif [[ ${COMP_WORDS[i]} != = ]]; then\n"
	     "\t\t\tall+=(\"${COMP_WORDS[i]}\")\n"
	     "\t\telif ((i == COMP_CWORD)); then\n"
	     "\t\t\tall+=(\"\")\n"
	     "\t\tfi\n"
	     "\tdone\n"
	     "\tlast=$((${#all[@]} - 1)) word=${all[-1]}\n"
	     "}\n");
	/* What comes before the last colon is on the line already. */
	puts("_weir_split() {\n"
	     "\tif [[ $COMP_WORDBREAKS == *:* && $word == *:* ]]; then\n"
	     "\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"${word%\"${word##*:}\"}\"}\")\n"
	     "\tfi\n"
	     "}\n");
}

static void bash_helpers(void)
{
	puts("_weir_names() {\n"
	     "\tweir ls --quiet 2>/dev/null | sed '1d; s/ .*//'\n"
	     "}\n");
	/* One a line, for a name may have blanks; readline puts in backslashes and slashes. */
	puts("_weir_files() {\n"
	     "\tcompopt -o filenames 2>/dev/null\n"
	     "\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
	     "}\n");
	puts("_weir_stores() {\n"
	     "\tcompopt -o nospace 2>/dev/null\n"
	     "\tif [[ $word == sqlite:* ]]; then\n"
	     "\t\tcompopt -o filenames 2>/dev/null\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -P sqlite: -f -- \"${word#sqlite:}\")\n"
	     "\telse\n"
	     "\t\tCOMPREPLY=($(compgen -W '" STORES "' -- \"$word\"))\n"
	     "\tfi\n"
	     "}\n");
}

/* Where the help of an option is the list of its values. */
static bool has_values(const struct weir__cp_option *option)
{
	return option->value && strchr(option->help, '|');
}

static void print_values(const struct weir__cp_option *option)
{
	for (const char *at = option->help; *at; at++)
		putchar(*at == '|' ? ' ' : *at);
}

static bool takes_next_word(const struct weir__cp_option *option)
{
	return option->value && *option->value != '[';
}

/* What follows an option that takes a value is no file. */
static void bash_cp_values(void)
{
	puts("\tcase ${all[last-1]} in");
	for (const struct weir__cp_option *at = weir__cp_options; at->name; at++) {
		if (!takes_next_word(at))
			continue;
		printf("\t--%s", at->name);
		if (at->letter)
			printf("|-%c", at->letter);
		fputs(") ", stdout);
		if (has_values(at)) {
			fputs("COMPREPLY=($(compgen -W '", stdout);
			print_values(at);
			fputs("' -- \"$word\")); ", stdout);
		}
		puts("return ;;");
	}
	puts("\tesac");
}

static void bash_cp(void)
{
	puts("_weir_copy() {");
	bash_cp_values();
	fputs("\tif [[ $word == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
	      stdout);
	bash_cp_words();
	puts("' -- \"$word\"))\n"
	     "\telse\n"
	     "\t\t_weir_files\n"
	     "\tfi\n"
	     "}\n");
}

/* The name of `weir run` has been given: a command follows, and its files. */
static void bash_command(void)
{
	puts("\tfor ((i = 2; i < last; i++)); do\n"
	     "\t\tcase ${all[i]} in");
	bash_skip();
	puts("\t\t--) ;;\n\t\t-?*) ;;\n\t\t*) ((words++)) ;;\n"
	     "\t\tesac\n"
	     "\t\tif [[ $command == run ]] && ((words == 1)); then\n"
	     "\t\t\tif ((i + 1 < last)) && [[ ${all[i+1]} == -- ]]; then ((i++)); fi\n"
	     "\t\t\tif ((i + 1 == last)); then\n"
	     "\t\t\t\tCOMPREPLY=($(compgen -c -- \"$word\"))\n"
	     "\t\t\telse\n"
	     "\t\t\t\t_weir_files\n"
	     "\t\t\tfi\n"
	     "\t\t\treturn\n"
	     "\t\tfi\n"
	     "\tdone");
}

static void bash_reply(void)
{
	puts("_weir_reply() {\n"
	     "\tlocal command=${all[1]} previous=${all[last-1]} i words=0 options\n"
	     "\tif ((last == 1)); then");
	fputs("\t\tCOMPREPLY=($(compgen -W '--help --version", stdout);
	for (int i = 0; i < CMD_COUNT; i++)
		printf(" %s", command_specs[i].name);
	puts("' -- \"$word\"))\n\t\treturn\n\tfi");
	puts("\tif [[ $command == cp ]]; then\n"
	     "\t\t_weir_copy\n"
	     "\t\treturn\n"
	     "\tfi");
	bash_command();
	bash_values();
	puts("\tcase $command in");
	for (int i = 0; i < CMD_CP; i++) {
		printf("\t%s) options='", command_specs[i].name);
		bash_words(i, VALUE_NONE);
		puts("' ;;");
	}
	puts("\tesac\n"
	     "\tif [[ $word == -* ]]; then\n"
	     "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
	     "\telif [[ $command == store ]]; then\n"
	     "\t\t((words)) || COMPREPLY=($(compgen -W init -- \"$word\"))\n"
	     "\telif [[ $command == doctor ]]; then\n"
	     "\t\treturn\n"
	     "\telif ((words == 0)) || [[ $command == ls || $command == show ]]; then\n"
	     "\t\tCOMPREPLY=($(compgen -W \"$(_weir_names)\" -- \"$word\"))\n"
	     "\tfi\n"
	     "}\n");
}

int write_bash(void)
{
	puts("# bash completion for weir and weir-cp, written by weir-docs");
	bash_join();
	bash_helpers();
	bash_cp();
	bash_reply();
	puts("_weir() {\n"
	     "\tlocal all last word\n"
	     "\t_weir_join\n"
	     "\t_weir_reply\n"
	     "\t_weir_split\n"
	     "}\n");
	puts("_weir_cp() {\n"
	     "\tlocal all last word\n"
	     "\t_weir_join\n"
	     "\t_weir_copy\n"
	     "\t_weir_split\n"
	     "}\n");
	puts("complete -F _weir weir\n"
	     "complete -F _weir_cp weir-cp");
	return 0;
}

/* ---- zsh ---- */

static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:'\\", *text))
			fputs(*text == '\'' ? "'\\'" : "\\", stdout);
		putchar(*text);
	}
}

/* Without its end, before which more about its value may be said. */
static void zsh_option(const struct option_spec *spec)
{
	static const char *const actions[] = {
		[VALUE_TEXT] = " ",
		[VALUE_DURATION] = " ",
		[VALUE_NUMBER] = " ",
		[VALUE_SIGNAL] = "(TERM INT HUP QUIT KILL USR1 USR2)",
		[VALUE_STORE] = "_weir_stores",
		[VALUE_NAME] = "_weir_names",
		[VALUE_COMMAND] = " ",
	};

	fputs("\t\t'", stdout);
	if (spec->letter)
		printf("(-%c --%s)'{-%c,--%s", spec->letter, spec->name, spec->letter, spec->name);
	else
		printf("--%s", spec->name);
	fputs(spec->letter ? "}'[" : "[", stdout);
	zsh_text(spec->text);
	putchar(']');
	if (spec->value != VALUE_NONE)
		printf(":%s:%s", spec->metavar, actions[spec->value]);
}

static void zsh_cp_options(void)
{
	for (const struct weir__cp_option *at = weir__cp_options; at->name; at++) {
		struct option_spec spec = {
			.letter = at->letter,
			.name = at->name,
			.value = takes_next_word(at) && !has_values(at) ? VALUE_TEXT : VALUE_NONE,
			.metavar = at->value,
			.text = at->help,
		};

		zsh_option(&spec);
		if (has_values(at)) {
			printf(":%s:(", at->value);
			print_values(at);
			putchar(')');
		}
		puts("' \\");
	}
}

static const char *zsh_arguments(int command)
{
	switch (command) {
	case CMD_RUN:
		return "'1:name:_weir_names' '*::command:_normal'";
	case CMD_LS:
	case CMD_SHOW:
		return "'*:name:_weir_names'";
	case CMD_DOCTOR:
		return "";
	case CMD_STORE:
		return "'1: :(init)'";
	case CMD_CP:
		return "'*:file:_files'";
	default:
		return "'1:name:_weir_names' '*: : '";
	}
}

int write_zsh(void)
{
	puts("#compdef weir weir-cp");
	puts("# zsh completion for weir and weir-cp, written by weir-docs\n");
	puts("_weir_names() {\n"
	     "\tlocal -a names\n"
	     "\tnames=(${(f)\"$(weir ls --quiet 2>/dev/null | sed '1d; s/ .*//')\"})\n"
	     "\tcompadd -a names\n"
	     "}\n");
	puts("_weir_stores() {\n"
	     "\tif compset -P sqlite:; then\n"
	     "\t\t_files\n"
	     "\telse\n"
	     "\t\tcompadd -S '' " STORES "\n"
	     "\tfi\n"
	     "}\n");
	puts("_weir() {\n"
	     "\tlocal -a commands\n"
	     "\tcommands=(");
	for (int i = 0; i < CMD_COUNT; i++) {
		printf("\t\t'%s:", command_specs[i].name);
		zsh_text(command_specs[i].text);
		puts("'");
	}
	puts("\t)\n"
	     "\tlocal command=cp\n"
	     "\tif [[ $service != weir-cp ]]; then\n"
	     "\t\tif ((CURRENT == 2)); then\n"
	     "\t\t\t_describe command commands\n"
	     "\t\t\treturn\n"
	     "\t\tfi\n"
	     "\t\tcommand=$words[2]\n"
	     "\t\tshift words\n"
	     "\t\t((CURRENT--))\n"
	     "\tfi\n"
	     "\tcase $command in");
	for (int i = 0; i < CMD_COUNT; i++) {
		printf("\t%s)\n\t\t_arguments -S -s \\\n", command_specs[i].name);
		for (size_t j = 0; j < n_option_specs; j++) {
			if (option_specs[j].commands & (1u << i)) {
				zsh_option(&option_specs[j]);
				puts("' \\");
			}
		}
		if (i == CMD_CP)
			zsh_cp_options();
		printf("\t\t%s\n\t\t;;\n", zsh_arguments(i));
	}
	puts("\tesac\n}\n\n_weir \"$@\"");
	return 0;
}

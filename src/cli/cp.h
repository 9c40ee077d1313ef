/* cli: weir-cp, its parts. The command uses public headers only. `weir cp` is the same program: see
 * CP_AS_COMMAND. */
#ifndef WEIR_CLI_CP_H
#define WEIR_CLI_CP_H

#include <stdio.h>
#include <weir/copy.h>

enum weir__cp_exit { CP_ALL = 0, CP_SOME = 23, CP_USAGE = 64, CP_FAILED = 125 };

/* The argv[0] with which weir(1) starts weir-cp, so that it speaks of itself by that name. */
#define CP_AS_COMMAND "weir cp"

enum cp_stats { STATS_NONE, STATS_TEXT, STATS_JSON };

struct cp {
	const char *program; /* as it was called */
	struct weir_copy_config config;
	struct weir_copy_flag cancel;
	struct weir_copy_rule *rules;
	bool progress;
	bool verbose;
	bool quiet;
	bool drawn; /* a progress line stands on the terminal */
	enum cp_stats stats;
	enum weir__cp_exit exit; /* when there is nothing to copy */
};

/* One option: a letter or 0, a name, what its value is called or NULL, flags it sets, what it does
 * beyond that or NULL (0, or -1 for a bad value), and its line of --help. */
struct weir__cp_option {
	char letter;
	const char *name;
	const char *value;
	uint32_t flags;
	int (*set)(struct cp *cp, const char *value);
	const char *help;
};

extern const struct weir__cp_option weir__cp_options[];

/* Reads the arguments. Whether there is something to copy; else cp->exit says how to end. */
bool weir__cp_parse(struct cp *cp, int argc, char **argv);

void weir__cp_failed(const char *path, int error, void *arg);
void weir__cp_done(const char *path, char kind, void *arg);
void weir__cp_progress(const struct weir_copy_stats *stats, void *arg);
void weir__cp_summary(struct cp *cp, const struct weir_copy_stats *stats, int result);
/* Whether all that was printed has reached standard output; if not, that has been said. */
bool weir__cp_output_written(const struct cp *cp);

/* weir-cp: argv[0] is the command's name. Returns the exit code. */
int weir__cli_cp(int argc, char **argv);

#endif

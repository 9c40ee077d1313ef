/* cli: what can be written on the command line, as tables.
 *
 * These tables are the one source of the parser, of --help, of the manual page's list of options
 * and of the completions for bash and zsh.
 */
#ifndef WEIR_CLI_OPTIONS_H
#define WEIR_CLI_OPTIONS_H

#include <weir/base.h>

enum command_id {
	CMD_RUN,
	CMD_ACQUIRE,
	CMD_RENEW,
	CMD_RELEASE,
	CMD_LS,
	CMD_SHOW,
	CMD_LIMIT,
	CMD_EVICT,
	CMD_DOCTOR,
	CMD_STORE,
	CMD_CP,
	CMD_COUNT,
};

/* weir-cp is a program of its own, with options of its own: weir only starts it. */
#define ALL_COMMANDS (((1u << CMD_COUNT) - 1) & ~(1u << CMD_CP))

enum option_id {
	OPT_NONBLOCK,
	OPT_WAIT,
	OPT_CONFLICT,
	OPT_COMMAND,
	OPT_LIMIT,
	OPT_ID,
	OPT_KILL_AFTER,
	OPT_SIGNAL,
	OPT_TTL,
	OPT_MAX_HOLD,
	OPT_WEIGHT,
	OPT_OWNER,
	OPT_REQUEST_ID,
	OPT_ALL,
	OPT_WATCH,
	OPT_GRANT,
	OPT_STORE,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_JSON,
	OPT_HELP,
};

/* What an argument is, for the parser and for the completions. */
enum value_kind {
	VALUE_NONE,
	VALUE_TEXT,
	VALUE_DURATION,
	VALUE_NUMBER,
	VALUE_SIGNAL,
	VALUE_STORE,
	VALUE_NAME,
	VALUE_COMMAND,
};

struct option_spec {
	enum option_id id;
	char letter; /* 0: none */
	const char *name;
	const char *also; /* other spellings that people know from elsewhere, or NULL */
	enum value_kind value;
	const char *metavar; /* what the argument is called; NULL: there is none */
	const char *text;    /* one line of --help */
	const char *more;    /* what the manual adds, or NULL */
	unsigned commands;   /* bits, 1 << command_id */
};

struct command_spec {
	const char *name;
	const char *synopsis; /* after "weir NAME" */
	const char *text;     /* one line: what it does */
	const char *help;     /* what `weir NAME --help` says below the usage; lines */
	bool names_first;     /* options end at the first argument that is none */
};

extern const struct command_spec command_specs[CMD_COUNT];
extern const struct option_spec option_specs[];
extern const size_t n_option_specs;

/* What was asked for. */
struct options {
	enum command_id command;
	bool nonblock;
	bool has_wait;
	weir_time wait;
	int conflict; /* exit code when not acquired */
	const char *shell;
	bool has_limit;
	uint32_t limit;
	const char *id;
	bool has_kill_after;
	weir_time kill_after;
	int signal;
	weir_time ttl;
	weir_time max_hold;
	uint32_t weight;
	const char *owner;
	const char *request_id;
	bool all;
	bool watch;
	const char *grant;
	const char *store;
	bool quiet;
	bool verbose;
	bool json;
	char **args; /* what is left, n_args of them and a NULL */
	int n_args;
};

/* Reads the command line. -1: go on; else the exit code, and all has been said. */
int options_parse(int argc, char **argv, struct options *ret_options);

#endif

/* cli: what the commands share. weir(1) uses the public headers only. */
#ifndef WEIR_CLI_CLI_H
#define WEIR_CLI_CLI_H

#include <stdio.h>
#include <sys/types.h>
#include <weir/lease.h>
#include <weir/store.h>

#include "cli/options.h"
#include "cli/terminal.h"

/* Exit codes; those of the command come through as they are, 128 + n for signal n. */
enum {
	EXIT_ATTENTION = 1, /* doctor only */
	EXIT_USAGE = 64,
	EXIT_STORE = 69,
	EXIT_CONFLICT = 75,
	EXIT_LOST = 76,
	EXIT_MAX_HOLD = 124,
	EXIT_FAILED = 125,
	EXIT_CANNOT_RUN = 126,
	EXIT_NOT_FOUND = 127,
};

/* How the process is to end. */
struct ending {
	int code;
	int died_of;     /* the signal, which comes before the code, or 0 */
	bool tell_group; /* the others of our process group have not seen that signal yet */
};

/* ---- say.c: words for people ---- */

/* One line on standard error, "weir: ..."; returns the code. */
__attribute__((format(printf, 2, 3))) int fail(int code, const char *format, ...);
/* A line of --verbose. */
__attribute__((format(printf, 2, 3))) void note(const struct options *options, const char *format,
						...);
/* What a store or lease call that failed means to the user: says it and returns the exit code. */
int fail_store(const struct options *options, int error);
/* Whether a name is one: -1, or says what is and returns the exit code. */
int check_name(const char *name);
/* Flushes standard output; the code, or EXIT_FAILED when not everything could be written. */
int finish_output(int code);

/* ---- values.c ---- */

/* A time for people: 12s, 3m05s, 250ms. */
struct short_time {
	char text[24];
};
struct short_time time_text(weir_time time);
int parse_duration(const char *text, weir_time *ret_time);
/* A whole number within bounds. 0 or -EINVAL. */
int parse_number(const char *text, uint32_t least, uint32_t most, uint32_t *ret_number);
int parse_signal(const char *text, int *ret_signal);

#define TOKEN_TEXT (2 * WEIR_TOKEN_SIZE)
#define TOKEN_SHOWN 8 /* digits that are shown: enough to tell leases apart, not to use one */

void token_print(const uint8_t token[WEIR_TOKEN_SIZE], char text[TOKEN_TEXT + 1]);
bool token_parse(const char *text, uint8_t token[WEIR_TOKEN_SIZE]);

/* ---- json.c ---- */

void json_string(FILE *stream, const char *text);
/* "key": "text" and the like, with a comma before all but the first of an object. */
struct json {
	FILE *stream;
	bool more;
};
void json_open(struct json *json, const char *bracket);
void json_close(struct json *json, const char *bracket);
void json_key(struct json *json, const char *key);
void json_text(struct json *json, const char *key, const char *text);
void json_number(struct json *json, const char *key, uint64_t number);
void json_null(struct json *json, const char *key);
void json_seconds(struct json *json, const char *key, weir_time time);

/* ---- store.c ---- */

/* Opens what --store, $WEIR_STORE or the default say. 0, or an exit code and all has been said. */
int open_store(const struct options *options, struct weir_store **ret_store);
/* Likewise, and signals wait from then on. One that comes before ends the process: somebody else
 * may keep the store locked. Begins the patience that -w or -n allow; acquire() ends it. */
int open_and_hold_signals(const struct options *options, struct weir_store **ret_store);
/* The path of the default store, to be freed; NULL: there is none. */
char *default_path(void);
/* Why a command cannot use the store with this URL or, without one, the default at this path. NULL:
 * it can, as far as can be seen from there. */
const char *store_problem(const char *url, const char *path);

/* Of a semaphore that is closed: why. */
#define WHY_CLOSED                                                                                \
	"the server was started again or replaced, and waits until leases that it may have lost " \
	"are over"

/* ---- request.c: acquiring, with a status line and signals, and giving back ---- */

struct wanted {
	const struct options *options;
	const char *name;
	bool keepalive;
	bool detached;
	weir_time max_hold;
	void (*on_lost)(struct weir_lease *lease, void *arg);
};

/* 0 and a lease; or an exit code, and all has been said. *ret_signal: what ended it, or 0. */
int acquire(struct weir_store *store, const struct wanted *wanted, struct weir_lease **ret_lease,
	    int *ret_signal);

/* With patience, at whose end the process ends that way. Closes the store; lease may be NULL. */
void give_back(struct weir_store *store, struct weir_lease *lease, const struct ending *ending);

/* ---- signals.c ---- */

/* What weir passes on to its command. */
#define N_FORWARDED 8
extern const int forwarded[N_FORWARDED];
/* All signals wait from here on. */
void hold_signals(void);
/* While waiting for a permit: what ends a process goes to the handler, the mask is as it was. */
void let_signals_in(void (*handler)(int));
/* While giving a permit back: those alone that end a process. */
void let_fatal_in(void (*handler)(int));
void hold_signals_again(void);
/* In the command: as they were found. */
void restore_signals(void);
/* Because of the signal, in the way that a waiting shell understands. */
_Noreturn void die_of(int signal, bool tell_group);

/* ---- patience.c: an end to waiting for a store that does not answer ---- */

#define PATIENCE (5 * WEIR_SECOND) /* where nobody has said for how long */
#define PATIENCE_SLACK (2 * WEIR_SECOND)
#define HURRY (500 * WEIR_MS) /* enough for a server that is well, and soon enough for people */

/* After this time the process says that line and ends. WEIR_NEVER: only after patience_shorten. */
__attribute__((format(printf, 3, 4))) void
patience_begin(weir_time time, const struct ending *ending, const char *format, ...);
/* With the last words of standard output instead, which must stay where they are until the end. */
void patience_begin_output(weir_time time, const struct ending *ending, const char *words);
/* After whatever has changed the mask of signals. */
void patience_goes_on(void);
/* In a handler: it ends after this time, or sooner if it would. died_of: without a word, and
 * because of that signal, of which our process group knows; or 0. */
void patience_shorten(weir_time time, int died_of);
void patience_end(void);

/* ---- spawn.c, supervise.c: the command of weir run ---- */

struct child {
	char **argv;
	int bind_fd;  /* inherited, or -1 */
	int terminal; /* to be handed over, or -1 */
	pid_t pid;
	int own_code;         /* how it ended by itself: its exit code, or -1 */
	int own_end;          /* and the signal that ended it, or 0 */
	weir_time end;        /* of --max-hold, or WEIR_NEVER */
	struct ending ending; /* what weir makes of it all */
};
/* The terminal that the command gets from the beginning, or -1. */
int terminal_to_hand_over(void);
/* Whether the command had it. */
bool take_terminal_back(const struct child *child);
/* Starts it in a process group of its own. 0 or a positive errno: why it could not be run. */
int spawn(struct child *child, const struct weir_lease_info *info);
/* Waits for its end, forwards signals, watches the lease. */
void supervise(const struct options *options, struct child *child, struct weir_lease *lease);
/* family.c: after its end. Whether processes it left behind have the lease now; then it must not
 * be released. */
bool leave_to_family(const struct options *options, struct child *child);
/* What tells the main thread that a lease was lost: the on_lost of weir run. */
void tell_lost(struct weir_lease *lease, void *arg);

/* ---- the commands ---- */

int command_run(const struct options *options);
int command_acquire(const struct options *options);
int command_renew(const struct options *options);
int command_release(const struct options *options);
int command_ls(const struct options *options);
int command_show(const struct options *options);
int command_limit(const struct options *options);
int command_evict(const struct options *options);
int command_doctor(const struct options *options);
int command_store(const struct options *options);

/* Becomes weir-cp, with argv[1] and what follows as its arguments. Returns only to fail. */
int start_cp(char **argv);

/* ---- help.c ---- */

void print_help(FILE *stream);
void print_command_help(FILE *stream, enum command_id command);

#endif

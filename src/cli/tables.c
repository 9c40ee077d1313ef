/* cli: the commands and options, with their texts. See options.h. */
#include "cli/options.h"

#define RUN (1u << CMD_RUN)
#define ACQUIRE (1u << CMD_ACQUIRE)
#define RENEW (1u << CMD_RENEW)
#define LS (1u << CMD_LS)
#define SHOW (1u << CMD_SHOW)
#define EVICT (1u << CMD_EVICT)
#define STORE (1u << CMD_STORE)

const struct command_spec command_specs[CMD_COUNT] = {
	[CMD_RUN] = {
		"run",
		"[OPTION...] NAME [--] COMMAND [ARG...]",
		"hold a permit of NAME while COMMAND runs",
		"Waits for a permit of NAME, runs COMMAND, gives the permit back.",
		true,
	},
	[CMD_ACQUIRE] = {
		"acquire",
		"[OPTION...] NAME",
		"take a permit and print it, for scripts",
		"Prints variables for the shell. The lease lives for its --ttl unless renewed:\n"
		"    lease=$(weir acquire --ttl 1m NAME) || exit; eval \"$lease\"\n"
		"    ...; weir renew; ...; weir release",
		false,
	},
	[CMD_RENEW] = {
		"renew",
		"[OPTION...] [NAME [TOKEN]]",
		"extend a lease that was acquired",
		"NAME and TOKEN default to $WEIR_NAME and $WEIR_TOKEN, as weir acquire prints.\n"
		"A TOKEN of - is read from standard input. Exit code 76: the lease is lost.",
		false,
	},
	[CMD_RELEASE] = {
		"release",
		"[OPTION...] [NAME [TOKEN]]",
		"give a lease back",
		"NAME and TOKEN default to $WEIR_NAME and $WEIR_TOKEN, as weir acquire prints.\n"
		"A TOKEN of - is read from standard input. Exit code 76: it was lost before.",
		false,
	},
	[CMD_LS] = {
		"ls",
		"[OPTION...] [NAME...]",
		"list semaphores, fullest first",
		"Without NAME: all of them.",
		false,
	},
	[CMD_SHOW] = {
		"show",
		"[OPTION...] NAME...",
		"show who holds and who waits",
		"Holders by slot, waiters in their order. A holder's ID serves weir evict.",
		false,
	},
	[CMD_LIMIT] = {
		"limit",
		"[OPTION...] NAME [N]",
		"print or change how many permits NAME has",
		"Creates NAME if it is new. 0 pauses: nobody new gets a permit. A higher one lets\n"
		"waiters in at once; a lower one takes nothing away from holders.",
		false,
	},
	[CMD_EVICT] = {
		"evict",
		"[OPTION...] NAME [ID...]",
		"end somebody's lease",
		"ID is what weir show prints, or the whole token. What weir run runs is told\n"
		"to end and is killed after its --kill-after; the next in line starts at once.",
		false,
	},
	[CMD_DOCTOR] = {
		"doctor",
		"[OPTION...]",
		"check the store, and say what to do",
		"Is the store reachable, safe and current, is anything stale? Exit code 0: all is\n"
		"well; 1: something wants attention; 69: the store cannot be used.",
		false,
	},
	[CMD_STORE] = {
		"store",
		"init [OPTION...]",
		"make or migrate the store",
		"Every command does that when it must and may. In a database, it may be for an\n"
		"administrator to do it, and to let others in: see weir-postgres(7).",
		false,
	},
	[CMD_CP] = {
		"cp",
		"[OPTION...] SOURCE... DEST",
		"copy trees, a bounded number of entries at a time",
		NULL,
		false,
	},
};

const struct option_spec option_specs[] = {
	{ OPT_LIMIT, 'j', "limit", "jobs", VALUE_NUMBER, "N",
	  "how many permits NAME has, if it is new",
	  "Without this option a new semaphore has 1 permit, and one that exists keeps its limit. "
	  "With "
	  "another limit than the one it has, nothing is run and the exit code is 64; "
	  "weir limit changes it.",
	  RUN | ACQUIRE },
	{ OPT_NONBLOCK, 'n', "nonblock", "nb", VALUE_NONE, NULL,
	  "do not wait: fail when there is no permit",
	  "Also fails when permits are free but others wait for them.", RUN | ACQUIRE },
	{ OPT_WAIT, 'w', "wait", "timeout", VALUE_DURATION, "TIME", "wait no longer than this",
	  "The default is to wait for ever.", RUN | ACQUIRE },
	{ OPT_CONFLICT, 'E', "conflict-exit-code", NULL, VALUE_NUMBER, "CODE",
	  "exit code when there was no permit (75)", NULL, RUN | ACQUIRE },
	{ OPT_COMMAND, 'c', "command", NULL, VALUE_TEXT, "STRING",
	  "run STRING by /bin/sh; also after NAME", "Nothing else ever goes through a shell.",
	  RUN },
	{ OPT_ID, 0, "id", NULL, VALUE_NAME, "NAME", "the name, instead of the first argument",
	  NULL, RUN },
	{ OPT_KILL_AFTER, 'k', "kill-after", NULL, VALUE_DURATION, "TIME",
	  "from being told to end until KILL (5s)",
	  "When the lease is about to run out because the store cannot be reached, the command is "
	  "told "
	  "to end so early that this time is over before the lease is. At most half of the TTL; "
	  "the "
	  "default is shorter where the TTL is short.",
	  RUN },
	{ OPT_SIGNAL, 's', "signal", NULL, VALUE_SIGNAL, "SIGNAL",
	  "how to tell the command to end (TERM)", NULL, RUN },
	{ OPT_TTL, 0, "ttl", NULL, VALUE_DURATION, "TIME", "life of the lease, until renewed (30s)",
	  "weir run renews it every third of that. For weir renew, from now on; the default is the "
	  "TTL with which it was acquired, and a lease is never shortened.",
	  RUN | ACQUIRE | RENEW },
	{ OPT_MAX_HOLD, 0, "max-hold", NULL, VALUE_DURATION, "TIME",
	  "the longest that it may be held",
	  "weir run then tells the command to end, kills it after --kill-after, and exits with "
	  "124. "
	  "Nothing extends it.",
	  RUN | ACQUIRE },
	{ OPT_WEIGHT, 0, "weight", NULL, VALUE_NUMBER, "N", "take N permits at once (1)", NULL,
	  RUN | ACQUIRE },
	{ OPT_OWNER, 0, "owner", NULL, VALUE_TEXT, "TEXT", "who, for weir show (host-pid-random)",
	  NULL, RUN | ACQUIRE },
	{ OPT_REQUEST_ID, 0, "request-id", NULL, VALUE_TEXT, "TEXT",
	  "the same id finds the same lease again",
	  "While that lease lives, or its place in the queue. Who uses an id twice holds one "
	  "permit, "
	  "so weir run has no such option: its two commands would run at once.",
	  ACQUIRE },
	{ OPT_ALL, 'a', "all", NULL, VALUE_NONE, NULL, "evict every holder of NAME", NULL, EVICT },
	{ OPT_WATCH, 0, "watch", NULL, VALUE_NONE, NULL,
	  "show it again and again, until interrupted",
	  "Every half second; on a terminal in place, else one picture after the other.",
	  LS | SHOW },
	{ OPT_GRANT, 0, "grant", NULL, VALUE_TEXT, "ROLE", "let this role of the database use it",
	  "It may call the store's functions, and look at nothing else. PostgreSQL only.", STORE },
	{ OPT_STORE, 0, "store", NULL, VALUE_STORE, "URL",
	  "where semaphores live, else $WEIR_STORE",
	  "sqlite:PATH is a file of this machine. The default is "
	  "sqlite:$XDG_STATE_HOME/weir/weir.db, with ~/.local/state for $XDG_STATE_HOME if that is "
	  "not set; it is made on first use, for its owner only. redis://HOST and "
	  "postgres://HOST/DATABASE are for several machines: see weir-redis(7) and "
	  "weir-postgres(7).",
	  ALL_COMMANDS },
	{ OPT_QUIET, 'q', "quiet", NULL, VALUE_NONE, NULL,
	  "no status line, no word about a lack of permits", "Errors are still reported.",
	  ALL_COMMANDS },
	{ OPT_VERBOSE, 'v', "verbose", NULL, VALUE_NONE, NULL, "say on standard error what happens",
	  NULL, ALL_COMMANDS },
	{ OPT_JSON, 0, "json", NULL, VALUE_NONE, NULL, "print JSON",
	  "On standard output. For weir run: what --verbose says, one object a line, on "
	  "standard error.",
	  ALL_COMMANDS },
	{ OPT_HELP, 'h', "help", NULL, VALUE_NONE, NULL, "print this help", NULL, ALL_COMMANDS },
};

const size_t n_option_specs = sizeof(option_specs) / sizeof(option_specs[0]);

/* cli: weir run. A command runs only while its lease is live. */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"

#define DEFAULT_KILL_AFTER (5 * WEIR_SECOND)
/* What the store's end of a lease comes after ours at most, and the time it takes to act. */
#define MARGIN (2500 * WEIR_MS)

/* NAME [--] COMMAND..., NAME -c STRING, or with --id no NAME. -1, or an exit code. */
static int find_command(struct options *options, const char **ret_name, char ***ret_argv)
{
	static char *shell[] = { "/bin/sh", "-c", NULL, NULL };
	char **args = options->args;

	*ret_name = options->id ? options->id : *args ? *args++ : NULL;
	if (!*ret_name)
		return fail(EXIT_USAGE, "say a name and a command: weir run NAME COMMAND");
	if (check_name(*ret_name) >= 0)
		return EXIT_USAGE;
	if (!options->shell && *args && strcmp(*args, "-c") == 0) {
		if (!args[1])
			return fail(EXIT_USAGE, "-c needs a value, STRING: see weir run --help");
		options->shell = args[1];
		args += 2;
	} else if (*args && strcmp(*args, "--") == 0) {
		args++;
	}
	if (options->shell && *args)
		return fail(EXIT_USAGE,
			    "-c takes one string as the whole command, and here is "
			    "more: '%s'",
			    *args);
	if (!options->shell && !*args)
		return fail(EXIT_USAGE, "say what to run: weir run %s COMMAND", *ret_name);
	if (!options->shell && !**args)
		return fail(EXIT_NOT_FOUND, "the command is an empty word");
	shell[2] = (char *)options->shell;
	*ret_argv = options->shell ? shell : args;
	return -1;
}

/* TERM must come after the last renewal that could have helped, and KILL before the end. */
static int settle_kill_after(struct options *options, weir_time ttl)
{
	if (options->has_kill_after && options->kill_after > ttl / 2)
		return fail(EXIT_USAGE,
			    "--kill-after can be half of the TTL at most, so %s here: a longer "
			    "--ttl allows more",
			    time_text(ttl / 2).text);
	if (!options->has_kill_after)
		options->kill_after = DEFAULT_KILL_AFTER < ttl / 3 ? DEFAULT_KILL_AFTER : ttl / 3;
	return -1;
}

static void tell_acquired(const struct options *options, const struct weir_lease_info *info)
{
	struct json json = { .stream = stderr };

	if (!options->json) {
		note(options, "%s: slot %u, fence %llu, after %s", info->name, info->slot,
		     (unsigned long long)info->fence, time_text(info->waited).text);
		return;
	}
	json_open(&json, "{");
	json_text(&json, "event", "acquired");
	json_text(&json, "name", info->name);
	json_text(&json, "owner", info->owner);
	json_number(&json, "slot", info->slot);
	json_number(&json, "fence", info->fence);
	json_seconds(&json, "waited", info->waited);
	json_close(&json, "}\n");
	fflush(stderr);
}

/* What the command did, and what weir makes of that: after a lost lease, say, its code is another.
 */
static void note_ended(const struct options *options, const char *name, const struct child *child)
{
	int code = child->ending.code;
	char own[64] = "nobody knows how the command ended";
	char ours[32] = "";

	if (child->own_end)
		snprintf(own, sizeof(own), "signal %d (%s) ended the command", child->own_end,
			 strsignal(child->own_end));
	else if (child->own_code >= 0)
		snprintf(own, sizeof(own), "the command ended with exit code %d", child->own_code);
	if (child->own_end ? code != 128 + child->own_end : code != child->own_code)
		snprintf(ours, sizeof(ours), "; that of weir is %d", code);
	note(options, "%s: %s%s", name, own, ours);
}

static void json_ended(const char *name, const struct child *child)
{
	struct json json = { .stream = stderr };

	json_open(&json, "{");
	json_text(&json, "event", "ended");
	json_text(&json, "name", name);
	json_number(&json, "code", (uint64_t)child->ending.code);
	if (child->own_code >= 0)
		json_number(&json, "command_code", (uint64_t)child->own_code);
	if (child->own_end)
		json_number(&json, "command_signal", (uint64_t)child->own_end);
	json_close(&json, "}\n");
	fflush(stderr);
}

static int cannot_run(const char *command, int why)
{
	return fail(why == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN, "cannot run %s: %s", command,
		    why == ENOENT ? "there is no such command" : strerror(why));
}

/* -1, or an exit code. */
static int start(struct options *options, struct weir_lease *lease,
		 const struct weir_lease_info *info, struct child *child)
{
	/* Without --ttl it is the store that knows how long a lease lives. */
	int code = settle_kill_after(options, info->ttl);
	int why;

	if (code >= 0)
		return code;
	/* Where a store can bind it to processes it must: who counts on the permit's staying taken
	 * while they live would not notice that it does not. */
	child->bind_fd = weir_lease_bind_fd(lease);
	if (child->bind_fd < 0 && child->bind_fd != -ENOTSUP)
		return fail_store(options, child->bind_fd);
	child->end = options->max_hold ? weir_after(options->max_hold) : WEIR_NEVER;
	why = spawn(child, info);
	return why ? cannot_run(child->argv[0], why) : -1;
}

/* With the lease in hand. Whether the command has left processes behind, and they have it. */
static bool run_under(struct options *options, struct weir_lease *lease, char **argv,
		      struct ending *ret_ending)
{
	struct child child = { .argv = argv, .terminal = terminal_to_hand_over(), .own_code = -1 };
	struct weir_lease_info info;
	bool keep = false;

	weir_lease_get(lease, &info);
	tell_acquired(options, &info);
	child.ending.code = start(options, lease, &info, &child);
	if (child.ending.code < 0) {
		supervise(options, &child, lease);
		keep = leave_to_family(options, &child);
		note_ended(options, info.name, &child);
	}
	/* Also of one that never ran: who reads of a beginning waits for an end. */
	if (options->json)
		json_ended(info.name, &child);
	*ret_ending = child.ending;
	return keep;
}

static int run_in(struct weir_store *store, struct options *options, const struct wanted *wanted,
		  char **argv)
{
	struct weir_lease *lease = NULL;
	struct ending ending = { 0 };
	bool keep = false;

	ending.code = acquire(store, wanted, &lease, &ending.died_of);
	if (lease && !ending.died_of)
		keep = run_under(options, lease, argv, &ending);
	/* Else neither released nor closed: that would end the lease of those who are left. */
	if (!keep)
		give_back(store, lease, &ending);
	if (ending.died_of)
		die_of(ending.died_of, ending.tell_group);
	return ending.code;
}

/* What a lease lasts at most, so that the command has ended by then. Whether that fits. */
static bool find_max_hold(const struct options *options, weir_time *ret_max_hold)
{
	weir_time grace = DEFAULT_KILL_AFTER;

	if (!options->max_hold)
		return true;
	if (options->has_kill_after)
		grace = options->kill_after;
	return !__builtin_add_overflow(grace, MARGIN, &grace) &&
	       !__builtin_add_overflow(options->max_hold, grace, ret_max_hold);
}

int command_run(const struct options *given)
{
	struct options options = *given;
	struct wanted wanted = { .options = &options, .keepalive = true, .on_lost = tell_lost };
	struct weir_store *store;
	char **argv = NULL;
	int code;

	code = find_command(&options, &wanted.name, &argv);
	if (code < 0 && options.ttl)
		code = settle_kill_after(&options, options.ttl);
	if (code >= 0)
		return code;
	if (!find_max_hold(&options, &wanted.max_hold))
		return fail(EXIT_USAGE, "--max-hold is too long");
	code = open_and_hold_signals(&options, &store);
	return code ? code : run_in(store, &options, &wanted, argv);
}

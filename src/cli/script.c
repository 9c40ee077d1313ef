/* cli: weir acquire, renew and release, for scripts that hold a lease across commands.
 *
 * Tokens are secrets: they come from the environment or from standard input rather than from the
 * command line, which everybody on the machine can read.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* In quotes that every shell understands. */
static void print_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	}
	putchar('\'');
}

static void print_shell(const struct weir_lease_info *info, const char *token)
{
	printf("WEIR_NAME=%s; WEIR_TOKEN=%s; WEIR_SLOT=%u; WEIR_FENCE=%llu; WEIR_OWNER=",
	       info->name, token, info->slot, (unsigned long long)info->fence);
	print_quoted(info->owner);
	printf("; export WEIR_NAME WEIR_TOKEN WEIR_SLOT WEIR_FENCE WEIR_OWNER\n");
}

static void print_json(const struct weir_lease_info *info, const char *token)
{
	struct json json = { .stream = stdout };

	json_open(&json, "{");
	json_text(&json, "name", info->name);
	json_text(&json, "token", token);
	json_number(&json, "slot", info->slot);
	json_number(&json, "fence", info->fence);
	/* Of a lease that was acquired elsewhere only the token is known. */
	if (*info->owner)
		json_text(&json, "owner", info->owner);
	if (*info->request_id)
		json_text(&json, "request_id", info->request_id);
	json_number(&json, "weight", info->weight);
	json_seconds(&json, "ttl", info->ttl);
	json_seconds(&json, "left", info->left);
	json_seconds(&json, "waited", info->waited);
	json_close(&json, "}\n");
}

static int print_lease(const struct options *options, struct weir_lease *lease)
{
	struct weir_lease_info info;
	char token[TOKEN_TEXT + 1];

	weir_lease_get(lease, &info);
	token_print(info.token, token);
	if (options->json)
		print_json(&info, token);
	else
		print_shell(&info, token);
	return finish_output(0);
}

int command_acquire(const struct options *options)
{
	struct wanted wanted = { .options = options,
				 .detached = true,
				 .max_hold = options->max_hold };
	struct weir_store *store;
	struct weir_lease *lease = NULL;
	struct ending ending = { 0 };
	int code;

	if (options->n_args != 1)
		return fail(EXIT_USAGE, "say one name: weir acquire NAME");
	wanted.name = options->args[0];
	code = check_name(wanted.name);
	if (code >= 0)
		return code;
	code = open_and_hold_signals(options, &store);
	if (code)
		return code;
	ending.code = acquire(store, &wanted, &lease, &ending.died_of);
	if (lease && !ending.died_of)
		ending.code = print_lease(options, lease);
	/* A lease that nobody heard of would only be in the way until its TTL is over. */
	if (ending.died_of || ending.code) {
		give_back(store, lease, &ending);
	} else {
		weir_lease_unref(lease);
		weir_store_close(store);
	}
	if (ending.died_of)
		die_of(ending.died_of, false);
	return ending.code;
}

/* ---- renew and release ---- */

static bool read_line(char *text, size_t size)
{
	size_t length = 0;

	while (length < size - 1) {
		ssize_t n = read(STDIN_FILENO, text + length, size - 1 - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	text[length] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	return length > 0;
}

static int find_token(const struct options *options, uint8_t token[WEIR_TOKEN_SIZE])
{
	const char *text = options->n_args > 1 ? options->args[1] : getenv("WEIR_TOKEN");
	char line[TOKEN_TEXT + 8];

	if (text && strcmp(text, "-") == 0)
		text = read_line(line, sizeof(line)) ? line : NULL;
	if (!text || !*text)
		return fail(EXIT_USAGE,
			    "which lease? Set WEIR_TOKEN to what weir acquire printed, "
			    "or give the token on standard input with weir %s NAME -",
			    command_specs[options->command].name);
	if (!token_parse(text, token))
		return fail(EXIT_USAGE, "that is not a token: it has %d digits of 0-9 a-f",
			    TOKEN_TEXT);
	return -1;
}

static int find_lease(const struct options *options, const char **ret_name,
		      uint8_t token[WEIR_TOKEN_SIZE])
{
	const char *name = options->n_args > 0 ? options->args[0] : getenv("WEIR_NAME");

	if (options->n_args > 2)
		return fail(EXIT_USAGE, "one name and one token at most: see weir %s --help",
			    command_specs[options->command].name);
	if (!name || !*name)
		return fail(EXIT_USAGE, "which semaphore? Set WEIR_NAME or say weir %s NAME",
			    command_specs[options->command].name);
	if (check_name(name) >= 0)
		return EXIT_USAGE;
	*ret_name = name;
	return find_token(options, token);
}

static int not_there(const struct options *options, const char *name, int error)
{
	if (error != -ESTALE && error != -ENOENT)
		return fail_store(options, error);
	return fail(EXIT_LOST, "%s: that lease is lost: it expired, was released or evicted", name);
}

/* What is done to a lease that somebody acquired before. */
static int with_lease(const struct options *options,
		      int (*act)(const struct options *, struct weir_lease *))
{
	uint8_t token[WEIR_TOKEN_SIZE];
	struct weir_store *store;
	struct weir_lease *lease;
	const char *name = NULL;
	int code = find_lease(options, &name, token);
	int error;

	if (code >= 0)
		return code;
	code = open_store(options, &store);
	if (code)
		return code;
	error = weir_lease_adopt(store, name, token, &lease);
	if (error == 0) {
		code = act(options, lease);
		weir_lease_unref(lease);
	} else {
		code = not_there(options, name, error);
	}
	weir_store_close(store);
	return code;
}

static int lost(const struct options *options, struct weir_lease *lease, int error)
{
	struct weir_lease_info info;

	weir_lease_get(lease, &info);
	return not_there(options, info.name, error);
}

static int renew_it(const struct options *options, struct weir_lease *lease)
{
	struct weir_lease_info info;
	char token[TOKEN_TEXT + 1];
	int error = weir_renew(lease, options->ttl);

	if (error < 0)
		return lost(options, lease, error);
	weir_lease_get(lease, &info);
	if (options->json) {
		token_print(info.token, token);
		print_json(&info, token);
		return finish_output(0);
	}
	note(options, "%s: %s left", info.name, time_text(info.left).text);
	return 0;
}

static int release_it(const struct options *options, struct weir_lease *lease)
{
	int error = weir_release(lease);

	return error < 0 ? lost(options, lease, error) : 0;
}

int command_renew(const struct options *options)
{
	return with_lease(options, renew_it);
}

int command_release(const struct options *options)
{
	return with_lease(options, release_it);
}

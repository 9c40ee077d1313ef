/* cli: weir limit and weir evict, an operator's tools. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int check_first(const struct options *options)
{
	if (options->n_args == 0)
		return fail(EXIT_USAGE, "say which: weir %s NAME",
			    command_specs[options->command].name);
	return check_name(options->args[0]);
}

static int no_such(const char *name)
{
	return fail(EXIT_USAGE, "there is no semaphore %s: weir ls lists them", name);
}

/* ---- limit ---- */

struct found {
	bool there;
	uint32_t limit;
};

static int see_limit(void *arg, const struct weir_sem_info *info)
{
	*(struct found *)arg = (struct found){ true, info->limit };
	return 0;
}

static int print_limit(struct weir_store *store, const struct options *options, const char *name)
{
	static const struct weir_visitor visitor = { .semaphore = see_limit };
	struct json json = { .stream = stdout };
	struct found found = { 0 };
	int error = weir_list(store, &name, 1, &visitor, &found);

	if (error < 0)
		return fail_store(options, error);
	if (!found.there)
		return no_such(name);
	if (options->json) {
		json_open(&json, "{");
		json_text(&json, "name", name);
		json_number(&json, "limit", found.limit);
		json_close(&json, "}\n");
	} else {
		printf("%u\n", found.limit);
	}
	return finish_output(0);
}

/* A new name is created with it; to be paused, it is created with 1 first. */
static int set_limit(struct weir_store *store, const struct options *options, const char *name,
		     uint32_t limit)
{
	int error = weir_set_limit(store, name, limit);

	if (error == -ENOENT) {
		error = weir_ensure(store, name, limit ? limit : 1);
		if (error >= 0)
			error = weir_set_limit(store, name, limit);
	}
	return error < 0 ? fail_store(options, error) : 0;
}

int command_limit(const struct options *options)
{
	struct weir_store *store;
	uint32_t limit = 0;
	int code = check_first(options);

	if (code >= 0)
		return code;
	if (options->n_args > 2)
		return fail(EXIT_USAGE, "one name and one number: weir limit NAME N");
	if (options->n_args == 2 && parse_number(options->args[1], 0, INT32_MAX, &limit) < 0)
		return fail(EXIT_USAGE, "'%s' is not a limit: a whole number, 0 pauses",
			    options->args[1]);
	code = open_store(options, &store);
	if (code)
		return code;
	code = options->n_args == 2 ? set_limit(store, options, options->args[0], limit) :
				      print_limit(store, options, options->args[0]);
	weir_store_close(store);
	return code;
}

/* ---- evict ---- */

struct holders {
	bool there;
	uint8_t (*tokens)[WEIR_TOKEN_SIZE];
	size_t n, room;
};

static int see_name(void *arg, const struct weir_sem_info *info)
{
	(void)info;
	((struct holders *)arg)->there = true;
	return 0;
}

static int see_holder(void *arg, const struct weir_claim_info *info)
{
	struct holders *holders = arg;

	if (holders->n == holders->room) {
		size_t room = holders->room ? 2 * holders->room : 16;
		void *tokens = reallocarray(holders->tokens, room, WEIR_TOKEN_SIZE);

		if (!tokens)
			return -ENOMEM;
		holders->tokens = tokens;
		holders->room = room;
	}
	memcpy(holders->tokens[holders->n++], info->token, WEIR_TOKEN_SIZE);
	return 0;
}

static int evict_one(struct weir_store *store, const struct options *options, const char *name,
		     const uint8_t *token)
{
	int error = weir_evict(store, name, token);
	char text[TOKEN_TEXT + 1];

	token_print(token, text);
	if (error == -ESTALE)
		return fail(EXIT_LOST, "%s: %.*s has ended meanwhile", name, TOKEN_SHOWN, text);
	if (error < 0)
		return fail_store(options, error);
	note(options, "%s: evicted %.*s", name, TOKEN_SHOWN, text);
	return 0;
}

/* The one holder whose token begins so. */
static int evict_by_id(struct weir_store *store, const struct options *options,
		       const struct holders *holders, const char *id)
{
	const char *name = options->args[0];
	const uint8_t *match = NULL;
	char text[TOKEN_TEXT + 1];

	if (strlen(id) < TOKEN_SHOWN || strlen(id) > TOKEN_TEXT ||
	    strspn(id, "0123456789abcdef") != strlen(id))
		return fail(EXIT_USAGE,
			    "'%s' is not an id: weir show %s prints them, with %d "
			    "digits of 0-9 a-f",
			    id, name, TOKEN_SHOWN);
	for (size_t i = 0; i < holders->n; i++) {
		token_print(holders->tokens[i], text);
		if (strncmp(text, id, strlen(id)) != 0)
			continue;
		if (match)
			return fail(EXIT_USAGE, "'%s' fits several holders of %s", id, name);
		match = holders->tokens[i];
	}
	if (!match)
		return fail(EXIT_LOST, "no holder of %s has the id %s: see weir show %s", name, id,
			    name);
	return evict_one(store, options, name, match);
}

static int evict_those(struct weir_store *store, const struct options *options)
{
	static const struct weir_visitor visitor = { .semaphore = see_name, .holder = see_holder };
	const char *name = options->args[0];
	struct holders holders = { 0 };
	int error = weir_list(store, &name, 1, &visitor, &holders);
	int code = 0;

	if (error < 0)
		code = fail_store(options, error);
	else if (!holders.there)
		code = no_such(name);
	for (size_t i = 0; code == 0 && options->all && i < holders.n; i++) {
		int result = evict_one(store, options, name, holders.tokens[i]);

		code = result == EXIT_LOST ? 0 : result;
	}
	for (int i = 1; code == 0 && i < options->n_args; i++)
		code = evict_by_id(store, options, &holders, options->args[i]);
	free(holders.tokens);
	return code;
}

int command_evict(const struct options *options)
{
	struct weir_store *store;
	int code = check_first(options);

	if (code >= 0)
		return code;
	if (options->all == (options->n_args > 1))
		return fail(EXIT_USAGE,
			    "say whom: weir evict %s ID, as weir show prints it, or "
			    "--all",
			    options->args[0]);
	code = open_store(options, &store);
	if (code)
		return code;
	code = evict_those(store, options);
	weir_store_close(store);
	return code;
}

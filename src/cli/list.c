/* cli: weir ls and weir show. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/table.h"

#define WATCH_EVERY (500 * WEIR_MS)

struct listing {
	const struct options *options;
	bool details; /* holders and waiters, too */
	bool colour;
	struct table table;
	struct json json;
	const char *list; /* the JSON array that is open: holders or waiters */
	size_t shown;
	bool failed; /* a table had no memory */
};

/* ---- JSON ---- */

static void close_lists(struct listing *listing)
{
	struct json *json = &listing->json;

	if (listing->details) {
		if (strcmp(listing->list, "holders") == 0) {
			json_close(json, "]");
			json_key(json, "waiters");
			json_open(json, "[");
		}
		json_close(json, "]");
	}
	json_close(json, "}");
}

static int json_semaphore(void *arg, const struct weir_sem_info *info)
{
	struct listing *listing = arg;
	struct json *json = &listing->json;

	if (listing->shown++)
		close_lists(listing);
	json_key(json, NULL);
	json_open(json, "{");
	json_text(json, "name", info->name);
	json_number(json, "limit", info->limit);
	json_number(json, "held", info->held);
	json_key(json, "percent");
	fprintf(json->stream, "%.1f", info->percent);
	json_number(json, "holding", info->holders);
	json_number(json, "waiting", info->waiting);
	json_seconds(json, "closed", info->closed);
	json_number(json, "fence", info->fence);
	json_number(json, "granted_at_once", info->granted_at_once);
	json_number(json, "granted_after_wait", info->granted_after_wait);
	json_number(json, "refused", info->refused);
	json_number(json, "expired", info->expired);
	json_number(json, "renewals_failed", info->renewals_failed);
	json_seconds(json, "wait_p50", info->wait_p50);
	json_seconds(json, "wait_p90", info->wait_p90);
	json_seconds(json, "wait_p99", info->wait_p99);
	json_seconds(json, "wait_max", info->wait_max);
	if (listing->details) {
		json_key(json, "holders");
		json_open(json, "[");
		listing->list = "holders";
	}
	return 0;
}

static void json_claim(struct json *json, const struct weir_claim_info *info)
{
	json_text(json, "owner", info->owner);
	json_text(json, "request_id", info->request_id);
	json_number(json, "weight", info->weight);
	if (info->pid > 0)
		json_number(json, "pid", (uint64_t)info->pid);
	else
		json_null(json, "pid");
	json_seconds(json, "age", info->age);
}

static int json_holder(void *arg, const struct weir_claim_info *info)
{
	struct json *json = &((struct listing *)arg)->json;
	char token[TOKEN_TEXT + 1];

	token_print(info->token, token);
	token[TOKEN_SHOWN] = '\0';
	json_key(json, NULL);
	json_open(json, "{");
	json_number(json, "slot", info->slot);
	json_text(json, "id", token);
	json_number(json, "fence", info->fence);
	json_claim(json, info);
	json_seconds(json, "left", info->left);
	json_close(json, "}");
	return 0;
}

static int json_waiter(void *arg, const struct weir_claim_info *info)
{
	struct listing *listing = arg;
	struct json *json = &listing->json;

	if (strcmp(listing->list, "holders") == 0) {
		json_close(json, "]");
		json_key(json, "waiters");
		json_open(json, "[");
		listing->list = "waiters";
	}
	json_key(json, NULL);
	json_open(json, "{");
	json_number(json, "position", info->position);
	json_claim(json, info);
	json_close(json, "}");
	return 0;
}

/* ---- tables ---- */

static int row_semaphore(void *arg, const struct weir_sem_info *info)
{
	struct listing *listing = arg;
	struct table *table = &listing->table;

	listing->shown++;
	table_add(table, "%s", info->name);
	if (info->limit)
		table_add(table, "%u", info->limit);
	else
		table_add(table, "paused");
	table_add(table, "%u", info->held);
	if (info->closed)
		table_add(table, "closed");
	else
		table_add(table, "%.0f%%", info->percent);
	table_add(table, "%u", info->waiting);
	table_add(table, "%llu",
		  (unsigned long long)(info->granted_at_once + info->granted_after_wait));
	table_add(table, "%s", info->granted_after_wait ? time_text(info->wait_p50).text : "-");
	table_add(table, "%s", info->granted_after_wait ? time_text(info->wait_max).text : "-");
	return 0;
}

static void print_claims(struct listing *listing)
{
	if (listing->table.n_cells || listing->table.failed)
		listing->failed |= !table_print(&listing->table, stdout, listing->colour);
}

static int head_semaphore(void *arg, const struct weir_sem_info *info)
{
	struct listing *listing = arg;

	print_claims(listing);
	printf("%s%s%s%s: ", listing->shown++ ? "\n" : "", listing->colour ? "\033[1m" : "",
	       info->name, listing->colour ? "\033[0m" : "");
	if (info->limit)
		printf("%u of %u permits taken, %u waiting\n", info->held, info->limit,
		       info->waiting);
	else
		printf("paused, %u permits taken, %u waiting: 'weir limit %s N' lets them go on\n",
		       info->held, info->waiting, info->name);
	if (info->closed)
		printf("closed for %s: " WHY_CLOSED "\n", time_text(info->closed).text);
	return 0;
}

static void row_claim(struct table *table, const struct weir_claim_info *info)
{
	if (info->pid > 0)
		table_add(table, "%lld", (long long)info->pid);
	else
		table_add(table, "-");
	table_add(table, "%u", info->weight);
	table_add(table, "%s", time_text(info->age).text);
}

static int row_holder(void *arg, const struct weir_claim_info *info)
{
	struct table *table = &((struct listing *)arg)->table;
	char token[TOKEN_TEXT + 1];

	token_print(info->token, token);
	table_add(table, "slot %u", info->slot);
	table_add(table, "%s", info->owner);
	row_claim(table, info);
	table_add(table, "%s", time_text(info->left).text);
	table_add(table, "%.*s", TOKEN_SHOWN, token);
	return 0;
}

static int row_waiter(void *arg, const struct weir_claim_info *info)
{
	struct table *table = &((struct listing *)arg)->table;

	table_add(table, info->position == 1 ? "next" : "wait %u", info->position);
	table_add(table, "%s", info->owner);
	row_claim(table, info);
	table_add(table, "-");
	table_add(table, "-");
	return 0;
}

static const struct table ls_table = {
	.heads = { "NAME", ">LIMIT", ">HELD", ">FULL", ">WAITING", ">GRANTED", ">WAIT P50",
		   ">LONGEST" },
	.n_columns = 8,
};

static const struct table show_table = {
	.heads = { "", "OWNER", ">PID", ">WEIGHT", ">AGE", ">LEFT", "ID" },
	.n_columns = 7,
	.gives_way = 1,
};

/* ---- both ---- */

static int visit(struct weir_store *store, struct listing *listing)
{
	static const struct weir_visitor json = { .semaphore = json_semaphore,
						  .holder = json_holder,
						  .waiter = json_waiter };
	static const struct weir_visitor json_brief = { .semaphore = json_semaphore };
	static const struct weir_visitor rows = { .semaphore = row_semaphore };
	static const struct weir_visitor heads = { .semaphore = head_semaphore,
						   .holder = row_holder,
						   .waiter = row_waiter };
	const struct options *options = listing->options;
	const struct weir_visitor *visitor = listing->details ? &heads : &rows;

	if (options->json)
		visitor = listing->details ? &json : &json_brief;
	listing->shown = 0;
	return weir_list(store, (const char *const *)options->args, (size_t)options->n_args,
			 visitor, listing);
}

/* Who watches waits for them to be made. */
static void print_none(const struct options *options)
{
	if (options->n_args == 0)
		puts("there are no semaphores yet");
	else if (options->n_args == 1)
		printf("there is no semaphore %s yet\n", options->args[0]);
	else
		puts("there is none of these semaphores yet");
}

/* One picture. 0 or an error of the store. */
static int print_listing(struct weir_store *store, struct listing *listing)
{
	const struct options *options = listing->options;
	int error;

	listing->table = listing->details ? show_table : ls_table;
	listing->json = (struct json){ .stream = stdout };
	if (options->json)
		json_open(&listing->json, "[");
	error = visit(store, listing);
	if (options->json) {
		if (listing->shown)
			close_lists(listing);
		json_close(&listing->json, "]\n");
	} else if (listing->shown == 0 && options->watch) {
		print_none(options);
	} else if (listing->details) {
		print_claims(listing);
	} else if (listing->shown) {
		listing->failed |= !table_print(&listing->table, stdout, listing->colour);
	} else if (!options->quiet && options->n_args == 0) {
		fail(0, "there are no semaphores yet: weir run NAME COMMAND makes one");
	}
	return error;
}

static int check_names(const struct options *options)
{
	int code = -1;

	for (int i = 0; i < options->n_args && code < 0; i++)
		code = check_name(options->args[i]);
	return code;
}

static int seen(void *arg, const struct weir_sem_info *info)
{
	(void)info;
	*(bool *)arg = true;
	return 0;
}

/* The listing skips names it does not know; who asked for one by name wants to hear of it. */
static int missing(struct weir_store *store, const struct options *options, size_t shown)
{
	static const struct weir_visitor visitor = { .semaphore = seen };
	int code = 0;

	if (shown >= (size_t)options->n_args)
		return 0;
	for (int i = 0; i < options->n_args; i++) {
		const char *name = options->args[i];
		bool there = false;

		weir_list(store, &name, 1, &visitor, &there);
		if (!there)
			code = fail(EXIT_USAGE, "there is no semaphore %s: weir ls lists them",
				    name);
	}
	return code;
}

/* On a terminal each picture is drawn over the last one. */
static int watch(struct weir_store *store, struct listing *listing)
{
	bool terminal = isatty(STDOUT_FILENO) && !listing->options->json;
	struct timespec pause = { .tv_nsec = WATCH_EVERY };
	int error = 0;

	if (terminal)
		fputs("\033[2J", stdout);
	while (error == 0 && !listing->failed && finish_output(0) == 0) {
		char now[16];
		time_t seconds = time(NULL);
		struct tm date;

		if (terminal) {
			strftime(now, sizeof(now), "%H:%M:%S", localtime_r(&seconds, &date));
			printf("\033[H\033[J%s\n", now);
		}
		error = print_listing(store, listing);
		if (finish_output(0))
			return -EIO;
		nanosleep(&pause, NULL);
	}
	return error;
}

static int list(const struct options *options, bool details)
{
	struct listing listing = { .options = options,
				   .details = details,
				   .colour = wants_colour(stdout) };
	struct weir_store *store;
	int code = check_names(options);
	int error;

	if (code >= 0)
		return code;
	code = open_store(options, &store);
	if (code)
		return code;
	error = options->watch ? watch(store, &listing) : print_listing(store, &listing);
	if (error == -EIO)
		code = EXIT_FAILED;
	else if (error < 0)
		code = fail_store(options, error);
	else if (listing.failed)
		code = fail(EXIT_FAILED, "out of memory");
	else
		code = finish_output(missing(store, options, listing.shown));
	weir_store_close(store);
	return code;
}

int command_ls(const struct options *options)
{
	return list(options, false);
}

int command_show(const struct options *options)
{
	if (options->n_args == 0)
		return fail(EXIT_USAGE, "say which: weir show NAME. weir ls lists them all");
	return list(options, true);
}

/* chaos: histories as text, and the list of checks. */
#include "chaos/history.h"

#include "chaos/leases.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLIENTS = 1 << 22 };

const char *history_check_name(int check)
{
	static const char *const names[] = { "",         "LIMIT",   "FENCES", "STABLE",
					     "ORDER",    "REFUSAL", "IDLE",   "TOKEN",
					     "IDENTITY", "HONESTY", "END" };

	return check >= 1 && check <= HISTORY_CHECKS ? names[check] : "";
}

int history_check(const struct history *history, struct history_report *ret_report)
{
	static int (*const checks[])(struct account *) = {
		check_limit, check_fences, check_order,    check_refusals,
		check_idle,  check_tokens, check_identity, check_end,
	};
	struct account account;
	int error = account_open(&account, history, ret_report);

	for (size_t i = 0; error == 0 && i < sizeof(checks) / sizeof(checks[0]); i++)
		error = checks[i](&account);
	account_close(&account);
	return error;
}

/* kind name client inv ret result weight ttl max_hold token request slot fence limit flags */
void history_write_op(FILE *file, const struct history_op *op)
{
	(void)fprintf(file, "%c %u %u %" PRId64 " ", op->kind, op->name, op->client, op->inv);
	if (op->ret == HISTORY_NEVER)
		(void)fprintf(file, "- ");
	else
		(void)fprintf(file, "%" PRId64 " ", op->ret);
	(void)fprintf(file,
		      "%d %u %" PRId64 " %" PRId64 " %" PRIx64 " %" PRIx64 " %u %" PRIu64
		      " %u %u\n",
		      op->result, op->weight, op->ttl, op->max_hold, op->token, op->request,
		      op->slot, op->fence, op->limit, op->flags);
}

int history_write(FILE *file, const struct history *history)
{
	for (size_t i = 0; i < history->n; i++)
		history_write_op(file, &history->ops[i]);
	return fflush(file) == 0 ? 0 : -EIO;
}

/* The next number of a line, within bounds. */
static bool field(char **at, int base, int64_t low, int64_t high, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(*at, &end, base);
	if (end == *at || errno != 0 || *ret < low || *ret > high)
		return false;
	*at = end;
	return true;
}

static bool read_ret(char **at, int64_t *ret)
{
	char *blank = *at + strspn(*at, " ");

	if (*blank != '-' || (blank[1] != ' ' && blank[1] != '\0'))
		return field(at, 10, INT64_MIN / 4, INT64_MAX / 4, ret);
	*at = blank + 1;
	*ret = HISTORY_NEVER;
	return true;
}

static bool read_op(char *line, struct history_op *op)
{
	int64_t v[13];
	char *at = line + 1;
	bool ok = field(&at, 10, 0, UINT16_MAX, &v[0]) && field(&at, 10, 0, MOST_CLIENTS, &v[1]) &&
		  field(&at, 10, INT64_MIN / 4, INT64_MAX / 4, &v[2]) && read_ret(&at, &v[3]) &&
		  field(&at, 10, INT32_MIN, INT32_MAX, &v[4]) &&
		  field(&at, 10, 0, INT32_MAX, &v[5]) && field(&at, 10, 0, INT64_MAX / 4, &v[6]) &&
		  field(&at, 10, 0, INT64_MAX / 4, &v[7]) && field(&at, 16, 0, INT64_MAX, &v[8]) &&
		  field(&at, 16, 0, INT64_MAX, &v[9]) && field(&at, 10, 0, INT32_MAX, &v[10]) &&
		  field(&at, 10, 0, INT64_MAX, &v[11]) && field(&at, 10, 0, INT32_MAX, &v[12]);
	int64_t flags;

	if (!ok || strchr("anrelqhdz", line[0]) == NULL || !field(&at, 10, 0, 7, &flags) ||
	    at[strspn(at, " \r\n")] != '\0' || v[3] < v[2])
		return false;
	*op = (struct history_op){
		.kind = (uint8_t)line[0],
		.name = (uint32_t)v[0],
		.client = (uint32_t)v[1],
		.inv = v[2],
		.ret = v[3],
		.result = (int32_t)v[4],
		.weight = (uint32_t)v[5],
		.ttl = v[6],
		.max_hold = v[7],
		.token = (uint64_t)v[8],
		.request = (uint64_t)v[9],
		.slot = (uint32_t)v[10],
		.fence = (uint64_t)v[11],
		.limit = (uint32_t)v[12],
		.flags = (uint8_t)flags,
	};
	return true;
}

int history_read(FILE *file, struct history *ret_history, size_t *ret_line)
{
	struct history_op *ops = NULL;
	size_t n = 0, room = 0, size = 0;
	char *line = NULL;
	int error = 0;

	*ret_line = 0;
	while (error == 0 && getline(&line, &size, file) >= 0) {
		++*ret_line;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (n == room) {
			struct history_op *more = realloc(ops, (2 * room + 64) * sizeof(*ops));

			if (more == NULL) {
				error = -ENOMEM;
				break;
			}
			ops = more;
			room = 2 * room + 64;
		}
		error = read_op(line, &ops[n++]) ? 0 : -EINVAL;
	}
	free(line);
	if (error < 0) {
		free(ops);
		return error;
	}
	ret_history->ops = ops;
	ret_history->n = n;
	return 0;
}

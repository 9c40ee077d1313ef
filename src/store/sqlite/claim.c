/* store/sqlite: the rows of claims.
 *
 * What the file says is checked where the rules rely on it, for a damaged file must lead to an
 * error and not to a wild access.
 */
#include <string.h>

#include "store/sqlite/lite.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* A token is random, so its first bytes are as good a key as any, and need no index. */
static int64_t id_of(const uint8_t *token)
{
	int64_t id;

	memcpy(&id, token, sizeof(id));
	return id & INT64_MAX;
}

static const char *copy_text(struct weir__lite *lite, sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	int size = sqlite3_column_bytes(row, column);
	char *copy;

	if (text == NULL || size > WEIR_NAME_MAX) {
		weir__lite_fail(lite, SQLITE_CORRUPT);
		return "";
	}
	copy = weir__lite_memory(lite, (size_t)size + 1);
	if (copy == NULL)
		return "";
	memcpy(copy, text, (size_t)size);
	return copy;
}

/* Whether the rules may work with it: with a lease, and with any. */
static bool is_counted(const struct weir__rec *rec, const struct weir__claim *claim)
{
	return claim->weight != 0 && claim->weight <= rec->held && rec->holders != 0 &&
	       weir__slots_taken(&rec->slots, claim->slot);
}

static bool is_sound(const struct weir__rec *rec, const struct weir__claim *claim)
{
	if (claim->weight == 0 || claim->ttl <= 0 || claim->max_hold < 0)
		return false;
	if (claim->state == WEIR__WAITING)
		return rec->waiting != 0;
	return claim->state == WEIR__HOLDING && is_counted(rec, claim);
}

static struct weir__lite_claim *read_claim(struct weir__lite_sem *sem, sqlite3_stmt *row)
{
	struct weir__lite *lite = sem->lite;
	struct weir__lite_claim *claim = weir__lite_memory(lite, sizeof(*claim));
	const void *token = sqlite3_column_blob(row, 7);

	if (claim == NULL)
		return NULL;
	claim->id = sqlite3_column_int64(row, 0);
	claim->stored_due = sqlite3_column_int64(row, 2);
	claim->shared = sqlite3_column_int(row, 4) == 1;
	claim->detached = sqlite3_column_int(row, 15) == 1;
	claim->who = (struct weir__who){
		.pid = sqlite3_column_int64(row, 16),
		.start = sqlite3_column_int64(row, 17),
		.space = sqlite3_column_int64(row, 18),
		.agent = sqlite3_column_int64(row, 19),
	};
	claim->claim = (struct weir__claim){
		.state = (enum weir__claim_state)sqlite3_column_int(row, 1),
		.weight = (uint32_t)sqlite3_column_int64(row, 8),
		.ttl = sqlite3_column_int64(row, 9),
		.max_hold = sqlite3_column_int64(row, 10),
		.since = sqlite3_column_int64(row, 11),
		.owner = copy_text(lite, row, 6),
		.request_id = copy_text(lite, row, 5),
		.ticket = (uint64_t)sqlite3_column_int64(row, 3),
		.silent = claim->stored_due,
		.fence = (uint64_t)sqlite3_column_int64(row, 12),
		.slot = (uint32_t)sqlite3_column_int64(row, 13),
		.expires = claim->stored_due,
		.hard_end = sqlite3_column_int64(row, 14),
	};
	if (token == NULL || sqlite3_column_bytes(row, 7) != WEIR_TOKEN_SIZE ||
	    !is_sound(&sem->rec, &claim->claim)) {
		weir__lite_fail(lite, SQLITE_CORRUPT);
		return NULL;
	}
	memcpy(claim->claim.token, token, WEIR_TOKEN_SIZE);
	return claim;
}

struct weir__lite_claim *weir__lite_claim_only(struct weir__lite_sem *sem, sqlite3_stmt *row)
{
	struct weir__lite_claim *claim = NULL;

	if (weir__lite_row(sem->lite, row)) {
		claim = read_claim(sem, row);
		(void)sqlite3_reset(row);
	}
	return claim;
}

struct weir__lite_claim *weir__lite_claim_find(struct weir__lite_sem *sem,
					       enum weir__statement which, int64_t key)
{
	sqlite3_stmt *row = weir__lite_use(sem->lite, which);

	if (row == NULL)
		return NULL;
	sqlite3_bind_int64(row, 1, sem->id);
	sqlite3_bind_int64(row, 2, key);
	return weir__lite_claim_only(sem, row);
}

struct weir__lite_claim *weir__lite_claim(struct weir__lite_sem *sem, const uint8_t *token)
{
	struct weir__lite_claim *claim = weir__lite_claim_find(sem, WEIR__SQL_CLAIM, id_of(token));

	return claim != NULL && memcmp(claim->claim.token, token, WEIR_TOKEN_SIZE) == 0 ? claim :
											  NULL;
}

struct weir__lite_claim *weir__lite_claim_before(struct weir__lite_sem *sem, uint64_t ticket)
{
	return weir__lite_claim_find(sem, WEIR__SQL_QUEUE_BEFORE, (int64_t)ticket);
}

struct weir__lite_claim **weir__lite_claims(struct weir__lite_sem *sem,
					    enum weir__claim_state state, size_t *count)
{
	uint32_t known = state == WEIR__HOLDING ? sem->rec.holders : sem->rec.waiting;
	size_t room = known < *count ? known : *count;
	struct weir__lite_claim **claims =
		weir__lite_memory(sem->lite, (room + 1) * sizeof(struct weir__lite_claim *));
	sqlite3_stmt *row = weir__lite_use(sem->lite, WEIR__SQL_ALL);

	*count = 0;
	if (claims == NULL || row == NULL)
		return claims;
	sqlite3_bind_int64(row, 1, sem->id);
	sqlite3_bind_int64(row, 2, state);
	sqlite3_bind_int64(row, 3, (int64_t)room);
	while (weir__lite_row(sem->lite, row)) {
		struct weir__lite_claim *claim = *count < room ? read_claim(sem, row) : NULL;

		if (claim == NULL) {
			(void)sqlite3_reset(row);
			break;
		}
		claims[(*count)++] = claim;
	}
	return claims;
}

/* ---- writing --------------------------------------------------------------------------------- */

void weir__lite_claim_due(struct weir__lite_sem *sem, struct weir__lite_claim *claim, weir_time due)
{
	sqlite3_stmt *statement = weir__lite_use(sem->lite, WEIR__SQL_DUE);

	sqlite3_bind_int64(statement, 1, claim->id);
	sqlite3_bind_int64(statement, 2, due);
	weir__lite_run(sem->lite, statement);
	claim->stored_due = due;
}

static void bind_who(sqlite3_stmt *statement, int column, const struct weir__who *who)
{
	sqlite3_bind_int64(statement, column, who->pid);
	sqlite3_bind_int64(statement, column + 1, who->start);
	sqlite3_bind_int64(statement, column + 2, who->space);
	sqlite3_bind_int64(statement, column + 3, who->agent);
}

void weir__lite_claim_insert(struct weir__lite_sem *sem, struct weir__lite_claim *claim,
			     weir_time due)
{
	const struct weir__claim *c = &claim->claim;
	sqlite3_stmt *statement = weir__lite_use(sem->lite, WEIR__SQL_INSERT);

	if (statement == NULL)
		return;
	claim->id = id_of(c->token);
	claim->stored_due = due;
	(void)sqlite3_clear_bindings(statement);
	sqlite3_bind_int64(statement, 1, sem->id);
	sqlite3_bind_int64(statement, 2, claim->id);
	sqlite3_bind_int64(statement, 3, c->state);
	sqlite3_bind_int64(statement, 4, due);
	if (c->state == WEIR__WAITING)
		sqlite3_bind_int64(statement, 5, (int64_t)c->ticket);
	if (claim->shared)
		sqlite3_bind_int64(statement, 6, 1);
	sqlite3_bind_text(statement, 7, c->request_id, -1, SQLITE_STATIC);
	sqlite3_bind_text(statement, 8, c->owner, -1, SQLITE_STATIC);
	sqlite3_bind_blob(statement, 9, c->token, WEIR_TOKEN_SIZE, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 10, c->weight);
	sqlite3_bind_int64(statement, 11, c->ttl);
	sqlite3_bind_int64(statement, 12, c->max_hold);
	sqlite3_bind_int64(statement, 13, c->since);
	sqlite3_bind_int64(statement, 14, (int64_t)c->fence);
	sqlite3_bind_int64(statement, 15, c->slot);
	sqlite3_bind_int64(statement, 16, c->hard_end);
	sqlite3_bind_int64(statement, 17, claim->detached);
	bind_who(statement, 18, &claim->who);
	weir__lite_run(sem->lite, statement);
}

void weir__lite_claim_grant(struct weir__lite_sem *sem, struct weir__lite_claim *claim)
{
	const struct weir__claim *c = &claim->claim;
	sqlite3_stmt *statement = weir__lite_use(sem->lite, WEIR__SQL_GRANT);

	sqlite3_bind_int64(statement, 1, claim->id);
	sqlite3_bind_int64(statement, 2, c->expires);
	sqlite3_bind_int64(statement, 3, c->since);
	sqlite3_bind_int64(statement, 4, (int64_t)c->fence);
	sqlite3_bind_int64(statement, 5, c->slot);
	sqlite3_bind_int64(statement, 6, c->hard_end);
	weir__lite_run(sem->lite, statement);
	claim->stored_due = c->expires;
}

static void write_owner(struct weir__lite_sem *sem, struct weir__lite_claim *claim)
{
	sqlite3_stmt *statement = weir__lite_use(sem->lite, WEIR__SQL_OWN);

	sqlite3_bind_int64(statement, 1, claim->id);
	bind_who(statement, 2, &claim->who);
	sqlite3_bind_int64(statement, 6, claim->detached);
	weir__lite_run(sem->lite, statement);
}

/* Somebody asked under this request id before. A waiter that asks from elsewhere now is told there.
 * A lease is this process's when the one before is dead. While that one may live, both believe in
 * it, and so the death of neither may end it: its TTL does (L5). */
void weir__lite_take_over(struct weir__lite_sem *sem, struct weir__lite_claim *claim)
{
	const struct weir__who *self = &sem->lite->self;
	bool is_here = claim->who.pid == self->pid && claim->who.start == self->start &&
		       claim->who.space == self->space;

	if (claim->who.agent == self->agent)
		return;
	if (claim->claim.state == WEIR__WAITING ||
	    weir__lite_life(sem->lite, &claim->who, NULL) == WEIR__DEAD)
		claim->who = *self;
	else if (!is_here && !claim->detached)
		claim->detached = true;
	else
		return;
	write_owner(sem, claim);
}

void weir__lite_claim_delete(struct weir__lite_sem *sem, const struct weir__lite_claim *claim)
{
	sqlite3_stmt *statement = weir__lite_use(sem->lite, WEIR__SQL_DELETE);

	sqlite3_bind_int64(statement, 1, claim->id);
	weir__lite_run(sem->lite, statement);
}

struct weir__lite_claim *weir__lite_claim_take(struct weir__lite_sem *sem,
					       const struct weir__op *release)
{
	struct weir__lite *lite = sem->lite;
	struct weir__lite_claim *claim = weir__lite_memory(lite, sizeof(*claim));
	sqlite3_stmt *statement = weir__lite_use(lite, WEIR__SQL_TAKE);

	if (claim == NULL || statement == NULL)
		return NULL;
	sqlite3_bind_int64(statement, 1, id_of(release->token));
	sqlite3_bind_int64(statement, 2, sem->id);
	sqlite3_bind_int64(statement, 3, (int64_t)release->slot_hint - 1);
	sqlite3_bind_int64(statement, 4, release->weight);
	sqlite3_bind_blob(statement, 5, release->token, WEIR_TOKEN_SIZE, SQLITE_STATIC);
	weir__lite_run(lite, statement);
	if (lite->failed != SQLITE_OK || sqlite3_changes(lite->db) == 0)
		return NULL;
	claim->taken = true;
	claim->claim = (struct weir__claim){
		.state = WEIR__HOLDING,
		.weight = release->weight,
		.slot = release->slot_hint - 1,
	};
	memcpy(claim->claim.token, release->token, WEIR_TOKEN_SIZE);
	if (!is_counted(&sem->rec, &claim->claim)) {
		weir__lite_fail(lite, SQLITE_CORRUPT);
		return NULL;
	}
	return claim;
}

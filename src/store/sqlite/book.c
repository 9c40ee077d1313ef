/* store/sqlite: records, as the rule book sees them.
 *
 * The head of a record is read when a transaction first needs it and written back at its end.
 * Claims are read and written one by one. What the file says is checked where the rules rely on it,
 * for a damaged file must lead to an error and not to a wild access.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "store/sqlite/lite.h"

static struct weir__lite_sem *sem_of(struct weir__rec *rec)
{
	return (struct weir__lite_sem *)(void *)rec;
}

/* ---- claims ---------------------------------------------------------------------------------- */

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

/* Whether the rules may work with it. */
static bool is_sound(const struct weir__rec *rec, const struct weir__claim *claim)
{
	if (claim->weight == 0 || claim->ttl <= 0 || claim->max_hold < 0)
		return false;
	if (claim->state == WEIR__WAITING)
		return rec->waiting != 0;
	return claim->state == WEIR__HOLDING && claim->weight <= rec->held && rec->holders != 0 &&
	       weir__slots_taken(&rec->slots, claim->slot);
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

static struct weir__lite_claim *only_claim(struct weir__lite_sem *sem, sqlite3_stmt *row)
{
	struct weir__lite_claim *claim = NULL;

	if (weir__lite_row(sem->lite, row)) {
		claim = read_claim(sem, row);
		(void)sqlite3_reset(row);
	}
	return claim;
}

static struct weir__lite_claim *find(struct weir__lite_sem *sem, enum weir__statement which,
				     int64_t key)
{
	sqlite3_stmt *row = weir__lite_use(sem->lite, which);

	if (row == NULL)
		return NULL;
	sqlite3_bind_int64(row, 1, sem->id);
	sqlite3_bind_int64(row, 2, key);
	return only_claim(sem, row);
}

static struct weir__claim *plain(struct weir__lite_claim *claim)
{
	return claim != NULL ? &claim->claim : NULL;
}

struct weir__lite_claim *weir__lite_claim(struct weir__lite_sem *sem, const uint8_t *token)
{
	struct weir__lite_claim *claim = find(sem, WEIR__SQL_CLAIM, id_of(token));

	return claim != NULL && memcmp(claim->claim.token, token, WEIR_TOKEN_SIZE) == 0 ? claim :
											  NULL;
}

struct weir__lite_claim *weir__lite_claim_before(struct weir__lite_sem *sem, uint64_t ticket)
{
	return find(sem, WEIR__SQL_QUEUE_BEFORE, (int64_t)ticket);
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

/* ---- the book -------------------------------------------------------------------------------- */

static struct weir__claim *by_token(struct weir__rec *rec, const uint8_t *token)
{
	return plain(weir__lite_claim(sem_of(rec), token));
}

static struct weir__claim *by_request(struct weir__rec *rec, const char *request_id)
{
	struct weir__lite_sem *sem = sem_of(rec);
	sqlite3_stmt *row = sem->lite->private_id ? NULL :
						    weir__lite_use(sem->lite, WEIR__SQL_BY_REQUEST);

	if (row == NULL)
		return NULL;
	sqlite3_bind_int64(row, 1, sem->id);
	sqlite3_bind_text(row, 2, request_id, -1, SQLITE_STATIC);
	return plain(only_claim(sem, row));
}

/* Only called to see whether something is due, so nothing need be read before that time. */
static struct weir__lite_claim *first_due(struct weir__lite_sem *sem, enum weir__claim_state state,
					  weir_time *next)
{
	struct weir__lite_claim *claim;

	if (sem->lite->now < *next)
		return NULL;
	claim = find(sem, WEIR__SQL_FIRST_DUE, state);
	*next = claim != NULL ? claim->stored_due : WEIR_NEVER;
	return claim;
}

static void write_due(struct weir__lite_sem *sem, struct weir__lite_claim *claim, weir_time due);

/* A lease that somebody's descriptors keep does not expire before its hard end. */
static struct weir__claim *first_to_expire(struct weir__rec *rec)
{
	struct weir__lite_sem *sem = sem_of(rec);
	struct weir__lite *lite = sem->lite;

	while (true) {
		struct weir__lite_claim *claim = first_due(sem, WEIR__HOLDING, &sem->next_expiry);
		weir_time until;

		if (claim == NULL || claim->claim.expires > lite->now ||
		    claim->claim.hard_end <= lite->now ||
		    !weir__lite_is_bound(lite, claim->claim.token, NULL))
			return plain(claim);
		until = weir__time_add(lite->now, claim->claim.ttl);
		if (until > claim->claim.hard_end)
			until = claim->claim.hard_end;
		write_due(sem, claim, until);
	}
}

static struct weir__claim *first_to_fall_silent(struct weir__rec *rec)
{
	struct weir__lite_sem *sem = sem_of(rec);

	return plain(first_due(sem, WEIR__WAITING, &sem->next_silence));
}

static struct weir__claim *head(struct weir__rec *rec)
{
	struct weir__lite_sem *sem = sem_of(rec);
	sqlite3_stmt *row = weir__lite_use(sem->lite, WEIR__SQL_QUEUE_HEAD);

	if (row == NULL)
		return NULL;
	sqlite3_bind_int64(row, 1, sem->id);
	return plain(only_claim(sem, row));
}

static struct weir__claim *after(struct weir__rec *rec, struct weir__claim *waiting)
{
	return plain(find(sem_of(rec), WEIR__SQL_QUEUE_AFTER, (int64_t)waiting->ticket));
}

static void lower(weir_time *time, weir_time other)
{
	if (other < *time)
		*time = other;
}

static void write_due(struct weir__lite_sem *sem, struct weir__lite_claim *claim, weir_time due)
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

static void insert(struct weir__lite_sem *sem, struct weir__lite_claim *claim, weir_time due)
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

static void grant(struct weir__lite_sem *sem, struct weir__lite_claim *claim)
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

void weir__lite_claim_own(struct weir__lite_sem *sem, struct weir__lite_claim *claim)
{
	sqlite3_stmt *statement = weir__lite_use(sem->lite, WEIR__SQL_OWN);

	claim->who = sem->lite->self;
	sqlite3_bind_int64(statement, 1, claim->id);
	bind_who(statement, 2, &claim->who);
	weir__lite_run(sem->lite, statement);
}

/* Whoever was queued behind one that leaves has another before it now, and must watch that one; the
 * new head must watch the holders. */
static void left_queue(struct weir__lite_sem *sem, struct weir__lite_claim *claim)
{
	struct weir__lite_claim *next;

	if (sem->rec.waiting == 0)
		return;
	if (claim->claim.state == WEIR__HOLDING) { /* granted, so it was the head */
		sem->head_left = true;
		return;
	}
	next = find(sem, WEIR__SQL_QUEUE_AFTER, (int64_t)claim->claim.ticket);
	if (next != NULL)
		weir__lite_tell(
			sem->lite, &next->who,
			&(struct weir__news){ .kind = WEIR__NEWS_LOOK, .semaphore = sem->id });
}

static void changed(struct weir__rec *rec, struct weir__claim *plain_claim,
		    enum weir__claim_state before)
{
	struct weir__lite_sem *sem = sem_of(rec);
	struct weir__lite_claim *claim = weir__lite_claim_of(plain_claim);
	bool holds = plain_claim->state == WEIR__HOLDING;
	weir_time due = holds ? plain_claim->expires : plain_claim->silent;
	weir_time kept = holds ? 0 : weir__lite_silence(sem->lite) / 4;

	if (plain_claim->state == WEIR__GONE) {
		sqlite3_stmt *statement = weir__lite_use(sem->lite, WEIR__SQL_DELETE);

		sqlite3_bind_int64(statement, 1, claim->id);
		weir__lite_run(sem->lite, statement);
	} else {
		lower(holds ? &sem->next_expiry : &sem->next_silence, due);
		if (before == WEIR__NEW)
			insert(sem, claim, due);
		else if (before != plain_claim->state)
			grant(sem, claim);
		else if (due - claim->stored_due > kept) /* silence is measured roughly */
			write_due(sem, claim, due);
	}
	if (before == WEIR__WAITING && plain_claim->state != WEIR__WAITING)
		left_queue(sem, claim);
}

static void tell(struct weir__rec *rec, struct weir__claim *plain_claim, enum weir__event event)
{
	struct weir__lite_sem *sem = sem_of(rec);
	struct weir__lite_claim *claim = weir__lite_claim_of(plain_claim);
	struct weir__news news = {
		.kind = event == WEIR__GRANTED                           ? WEIR__NEWS_GRANTED :
			event == WEIR__EXPIRED || event == WEIR__EVICTED ? WEIR__NEWS_LOST :
									   WEIR__NEWS_LOOK,
		.slot = plain_claim->slot,
		.semaphore = sem->id,
		.fence = plain_claim->fence,
		.since = plain_claim->since,
		.expires = plain_claim->expires,
		.hard_end = plain_claim->hard_end,
		.ttl = plain_claim->ttl,
		.weight = plain_claim->weight,
	};

	memcpy(news.token, plain_claim->token, WEIR_TOKEN_SIZE);
	weir__lite_tell(sem->lite, &claim->who, &news);
}

static void waited(struct weir__rec *rec, weir_time wait)
{
	struct weir__lite_sem *sem = sem_of(rec);

	weir__lite_sem_waits(sem);
	if (sem->waits != NULL) {
		weir__waits_add(sem->waits, wait);
		sem->waits_changed = true;
	}
}

const struct weir__book weir__lite_book = {
	.by_token = by_token,
	.by_request = by_request,
	.first_to_expire = first_to_expire,
	.first_to_fall_silent = first_to_fall_silent,
	.head = head,
	.after = after,
	.changed = changed,
	.tell = tell,
	.waited = waited,
};

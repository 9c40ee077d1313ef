/* store/sqlite: the record of a semaphore, as the rule book sees it. */
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "store/sqlite/lite.h"

static struct weir__lite_sem *sem_of(struct weir__rec *rec)
{
	return (struct weir__lite_sem *)(void *)rec;
}

static struct weir__claim *plain(struct weir__lite_claim *claim)
{
	return claim != NULL ? &claim->claim : NULL;
}

/* For a release the rules ask once, and end what they are given. */
static struct weir__claim *by_token(struct weir__rec *rec, const uint8_t *token)
{
	struct weir__lite_sem *sem = sem_of(rec);
	const struct weir__op *ending = sem->lite->ending;
	struct weir__lite_claim *claim = NULL;

	if (ending != NULL && ending->slot_hint != 0)
		claim = weir__lite_claim_take(sem, ending);
	return plain(claim != NULL ? claim : weir__lite_claim(sem, token));
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
	return plain(weir__lite_claim_only(sem, row));
}

/* Only called to see whether something is due, so nothing need be read before that time. */
static struct weir__lite_claim *first_due(struct weir__lite_sem *sem, enum weir__claim_state state,
					  weir_time *next)
{
	struct weir__lite_claim *claim;

	if (sem->lite->now < *next)
		return NULL;
	claim = weir__lite_claim_find(sem, WEIR__SQL_FIRST_DUE, state);
	*next = claim != NULL ? claim->stored_due : WEIR_NEVER;
	return claim;
}

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
		weir__lite_claim_due(sem, claim, until);
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
	return plain(weir__lite_claim_only(sem, row));
}

static struct weir__claim *after(struct weir__rec *rec, struct weir__claim *waiting)
{
	return plain(weir__lite_claim_find(sem_of(rec), WEIR__SQL_QUEUE_AFTER,
					   (int64_t)waiting->ticket));
}

static void lower(weir_time *time, weir_time other)
{
	if (other < *time)
		*time = other;
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
	next = weir__lite_claim_find(sem, WEIR__SQL_QUEUE_AFTER, (int64_t)claim->claim.ticket);
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
		if (!claim->taken)
			weir__lite_claim_delete(sem, claim);
	} else {
		lower(holds ? &sem->next_expiry : &sem->next_silence, due);
		if (before == WEIR__NEW)
			weir__lite_claim_insert(sem, claim, due);
		else if (before != plain_claim->state)
			weir__lite_claim_grant(sem, claim);
		else if (due - claim->stored_due > kept) /* silence is measured roughly */
			weir__lite_claim_due(sem, claim, due);
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

/* store/sqlite: records: the head of a semaphore and its claims, for the time of a transaction.
 *
 * In head.c, claim.c and book.c. */
#ifndef WEIR_STORE_SQLITE_RECORDS_H
#define WEIR_STORE_SQLITE_RECORDS_H

#include "store/sqlite/file.h"

struct weir__lite_sem {
	struct weir__rec rec; /* first: the book gets its address */
	struct weir__lite *lite;
	struct weir__lite_sem *next;
	int64_t id;
	char name[WEIR_NAME_MAX + 1];
	weir_time next_expiry;
	weir_time next_silence;
	struct weir__waits *waits; /* when they were needed */
	bool waits_changed;
	bool head_left; /* somebody else is the head of the queue now */
	/* As they are in the file; slots change only together with one of these. */
	struct weir__rec stored;
	weir_time stored_expiry;
	weir_time stored_silence;
};

struct weir__lite_claim {
	struct weir__claim claim; /* first */
	int64_t id;
	struct weir__who who;
	bool detached;
	bool shared;
	bool taken; /* it is in the file no more, and not all of it is known */
	weir_time stored_due;
};

/* NULL: there is none, or the transaction has failed. */
struct weir__lite_sem *weir__lite_sem_find(struct weir__lite *lite, const char *name);
struct weir__lite_sem *weir__lite_sem_by_id(struct weir__lite *lite, int64_t id);
struct weir__lite_sem *weir__lite_sem_new(struct weir__lite *lite, const char *name,
					  uint32_t limit);
/* The result of WEIR__SQL_HEADS. */
struct weir__lite_sem *weir__lite_sem_read(struct weir__lite *lite, sqlite3_stmt *row);
void weir__lite_sem_waits(struct weir__lite_sem *sem);
void weir__lite_sems_save(struct weir__lite *lite);
void weir__lite_sems_free(struct weir__lite *lite);
void weir__lite_sems_keep(struct weir__lite *lite);
struct weir__lite_claim *weir__lite_claim(struct weir__lite_sem *sem, const uint8_t *token);
/* The claim that is queued before this ticket. */
struct weir__lite_claim *weir__lite_claim_before(struct weir__lite_sem *sem, uint64_t ticket);
/* The claims of a semaphore in one state, in the order in which they are due, up to *count; sets
 * *count. */
struct weir__lite_claim **weir__lite_claims(struct weir__lite_sem *sem,
					    enum weir__claim_state state, size_t *count);
/* The row that a statement finds, which has a semaphore and a key to bind; or all of them bound. */
struct weir__lite_claim *weir__lite_claim_find(struct weir__lite_sem *sem,
					       enum weir__statement which, int64_t key);
struct weir__lite_claim *weir__lite_claim_only(struct weir__lite_sem *sem, sqlite3_stmt *row);
/* Write down what the claim is now. */
void weir__lite_claim_insert(struct weir__lite_sem *sem, struct weir__lite_claim *claim,
			     weir_time due);
void weir__lite_claim_grant(struct weir__lite_sem *sem, struct weir__lite_claim *claim);
void weir__lite_claim_due(struct weir__lite_sem *sem, struct weir__lite_claim *claim,
			  weir_time due);
void weir__lite_claim_delete(struct weir__lite_sem *sem, const struct weir__lite_claim *claim);
/* Takes the lease that is to end out of the file without reading it, if it is there and is as the
 * asker knows it; NULL: it is not. */
struct weir__lite_claim *weir__lite_claim_take(struct weir__lite_sem *sem,
					       const struct weir__op *release);
/* This agent has been told of a claim that another one, perhaps, had asked for. */
void weir__lite_take_over(struct weir__lite_sem *sem, struct weir__lite_claim *claim);
extern const struct weir__book weir__lite_book;

static inline struct weir__lite_claim *weir__lite_claim_of(struct weir__claim *claim)
{
	return (struct weir__lite_claim *)(void *)claim;
}

#endif

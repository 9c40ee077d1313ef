/* store/sqlite: the requests that wait here, and what is watched for them.
 *
 * In view.c and wait.c. */
#ifndef WEIR_STORE_SQLITE_WAITING_H
#define WEIR_STORE_SQLITE_WAITING_H

#include "store/sqlite/records.h"

/* A semaphore for which requests of this store wait. */
struct weir__view {
	struct weir__view *next; /* of its bucket */
	struct weir__heap_node due;
	int64_t semaphore;
	struct weir__waiter *waiters;
	bool is_due;
	weir_time polls_at; /* when all of them ask next, and 0: as soon as it is looked after */
	uint32_t users;     /* waiters, the new ones included */
	struct weir__view *left_next;
	bool is_left; /* is among those that were left */
	uint32_t n_watched;
	struct weir__watched **watched;
};

struct weir__waiter {
	struct weir__waiter *next; /* of its view; before that, of those that are new */
	struct weir__waiter **link;
	struct weir__view *view;
	uint64_t ticket;
	struct weir__op *op;
	uint8_t token[WEIR_TOKEN_SIZE]; /* the claim's: maybe one that was there before */
	struct weir__waiter *leaving;   /* of those that end with this transaction */
	bool over;
	int result;
};

/* Gave up while the file could not be written; to be taken out of it later. */
struct weir__abandoned {
	struct weir__abandoned *next;
	int64_t semaphore;
	uint8_t token[WEIR_TOKEN_SIZE];
};

/* Somebody's life, watched: a process, or the descriptors that keep a bound lease. */
struct weir__watched {
	struct weir__watch watch; /* first */
	struct weir__lite *lite;
	struct weir__watched *next;
	uint32_t views;
	int64_t pid, start;             /* of a process; or */
	uint8_t token[WEIR_TOKEN_SIZE]; /* of a lease, and pid is 0 */
};

#define WEIR__WATCHED_MAX 64U

struct weir__watches {
	uint32_t count;
	struct weir__watched *watched[WEIR__WATCHED_MAX];
};

/* ---- view.c ---------------------------------------------------------------------------------- */

/* NULL: there is none; no memory. */
struct weir__view *weir__lite_view(struct weir__lite *lite, int64_t semaphore);
struct weir__view *weir__lite_view_new(struct weir__lite *lite, int64_t semaphore);
/* Nobody waits there any more. It is closed later, for that takes longer than most else. */
void weir__lite_view_leave(struct weir__lite *lite, struct weir__view *view);
void weir__lite_views_close(struct weir__lite *lite);
/* Has the view looked after at this time, unless that is to be earlier. */
void weir__lite_look_at(struct weir__lite *lite, struct weir__view *view, weir_time time);
void weir__lite_look_soon(struct weir__lite *lite, int64_t semaphore);
void weir__lite_look_all(struct weir__lite *lite);
void weir__lite_look_later(struct weir__lite *lite);
void weir__lite_look_set(struct weir__lite *lite);
/* What is watched, and NULL: nothing. */
struct weir__watched *weir__lite_watched_process(struct weir__lite *lite,
						 const struct weir__who *who);
struct weir__watched *weir__lite_watched_lease(struct weir__lite *lite, const uint8_t *token);
void weir__lite_watch_add(struct weir__view *view, struct weir__watched *watched);
/* Takes the descriptor. One of `who` and `token` is not NULL. */
void weir__lite_watch_new(struct weir__lite *lite, struct weir__view *view,
			  const struct weir__who *who, const uint8_t *token, int fd);
/* Takes the watches off the view; what is watched again meanwhile stays open. */
struct weir__watches weir__lite_watches_take(struct weir__view *view);
void weir__lite_watches_end(struct weir__lite *lite, const struct weir__watches *watches);
void weir__lite_unwatched_free(struct weir__lite *lite);

/* ---- wait.c ---------------------------------------------------------------------------------- */

struct weir__waiter *weir__lite_wait(struct weir__lite *lite, struct weir__lite_sem *sem,
				     struct weir__op *op, const struct weir__claim *claim);
/* The new ones are in their views from here on. */
void weir__lite_waits_begin(struct weir__lite *lite);
void weir__lite_waits_undo(struct weir__lite *lite);
/* Ends a wait when the transaction is committed; the first end counts. */
void weir__lite_leave(struct weir__lite *lite, struct weir__waiter *waiter, int result);
void weir__lite_waits_answer(struct weir__lite *lite);
struct weir__waiter *weir__lite_waiter(struct weir__lite *lite, int64_t semaphore,
				       const uint8_t *token);
void weir__lite_withdraw(struct weir__lite *lite, struct weir__op *op);
void weir__lite_waits_each(struct weir__lite *lite,
			   void (*call)(struct weir__lite *lite, struct weir__waiter *waiter));
/* The file cannot be written: the wait ends as it is, and is taken out of the file later. */
void weir__lite_abandon(struct weir__lite *lite, struct weir__op *op);
void weir__lite_abandoned_end(struct weir__lite *lite);
void weir__lite_abandoned_free(struct weir__lite *lite);

#endif

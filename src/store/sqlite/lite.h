/* store/sqlite: the engine, and what its files share.
 *
 * One file of this machine, and one agent in each process that has it open. Only who has the
 * agent's role uses the connection, after open and until close.
 *
 *     engine.c   the table of functions
 *     serve.c    a batch of operations, in one transaction, and what comes of it
 *     look.c     looking after those who wait: is somebody granted, has somebody died
 *     verb.c     what each operation does
 *     bury.c     ending what the dead have left
 *     sweep.c    removing the files that the dead have left
 *     message.c  telling other agents
 *     wait.c     the requests that wait here
 *     view.c     for which semaphores they do, when to look after those, and who is watched
 *     schema.c   creating and migrating the file, and what a new boot means
 *     book.c     a record as the rule book sees it: struct weir__book
 *     live.c     whether a process lives
 *     turn.c     the beginning and the end of a transaction
 *     head.c     the heads of records; claim.c: their claims
 *     step.c     statements, memory, the log
 *     file.c     where the file is, who may use it, and what is refused
 *     lock.c     the lock around each transaction
 *     error.c    sentences
 *
 * A transaction gathers what is to be told in `news` and what is to be answered in the operations
 * themselves. Nothing leaves before it has been committed.
 *
 * Structures and functions are declared by subject: who.h, news.h, file.h, records.h, waiting.h;
 * and here, the state that holds them together, and what is done with it.
 */
#ifndef WEIR_STORE_SQLITE_LITE_H
#define WEIR_STORE_SQLITE_LITE_H

#include <sys/types.h>

#include "store/sqlite/waiting.h"

#define WEIR__VIEW_BUCKETS 64U
#define WEIR__REFUSED_MAX 16U

struct weir__block;

struct weir__lite {
	struct weir_store *store;
	const struct weir__book *book;
	struct weir__who self;
	bool served;           /* something was asked; by any thread */
	bool closing;          /* nothing more will be */
	weir_time boot_offset; /* of this time namespace's CLOCK_BOOTTIME */

	/* file.c */
	char *path;
	int dir; /* of the directory with lock, sockets and FIFOs */
	struct weir__private lock;
	dev_t dev;
	ino_t ino;
	sqlite3 *db;
	sqlite3_stmt *statements[WEIR__N_SQL];

	/* The transaction. */
	int failed;               /* the first SQLite result that was wrong; SQLITE_OK */
	bool gone;                /* the file is not the one that was opened */
	int broken;               /* with which result it was seen to be beyond repair */
	weir_time reserved_until; /* until when the reserve is taken to be there */
	bool full;                /* only what needs no more space is done */
	bool must_sync;           /* before anybody else may go on */
	bool sync_later;          /* before it is answered */
	bool private_id; /* the request id was drawn for this request: nobody can have used it */
	const struct weir__op *ending; /* the release that is under way */
	uint64_t epoch;
	weir_time now;  /* on the clock of the file */
	weir_time sent; /* the same, as this process sees it */
	struct weir__lite_sem *sems;
	bool is_kept;
	unsigned int kept_version;
	struct weir__lite_sem kept; /* from one transaction to the next */
	struct weir__waits kept_waits;
	struct weir__tiding *tidings;
	struct weir__tiding **last_tiding;
	struct weir__waiter *fresh;
	struct weir__waiter *leaving;
	struct weir__block *blocks;
	int frames; /* in the log, when it was last written here */
	struct weir__timer tidy_timer;

	/* wait.c */
	struct weir__view *views[WEIR__VIEW_BUCKETS];
	struct weir__view *left; /* to be closed, unless somebody waits there again */
	struct weir__heap looks;
	struct weir__timer look_timer;
	struct weir__watched *watched;
	struct weir__watched *unwatched; /* to be freed when the agent is out of its functions */
	weir_time timer_at;              /* what the timer is set to */
	struct weir__abandoned *abandoned;
	struct weir__tiding refused[WEIR__REFUSED_MAX];
	uint32_t n_refused;

	/* message.c */
	struct weir__watch inbox;
	struct weir__private inbox_fd;

	/* live.c: bound leases, under the lock, for they are bound in the asker's thread. */
	struct weir__lock bound_lock;
	struct weir__bound *bound;
};

static inline weir_time weir__lite_silence(const struct weir__lite *lite)
{
	return 10 * lite->store->bounds.heartbeat;
}

/* A little before the look that comes with the next heartbeat. */
static inline weir_time weir__lite_next_poll(const struct weir__lite *lite)
{
	weir_time heartbeat = lite->store->bounds.heartbeat;

	return lite->now + heartbeat - heartbeat / 8;
}

/* ---- bury.c ---------------------------------------------------------------------------------- */

/* Whether this claim's process lives; UNKNOWN when that is not what keeps the claim. What may end
 * is watched by the view, if there is one. */
enum weir__life weir__lite_claim_life(struct weir__lite *lite, struct weir__view *view,
				      const struct weir__lite_claim *claim);
void weir__lite_bury(struct weir__lite_sem *sem, const uint8_t *token);
/* Ends the claims in this state whose processes are dead. Returns whether there was one. */
bool weir__lite_bury_dead(struct weir__lite_sem *sem, enum weir__claim_state state,
			  struct weir__view *view);
/* Ends what those have who did not listen, if they are dead. */
void weir__lite_bury_refused(struct weir__lite *lite);

/* ---- verb.c ---------------------------------------------------------------------------------- */

/* Does one operation inside a transaction. Sets op->result and all that belongs to it; with
 * op->keeper set it waits. */
void weir__lite_do(struct weir__lite *lite, struct weir__op *op);
/* Asks for the request of a waiter, for the first time or again after its claim was dropped. 0 it
 * holds, 1 it waits, or an error. */
int weir__lite_request(struct weir__lite *lite, struct weir__lite_sem *sem, struct weir__op *op,
		       struct weir__lite_claim **ret_claim);

/* ---- look.c ---------------------------------------------------------------------------------- */

/* Looks after the views that are due, inside a transaction. */
void weir__lite_look_due(struct weir__lite *lite);

/* ---- serve.c --------------------------------------------------------------------------------- */

void weir__lite_serve(void *self, struct weir__op *operations, struct weir__op *withdrawn);
/* The timers' functions. */
void weir__lite_look(struct weir__timer *timer);
void weir__lite_tidy(struct weir__timer *timer);

#endif

/* store/sqlite: what the files of the engine share.
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
 */
#ifndef WEIR_STORE_SQLITE_LITE_H
#define WEIR_STORE_SQLITE_LITE_H

#include <sqlite3.h>
#include <sys/types.h>

#include "lease/store.h"

/* ---- who ------------------------------------------------------------------------------------- */

/* An agent, and the process it is of. */
struct weir__who {
	int64_t pid;
	int64_t start; /* /proc/PID/stat, so that a pid that was given again is another one */
	int64_t space; /* of which namespaces pid and start are */
	int64_t agent; /* random; names its socket */
};

enum weir__life {
	WEIR__ALIVE,
	WEIR__DEAD,
	WEIR__UNKNOWN, /* it cannot be seen from here: its TTL decides */
};

/* A descriptor that children of a fork must not keep. */
struct weir__private {
	struct weir__private *next;
	int fd; /* -1: none */
};

/* ---- records --------------------------------------------------------------------------------- */

struct weir__lite;

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

/* ---- news ------------------------------------------------------------------------------------ */

enum weir__news_kind {
	WEIR__NEWS_GRANTED = 1,
	WEIR__NEWS_LOST, /* a lease ended without its holder */
	WEIR__NEWS_LOOK, /* look after what waits in this semaphore */
};

/* One thing to tell an agent: as it goes through a socket. */
struct weir__news {
	uint32_t kind;
	uint32_t slot;
	int64_t semaphore;
	uint8_t token[WEIR_TOKEN_SIZE];
	uint64_t fence;
	weir_time since;
	weir_time expires;
	weir_time hard_end;
	weir_time ttl;
	uint32_t weight;
	uint32_t unused;
};

/* One in the transaction's list. */
struct weir__tiding {
	struct weir__tiding *next;
	struct weir__who who;
	struct weir__news news;
};

/* ---- waiting --------------------------------------------------------------------------------- */

/* A semaphore for which requests of this store wait. */
struct weir__view {
	struct weir__view *next; /* of its bucket */
	struct weir__heap_node due;
	int64_t semaphore;
	struct weir__waiter *waiters;
	bool is_due;
	weir_time polled; /* when all of them last asked */
	uint32_t users;   /* waiters, the new ones included */
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

/* ---- the engine's state ---------------------------------------------------------------------- */

enum weir__statement {
	WEIR__SQL_BEGIN,
	WEIR__SQL_COMMIT,
	WEIR__SQL_ROLLBACK,
	WEIR__SQL_STORE,
	WEIR__SQL_EPOCH,
	WEIR__SQL_HEAD_BY_NAME,
	WEIR__SQL_HEAD_BY_ID,
	WEIR__SQL_HEAD_NEW,
	WEIR__SQL_HEAD_SAVE,
	WEIR__SQL_HEADS,
	WEIR__SQL_HEADS_IN_USE,
	WEIR__SQL_WAITS,
	WEIR__SQL_CLAIM,
	WEIR__SQL_BY_REQUEST,
	WEIR__SQL_FIRST_DUE,
	WEIR__SQL_QUEUE_HEAD,
	WEIR__SQL_QUEUE_AFTER,
	WEIR__SQL_QUEUE_BEFORE,
	WEIR__SQL_ALL,
	WEIR__SQL_INSERT,
	WEIR__SQL_GRANT,
	WEIR__SQL_DUE,
	WEIR__SQL_OWN,
	WEIR__SQL_DELETE,
	WEIR__SQL_TAKE,
	WEIR__N_SQL,
};

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

/* ---- file.c ---------------------------------------------------------------------------------- */

/* Finds or creates the file and its directory, checks both, and opens the connection, with the lock
 * held afterwards. 0 or an error with its sentence. */
int weir__lite_file_open(struct weir__lite *lite, const char *path, char **ret_error);
void weir__lite_file_close(struct weir__lite *lite);
/* Whether the file is still the one that was opened. */
bool weir__lite_file_is_there(const struct weir__lite *lite);
/* Space that is given up when the disk is full, so that leases can be given back (CHECKLIST 75).
 * Makes sure of it; or gives it up. */
bool weir__lite_reserve(struct weir__lite *lite);
void weir__lite_reserve_use(struct weir__lite *lite);

/* ---- schema.c -------------------------------------------------------------------------------- */

/* With the lock held: creates or migrates the tables, and makes the file one of this boot. 0 or an
 * error with its sentence. */
int weir__lite_schema(struct weir__lite *lite, char **ret_error);

/* ---- lock.c ---------------------------------------------------------------------------------- */

/* Opens a file of ours beside the database, made if it is not there: a descriptor, or -1 and errno
 * says why. */
int weir__lite_own_file(int dir, const char *name);
/* 0 or a negative errno. Closed as any that is private. */
int weir__lite_lock_open(struct weir__private *lock, int dir);
/* Whoever has the lock is also inside. */
void weir__lite_lock(int fd);
void weir__lite_unlock(int fd);
/* Around what is done to SQLite without the lock: no fork comes between. */
void weir__lite_enter(void);
void weir__lite_exit(void);
/* Has a descriptor closed in children that a fork makes; closes it here, if there is one. */
void weir__lite_private(struct weir__private *private, int fd);
void weir__lite_private_close(struct weir__private *private);

/* ---- step.c ---------------------------------------------------------------------------------- */

/* A statement, to be bound. NULL when the transaction has failed; the functions for it take that.
 */
sqlite3_stmt *weir__lite_use(struct weir__lite *lite, enum weir__statement which);
/* Whether there is a row. The statement is reset when there is none. */
bool weir__lite_row(struct weir__lite *lite, sqlite3_stmt *statement);
/* Runs one that has no rows. */
void weir__lite_run(struct weir__lite *lite, sqlite3_stmt *statement);
void weir__lite_fail(struct weir__lite *lite, int result);
/* Runs one that has no rows and is no part of what fails together. 0 or SQLite's result. */
int weir__lite_plain(struct weir__lite *lite, enum weir__statement which);
weir_time weir__lite_clock(const struct weir__lite *lite);
/* Memory until the end of the transaction; NULL and failed when there is none. */
void *weir__lite_memory(struct weir__lite *lite, size_t size);
/* To be told when the transaction is committed. */
void weir__lite_tell(struct weir__lite *lite, const struct weir__who *who,
		     const struct weir__news *news);
/* Drops what was to be told, and the memory. */
void weir__lite_forget(struct weir__lite *lite);
/* What has been committed survives a loss of power from here on. */
void weir__lite_sync(struct weir__lite *lite);
/* Moves the log into the file when it has become long. */
void weir__lite_checkpoint(struct weir__lite *lite, int frames);
/* When nothing else follows: leaves a short log to the next one. */
void weir__lite_cut(struct weir__lite *lite, int frames);

/* ---- turn.c ---------------------------------------------------------------------------------- */

/* Begins, with both clocks read. 0 or SQLite's result, and then nothing has begun. */
int weir__lite_begin(struct weir__lite *lite);
/* Ends it, either way. 0: committed. Else SQLite's result: all of it was undone. Records are gone
 * either way; tidings stay until weir__lite_forget. */
int weir__lite_end(struct weir__lite *lite);

/* ---- head.c, claim.c, book.c
 * -------------------------------------------------------------------------- */

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

/* ---- live.c ---------------------------------------------------------------------------------- */

struct sockaddr_un;

int weir__lite_self(struct weir__lite *lite, char **ret_error);
/* Whether the process lives. With ret_fd: if it does, a descriptor that becomes readable when it
 * ends, or -1. */
enum weir__life weir__lite_life(const struct weir__lite *lite, const struct weir__who *who,
				int *ret_fd);
/* The socket of an agent, and whether somebody listens there. */
void weir__lite_socket_name(char name[20], int64_t agent);
void weir__lite_address(const struct weir__lite *lite, int64_t agent, struct sockaddr_un *address);
/* The same, found faster, for what may go astray. */
void weir__lite_mail_address(const struct weir__lite *lite, int64_t agent,
			     struct sockaddr_un *address);
enum weir__life weir__lite_listens(const struct weir__lite *lite, int64_t agent);
/* Whether a lease is bound to descriptors that somebody has. With ret_fd: one that hangs up when
 * nobody has them any more, or -1. */
bool weir__lite_is_bound(const struct weir__lite *lite, const uint8_t *token, int *ret_fd);
int weir__lite_bind(struct weir_store *store, struct weir_lease *lease, char **ret_error);
/* The lease has ended. `ours`: it was given back here, so it is known whether it was bound. */
void weir__lite_unbind(struct weir__lite *lite, const uint8_t *token, bool ours);
void weir__lite_bound_free(struct weir__lite *lite);

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

/* ---- message.c ------------------------------------------------------------------------------- */

/* Opens the socket; without one, others are not heard of but by asking. */
void weir__lite_inbox_open(struct weir__lite *lite);
void weir__lite_inbox_close(struct weir__lite *lite);
/* Sends what the transaction had to tell to others. */
void weir__lite_send(struct weir__lite *lite);
void weir__lite_heard(struct weir__lite *lite, const struct weir__news *news);

/* ---- sweep.c --------------------------------------------------------------------------------- */

/* Both with the lock held. Removes the socket of an agent, if that is dead. */
void weir__lite_inbox_bury(struct weir__lite *lite, int64_t agent);
/* Looks at some of the sockets and FIFOs, and removes those that belong to nobody any more. Returns
 * at how many it has looked, which is bounded. */
uint32_t weir__lite_sweep(struct weir__lite *lite);

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

/* ---- error.c --------------------------------------------------------------------------------- */

/* A negative errno for SQLite's result, and the sentence, allocated. */
int weir__lite_error(const struct weir__lite *lite, int result, char **ret_error);

#endif

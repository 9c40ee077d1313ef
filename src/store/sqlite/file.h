/* store/sqlite: the file, the lock beside it, and transactions.
 *
 * In file.c, schema.c, lock.c, step.c, turn.c and error.c. */
#ifndef WEIR_STORE_SQLITE_FILE_H
#define WEIR_STORE_SQLITE_FILE_H

#include <sqlite3.h>

#include "store/sqlite/news.h"

/* A descriptor that children of a fork must not keep. */
struct weir__private {
	struct weir__private *next;
	int fd; /* -1: none */
};

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

/* ---- error.c --------------------------------------------------------------------------------- */

/* A negative errno for SQLite's result, and the sentence, allocated. */
int weir__lite_error(const struct weir__lite *lite, int result, char **ret_error);

#endif

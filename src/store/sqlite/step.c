/* store/sqlite: transactions and statements.
 *
 * FAILURE. The first wrong result is kept in lite->failed. From then on statements do nothing and
 * find nothing, so that the rules run to their end over an empty record, and all of it is rolled
 * back.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/boottime.h"
#include "store/sqlite/lite.h"

#define HEAD                                                                                      \
	"id, name, permits, held, holders, waiting, fence, ticket, at_once, after_wait, refused," \
	" expired, renewals_failed, next_expiry, next_silence, slots, waits"
#define CLAIM                                                                                     \
	"id, state, due, ticket, shared, request_id, owner, token, weight, ttl, max_hold, since," \
	" fence, slot, hard_end, detached, pid, start, space, agent"

static const char *const texts[WEIR__N_SQL] = {
	[WEIR__SQL_BEGIN] = "BEGIN IMMEDIATE",
	[WEIR__SQL_COMMIT] = "COMMIT",
	[WEIR__SQL_ROLLBACK] = "ROLLBACK",
	[WEIR__SQL_STORE] = "SELECT boot, epoch FROM store",
	[WEIR__SQL_EPOCH] = "UPDATE store SET epoch = max(epoch, ?1), boot = ifnull(?2, boot)",
	[WEIR__SQL_HEAD_BY_NAME] = "SELECT " HEAD " FROM semaphore WHERE name = ?1",
	[WEIR__SQL_HEAD_BY_ID] = "SELECT " HEAD " FROM semaphore WHERE id = ?1",
	[WEIR__SQL_HEAD_NEW] = "INSERT INTO semaphore VALUES (NULL, ?1, 0, 0, 0, 0, ?2, 0, 0, 0, 0,"
			       " 0, 0, 9223372036854775807, 9223372036854775807, 0, NULL)",
	[WEIR__SQL_HEAD_SAVE] = "UPDATE semaphore SET permits = ?2, held = ?3, holders = ?4,"
				" waiting = ?5, fence = ?6, ticket = ?7, at_once = ?8,"
				" after_wait = ?9, refused = ?10, expired = ?11,"
				" renewals_failed = ?12, next_expiry = ?13, next_silence = ?14,"
				" slots = ?15, waits = ifnull(?16, waits) WHERE id = ?1",
	[WEIR__SQL_HEADS] = "SELECT " HEAD " FROM semaphore",
	[WEIR__SQL_HEADS_IN_USE] = "SELECT " HEAD " FROM semaphore WHERE next_expiry <= ?1"
				   " OR next_silence <= ?1",
	[WEIR__SQL_WAITS] = "SELECT waits FROM semaphore WHERE id = ?1",
	[WEIR__SQL_CLAIM] = "SELECT " CLAIM " FROM claim WHERE id = ?2 AND semaphore = ?1",
	[WEIR__SQL_BY_REQUEST] = "SELECT " CLAIM " FROM claim WHERE semaphore = ?1"
				 " AND request_id = ?2 AND shared = 1",
	[WEIR__SQL_FIRST_DUE] = "SELECT " CLAIM " FROM claim WHERE semaphore = ?1 AND state = ?2"
				" ORDER BY due LIMIT 1",
	[WEIR__SQL_QUEUE_HEAD] = "SELECT " CLAIM " FROM claim WHERE semaphore = ?1"
				 " AND ticket IS NOT NULL ORDER BY ticket LIMIT 1",
	[WEIR__SQL_QUEUE_AFTER] = "SELECT " CLAIM " FROM claim WHERE semaphore = ?1"
				  " AND ticket > ?2 ORDER BY ticket LIMIT 1",
	[WEIR__SQL_QUEUE_BEFORE] = "SELECT " CLAIM " FROM claim WHERE semaphore = ?1"
				   " AND ticket < ?2 ORDER BY ticket DESC LIMIT 1",
	[WEIR__SQL_ALL] = "SELECT " CLAIM " FROM claim WHERE semaphore = ?1 AND state = ?2"
			  " ORDER BY due LIMIT ?3",
	[WEIR__SQL_INSERT] = "INSERT INTO claim (semaphore, " CLAIM ") VALUES (?1, ?2, ?3, ?4, ?5,"
			     " ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,"
			     " ?20, ?21)",
	[WEIR__SQL_GRANT] = "UPDATE claim SET state = 2, due = ?2, ticket = NULL, since = ?3,"
			    " fence = ?4, slot = ?5, hard_end = ?6 WHERE id = ?1",
	[WEIR__SQL_DUE] = "UPDATE claim SET due = ?2 WHERE id = ?1",
	[WEIR__SQL_OWN] = "UPDATE claim SET pid = ?2, start = ?3, space = ?4, agent = ?5,"
			  " detached = ?6 WHERE id = ?1",
	[WEIR__SQL_DELETE] = "DELETE FROM claim WHERE id = ?1",
	[WEIR__SQL_TAKE] = "DELETE FROM claim WHERE id = ?1 AND semaphore = ?2 AND state = 2"
			   " AND slot = ?3 AND weight = ?4 AND token = ?5",
};

_Static_assert(WEIR__WAITING == 1 && WEIR__HOLDING == 2, "the statements and the file say so");

weir_time weir__lite_clock(const struct weir__lite *lite)
{
	return weir__boottime() - lite->boot_offset;
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum { BLOCK = 16 * 1024 };

struct weir__block {
	struct weir__block *next;
	size_t size;
	size_t used;
	_Alignas(16) char bytes[];
};

void *weir__lite_memory(struct weir__lite *lite, size_t size)
{
	struct weir__block *block = lite->blocks;

	size = (size + 15) & ~(size_t)15;
	if (block == NULL || block->size - block->used < size) {
		size_t room = size > BLOCK ? size : BLOCK;

		block = weir__alloc(sizeof(*block) + room);
		if (block == NULL) {
			weir__lite_fail(lite, SQLITE_NOMEM);
			return NULL;
		}
		block->size = room;
		block->next = lite->blocks;
		lite->blocks = block;
	}

	char *memory = block->bytes + block->used;

	block->used += size;
	memset(memory, 0, size);
	return memory;
}

/* Keeps one block for the next transaction. */
static void forget_memory(struct weir__lite *lite)
{
	while (lite->blocks != NULL && lite->blocks->next != NULL) {
		struct weir__block *block = lite->blocks;

		lite->blocks = block->next;
		weir__free(block);
	}
	if (lite->blocks != NULL)
		lite->blocks->used = 0;
}

/* ---- news ---- */

void weir__lite_tell(struct weir__lite *lite, const struct weir__who *who,
		     const struct weir__news *news)
{
	struct weir__tiding *tiding = weir__lite_memory(lite, sizeof(*tiding));

	if (tiding == NULL)
		return;
	tiding->who = *who;
	tiding->news = *news;
	*lite->last_tiding = tiding;
	lite->last_tiding = &tiding->next;
}

/* ---- statements ------------------------------------------------------------------------------ */

void weir__lite_fail(struct weir__lite *lite, int result)
{
	/* A text that cannot be had for want of memory looks like one that is not there. */
	if (result == SQLITE_CORRUPT && sqlite3_errcode(lite->db) == SQLITE_NOMEM)
		result = SQLITE_NOMEM;
	if (lite->failed == SQLITE_OK)
		lite->failed = result;
}

static int prepare(struct weir__lite *lite, enum weir__statement which)
{
	if (lite->statements[which] != NULL)
		return SQLITE_OK;
	return sqlite3_prepare_v3(lite->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
				  &lite->statements[which], NULL);
}

sqlite3_stmt *weir__lite_use(struct weir__lite *lite, enum weir__statement which)
{
	if (lite->failed == SQLITE_OK)
		weir__lite_fail(lite, prepare(lite, which));
	return lite->failed == SQLITE_OK ? lite->statements[which] : NULL;
}

bool weir__lite_row(struct weir__lite *lite, sqlite3_stmt *statement)
{
	int result;

	if (lite->failed != SQLITE_OK || statement == NULL)
		return false;
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		return true;
	(void)sqlite3_reset(statement);
	if (result != SQLITE_DONE)
		weir__lite_fail(lite, result);
	return false;
}

void weir__lite_run(struct weir__lite *lite, sqlite3_stmt *statement)
{
	if (weir__lite_row(lite, statement))
		(void)sqlite3_reset(statement);
}

/* Runs one that is not part of what may fail. */
int weir__lite_plain(struct weir__lite *lite, enum weir__statement which)
{
	int result = prepare(lite, which);

	if (result != SQLITE_OK)
		return result;
	result = sqlite3_step(lite->statements[which]);
	(void)sqlite3_reset(lite->statements[which]);
	return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* ---- the log --------------------------------------------------------------------------------- */

void weir__lite_forget(struct weir__lite *lite)
{
	lite->tidings = NULL;
	lite->last_tiding = &lite->tidings;
	forget_memory(lite);
}

void weir__lite_sync(struct weir__lite *lite)
{
	sqlite3_file *log = NULL;

	if (sqlite3_file_control(lite->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) ==
		    SQLITE_OK &&
	    log != NULL && log->pMethods != NULL)
		(void)log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
}

/* Copying goes on beside others' transactions. When they write faster than one can copy, the log
 * would grow for ever, so a very long one is copied while they wait (CHECKLIST 80). */
void weir__lite_checkpoint(struct weir__lite *lite, int frames)
{
	int in_log = 0;
	int copied = 0;

	if (lite->frames < frames || lite->gone)
		return;
	weir__lite_enter();
	(void)sqlite3_wal_checkpoint_v2(lite->db, "main", SQLITE_CHECKPOINT_PASSIVE, &in_log,
					&copied);
	weir__lite_exit();
	if (copied < in_log && lite->frames >= 8 * frames) {
		weir__lite_lock(lite->lock.fd);
		(void)sqlite3_wal_checkpoint_v2(lite->db, "main", SQLITE_CHECKPOINT_PASSIVE,
						&in_log, &copied);
		weir__lite_unlock(lite->lock.fd);
	}
	if (copied == in_log)
		lite->frames = 0;
}

/* Whoever opens the file when nobody else has it open reads the whole log through, copied or not,
 * and appends to it. So commands that come one after the other would make it longer for ever, if
 * the last one did not cut it off: that is done with the lock held, where nobody is in the midst of
 * a transaction. If somebody is copying just now, the next one will do it. */
void weir__lite_cut(struct weir__lite *lite, int frames)
{
	if (lite->frames < frames || lite->gone)
		return;
	weir__lite_lock(lite->lock.fd);
	if (sqlite3_wal_checkpoint_v2(lite->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
	    SQLITE_OK)
		lite->frames = 0;
	weir__lite_unlock(lite->lock.fd);
}

/* store/sqlite: the beginning and the end of a transaction. */
#include "base/boottime.h"
#include "store/sqlite/lite.h"

/* CHECKLIST 71: a transaction that begins by reading cannot always go on to write, so all of them
 * begin as writers. CHECKLIST 77: the file may have been taken away. */
int weir__lite_begin(struct weir__lite *lite)
{
	int result;

	weir__lite_lock(lite->lock.fd);
	if (!lite->gone && !weir__lite_file_is_there(lite))
		lite->gone = true;
	result = lite->gone ? SQLITE_CANTOPEN : weir__lite_plain(lite, WEIR__SQL_BEGIN);
	if (result != SQLITE_OK) {
		weir__lite_unlock(lite->lock.fd);
		return result;
	}
	/* L10: after the lock is held. */
	lite->sent = weir__boottime();
	lite->now = lite->sent - lite->boot_offset;
	lite->failed = SQLITE_OK;
	lite->must_sync = false;
	lite->last_tiding = &lite->tidings;
	return SQLITE_OK;
}

int weir__lite_end(struct weir__lite *lite)
{
	int result;

	weir__lite_sems_save(lite);
	result = lite->failed;
	if (result == SQLITE_OK)
		result = weir__lite_plain(lite, WEIR__SQL_COMMIT);
	if (result != SQLITE_OK && sqlite3_get_autocommit(lite->db) == 0)
		(void)weir__lite_plain(lite, WEIR__SQL_ROLLBACK);
	if (result == SQLITE_OK)
		weir__lite_sems_keep(lite);
	else
		lite->is_kept = false;
	weir__lite_sems_free(lite);
	if (result == SQLITE_OK && lite->must_sync)
		weir__lite_sync(lite);
	weir__lite_unlock(lite->lock.fd);
	lite->failed = SQLITE_OK;
	return result;
}

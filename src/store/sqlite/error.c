/* store/sqlite: what to say when SQLite says no. */
#include <errno.h>

#include "base/print.h"
#include "store/sqlite/lite.h"

struct saying {
	int result;
	int error;
	const char *text; /* of the path, and SQLite's words */
};

static const struct saying sayings[] = {
	{ SQLITE_NOMEM, -ENOMEM, NULL },
	{ SQLITE_FULL, -EHOSTUNREACH,
	  "the disk with %s is full, or a quota is used up (%s); leases can still be given back: "
	  "free some space there" },
	{ SQLITE_READONLY, -EHOSTUNREACH,
	  "%s cannot be written (%s): check the mode of the file and of its directory, and whether "
	  "the filesystem is mounted read-only" },
	{ SQLITE_PERM, -EHOSTUNREACH, "%s cannot be used (%s): check its owner and mode" },
	{ SQLITE_CANTOPEN, -EHOSTUNREACH,
	  "%s cannot be opened (%s): check that the file and its directory are there, are not "
	  "symbolic links and may be written" },
	{ SQLITE_CORRUPT, -EPROTO,
	  "%s is damaged (%s): move it away, with what begins with its name; a new one is made, "
	  "without the old limits" },
	{ SQLITE_NOTADB, -EPROTO,
	  "%s is not a database (%s): name another file, or move this one away" },
	{ SQLITE_ERROR, -EPROTO,
	  "%s does not have the tables it should have (%s): another version of weir has changed "
	  "it, or another program" },
	{ SQLITE_SCHEMA, -EPROTO, "%s has been changed by another version of weir (%s)" },
	{ SQLITE_BUSY, -EHOSTUNREACH,
	  "%s has been locked by another program for too long (%s): is somebody looking into it "
	  "with sqlite3? End that, and try again" },
	{ SQLITE_LOCKED, -EHOSTUNREACH, "%s has been locked by another program (%s)" },
	{ SQLITE_IOERR, -EHOSTUNREACH,
	  "%s cannot be read or written (%s): check the disk and the filesystem" },
	{ 0, -EHOSTUNREACH, "%s cannot be used (%s)" },
};

int weir__lite_error(const struct weir__lite *lite, int result, char **ret_error)
{
	const struct saying *saying = sayings;

	if (lite->gone) {
		*ret_error = weir__format_new(
			"%s was deleted or replaced while it was in use, so its leases are lost: "
			"close the store and open it again",
			lite->path);
		return -EHOSTUNREACH;
	}
	while (saying->result != 0 && saying->result != (result & 0xff))
		saying++;
	if (saying->text == NULL) {
		*ret_error = NULL;
		return saying->error;
	}
	/* The text is one of the table's. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	*ret_error = weir__format_new(saying->text, lite->path, sqlite3_errstr(result));
#pragma GCC diagnostic pop
	return saying->error;
}

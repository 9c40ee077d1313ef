/* store/sqlite: sockets and FIFOs that the dead have left in the directory.
 *
 * Whoever ends a dead claim removes the socket with it. An agent that died without a claim leaves
 * one that nobody comes across, so each open looks at a few files, from where the last one stopped.
 * It looks at more than one, so there are soon fewer of the dead than of the living; and at no more
 * than some, so that an open costs the same however many there are.
 *
 * Sockets and FIFOs are made with the lock held, so whoever has it sees none that is half made. A
 * FIFO without a writer keeps nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "store/sqlite/lite.h"

enum {
	LOOKS = 4,      /* files that a sweep looks at, and one more for each that it removes */
	LOOKS_MAX = 64, /* at most */
	LISTING = 4096, /* bytes: more than LOOKS_MAX entries of ours */
};

void weir__lite_inbox_bury(struct weir__lite *lite, int64_t agent)
{
	char name[20];

	if (weir__lite_listens(lite, agent) != WEIR__DEAD)
		return;
	weir__lite_socket_name(name, agent);
	(void)unlinkat(lite->dir, name, 0);
}

/* ---- one file -------------------------------------------------------------------------------- */

enum kind { OTHER, SOCKET, FIFO };

static enum kind kind_of(const char *name)
{
	size_t length = strlen(name);

	if (name[0] == 's' && length == 17)
		return SOCKET;
	return name[0] == 'f' && length == 1 + 2 * WEIR_TOKEN_SIZE ? FIFO : OTHER;
}

static bool is_left_over(struct weir__lite *lite, const char *name)
{
	uint8_t token[WEIR_TOKEN_SIZE];

	if (kind_of(name) == SOCKET)
		return weir__lite_listens(lite, (int64_t)strtoull(name + 1, NULL, 16)) ==
		       WEIR__DEAD;
	for (size_t i = 0; i < WEIR_TOKEN_SIZE; i++) {
		char digits[3] = { name[1 + 2 * i], name[2 + 2 * i], '\0' };

		token[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return !weir__lite_is_bound(lite, token, NULL);
}

/* ---- where the last one stopped -------------------------------------------------------------- */

/* A position in the directory, which is kept in the file of the lock: it need not survive anything,
 * and any number will do. */
static off_t read_place(const struct weir__lite *lite)
{
	int64_t place;

	return pread(lite->lock.fd, &place, sizeof(place), 0) == sizeof(place) && place > 0 ?
		       place :
		       0;
}

static void write_place(const struct weir__lite *lite, off_t place)
{
	int64_t number = place;

	/* On a full disk the next one begins where this one did. */
	if (pwrite(lite->lock.fd, &number, sizeof(number), 0) != sizeof(number))
		return;
}

/* ---- a sweep --------------------------------------------------------------------------------- */

struct sweep {
	struct weir__lite *lite;
	uint32_t looked;
	uint32_t removed;
	off_t place;
};

static bool is_enough(const struct sweep *sweep)
{
	return sweep->looked >= LOOKS_MAX || sweep->looked >= LOOKS + sweep->removed;
}

/* One piece of the directory, from sweep->place. Whether there was one. */
static bool look_through(struct sweep *sweep)
{
	_Alignas(struct dirent64) char listing[LISTING];
	int dir = sweep->lite->dir;
	ssize_t size = -1;

	if (lseek(dir, sweep->place, SEEK_SET) >= 0)
		size = getdents64(dir, listing, sizeof(listing));
	for (ssize_t at = 0; at < size && !is_enough(sweep);) {
		struct dirent64 *entry = (void *)(listing + at);

		at += entry->d_reclen;
		sweep->place = entry->d_off;
		if (kind_of(entry->d_name) == OTHER)
			continue;
		sweep->looked++;
		if (is_left_over(sweep->lite, entry->d_name) &&
		    unlinkat(dir, entry->d_name, 0) == 0)
			sweep->removed++;
	}
	return size > 0;
}

/* At the end of the directory it goes on from the beginning, once. */
uint32_t weir__lite_sweep(struct weir__lite *lite)
{
	off_t from = read_place(lite);
	struct sweep sweep = { .lite = lite, .place = from };

	if (!look_through(&sweep) || !is_enough(&sweep)) {
		sweep.place = 0;
		if (from != 0)
			(void)look_through(&sweep);
	}
	if (sweep.place != from)
		write_place(lite, sweep.place);
	return sweep.looked;
}

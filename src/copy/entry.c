/* copy: one entry that is no directory, or turns out to be one. */
#include "copy/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { TRIES = 40 };

/* Flags to open something that ought to be a regular file: should it be a fifo or a device by now,
 * opening neither waits nor does anything. */
static int open_source(struct file *file)
{
	struct engine *engine = file->worker->engine;
	uint64_t flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct entry *entry = file->entry;
	int fd = -EPERM;

	/* Reading is nobody's business, where we may keep it to ourselves. */
	if (!__atomic_load_n(&engine->no_noatime, __ATOMIC_RELAXED)) {
		fd = weir__io_open(file->worker->io, entry->dir->src, entry->name,
				   flags | O_NOATIME, STAY_BELOW, &file->cold);
		if (fd == -EPERM && engine->uid != 0)
			__atomic_store_n(&engine->no_noatime, 1, __ATOMIC_RELAXED);
	}
	if (fd == -EPERM)
		fd = weir__io_open(file->worker->io, entry->dir->src, entry->name, flags,
				   STAY_BELOW, &file->cold);
	return fd;
}

/* A descriptor to look at, whatever it is: *st is filled in. */
static int open_to_look(struct file *file)
{
	struct entry *entry = file->entry;
	int fd = weir__io_open(file->worker->io, entry->dir->src, entry->name,
			       O_PATH | O_NOFOLLOW | O_CLOEXEC,
			       RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, &file->cold);

	if (fd >= 0 && fstat(fd, &file->st) < 0) {
		(void)close(fd);
		return -EIO;
	}
	return fd;
}

/* With the directory pinned. 1: it is a directory. */
static int copy_by_type(struct file *file)
{
	struct entry *entry = file->entry;
	int result;

	for (int i = 0; i < TRIES; i++) {
		if (entry->type != DT_REG) {
			file->src = open_to_look(file);
			if (file->src < 0)
				return file->src;
			if (!S_ISREG(file->st.st_mode)) {
				result = S_ISDIR(file->st.st_mode) ? 1 : weir__special_copy(file);
				if (file->src >= 0)
					(void)close(file->src);
				return result;
			}
			(void)close(file->src);
		}
		file->src = open_source(file);
		if (file->cold)
			weir__begin_spare(file->worker->engine);
		if (file->src >= 0 && fstat(file->src, &file->st) == 0 &&
		    S_ISREG(file->st.st_mode)) {
			result = weir__file_copy(file);
			if (file->src >= 0)
				(void)close(file->src);
			return result;
		}
		if (file->src >= 0)
			(void)close(file->src);
		else if (file->src != -ELOOP && file->src != -ENXIO)
			return file->src;
		/* It is not what it was when its directory was read. */
		entry->type = DT_UNKNOWN;
	}
	return -EBUSY;
}

static int copy_once(void *arg)
{
	struct file *file = arg;
	struct engine *engine = file->worker->engine;
	struct dir *dir = file->entry->dir;
	int result;

	do {
		file->spent = false;
		weir__fds_take(engine, 4);
		result = weir__dir_pin(engine, dir);
		if (result == 0) {
			result = copy_by_type(file);
			weir__dir_unpin(engine, dir);
		}
		if (!file->spent)
			weir__fds_put(engine, 2);
	} while (result == 2);
	return result;
}

void weir__entry_copy(struct worker *worker, struct entry *entry)
{
	struct engine *engine = worker->engine;
	struct file file = { .worker = worker, .entry = entry, .src = -1, .dst = -1 };
	struct dir *dir = NULL;
	int result = -ECANCELED;

	if (!engine_cancelled(engine))
		result = weir__adapt(engine, copy_once, &file);
	(void)weir_sem_release(&engine->permits, 1);
	if (result == 1) {
		result = -EISDIR;
		if (engine_has(engine, WEIR_COPY_RECURSIVE))
			result = weir__enter(worker, entry->dir, entry->name, entry->dst_name,
					     &dir);
	}
	if (result < 0 && result != -ECANCELED)
		weir__tell_failed(engine, entry->dir, entry->name, result);
	if (dir)
		weir__walk(worker, dir);
	else
		weir__dir_done(worker, entry->dir);
	weir__batch_unref(entry->batch);
}

/* copy: a regular file, from its temporary beginning to its name (C3).
 *
 * The copy has no name until it is complete, where the file system can do that (O_TMPFILE): then
 * nothing is left behind, whenever we are killed. Elsewhere it has a temporary one. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPTS = 3 };

static mode_t final_mode(const struct file *file)
{
	const struct engine *engine = file->worker->engine;

	if (engine_has(engine, WEIR_COPY_MODES))
		return file->st.st_mode & 07777;
	return file->keep != NO_MODE ? file->keep : file->st.st_mode & 0777 & ~engine->umask;
}

/* With its final permissions at once, unless it has to change hands first. Its owner may write it
 * until then, or could not set its attributes. */
static mode_t first_mode(const struct file *file)
{
	const struct engine *engine = file->worker->engine;
	bool given = (engine_has(engine, WEIR_COPY_OWNER) && file->st.st_uid != engine->uid) ||
		     (engine_has(engine, WEIR_COPY_GROUP) && file->st.st_gid != engine->gid);

	return given ? 0600 : (final_mode(file) & 0777) | 0600;
}

static int make_temp(struct file *file)
{
	struct engine *engine = file->worker->engine;
	int dir = file->entry->dir->dst;

	file->temp[0] = '\0';
	file->made = first_mode(file);
	if (!__atomic_load_n(&engine->no_tmpfile, __ATOMIC_RELAXED)) {
		file->dst = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, file->made);
		if (file->dst >= 0)
			return 0;
		if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
			return -errno;
		__atomic_store_n(&engine->no_tmpfile, 1, __ATOMIC_RELAXED);
	}
	weir__temp_name(engine, file->temp, sizeof(file->temp));
	file->dst = openat(dir, file->temp, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC,
			   file->made);
	if (file->dst < 0) {
		file->temp[0] = '\0';
		return -errno;
	}
	return 0;
}

static int link_temp(struct file *file, const char *name)
{
	int dir = file->entry->dir->dst;
	char path[40];

	if (linkat(file->dst, "", dir, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOENT && errno != EPERM)
		return -errno;
	/* Without privileges, or on an older kernel, the way leads through /proc. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file->dst);
	return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

/* Gives the copy its name, in one step. */
static int publish(struct file *file)
{
	int dir = file->entry->dir->dst;
	int result;

	if (!file->temp[0]) {
		result = link_temp(file, file->entry->dst_name);
		if (result != -EEXIST)
			return result;
		weir__temp_name(file->worker->engine, file->temp, sizeof(file->temp));
		result = link_temp(file, file->temp);
		if (result < 0) {
			file->temp[0] = '\0';
			return result;
		}
	} else {
		int fd = file->dst;

		/* Some file systems tell of a full disk only here. */
		file->dst = -1;
		if (close(fd) < 0 && errno != EINTR)
			return -errno;
	}
	if (renameat(dir, file->temp, dir, file->entry->dst_name) < 0)
		return -errno;
	file->temp[0] = '\0';
	return 0;
}

/* What the new file is like before anything is set on it. Who gets it, and with which mode, is up
 * to its directory (set-group-ID, a default list); where one came out as it was asked for, so does
 * the next, and need not be looked at. That is not relied upon where a privilege goes with it. */
static int look_at_new(struct file *file, struct stat *now)
{
	const struct engine *engine = file->worker->engine;
	uint32_t *plain = &file->entry->dir->plain;

	if (__atomic_load_n(plain, __ATOMIC_RELAXED) == file->made + 1 &&
	    (final_mode(file) & (S_ISUID | S_ISGID)) == 0) {
		now->st_mode = S_IFREG | file->made;
		now->st_uid = engine->uid;
		now->st_gid = engine->gid;
		return 0;
	}
	if (fstat(file->dst, now) < 0)
		return -errno;
	if (now->st_mode == (S_IFREG | file->made) && now->st_uid == engine->uid &&
	    now->st_gid == engine->gid)
		__atomic_store_n(plain, file->made + 1, __ATOMIC_RELAXED);
	return 0;
}

static int fill_and_publish(struct file *file)
{
	struct engine *engine = file->worker->engine;
	struct stat now;
	int result = weir__data_copy(file);

	if (result == 0 && (fstat(file->src, &now) < 0 || now.st_size != file->st.st_size ||
			    now.st_mtim.tv_sec != file->st.st_mtim.tv_sec ||
			    now.st_mtim.tv_nsec != file->st.st_mtim.tv_nsec))
		return -EBUSY;
	if (result == 0 && engine_has(engine, WEIR_COPY_VERIFY))
		result = weir__data_verify(file);
	if (result == 0)
		result = look_at_new(file, &now);
	if (result == 0)
		result = weir__meta_fd(engine, file->src, file->dst, &file->st, final_mode(file),
				       file->entry->dir->existed, &now);
	if (result == 0 && engine_has(engine, WEIR_COPY_FSYNC) && fsync(file->dst) < 0)
		result = -errno;
	return result < 0 ? result : publish(file);
}

static int copy_content(struct file *file)
{
	int result = -EBUSY;

	/* A file that changes while it is read is read again. */
	for (int i = 0; result == -EBUSY && i < ATTEMPTS; i++) {
		if (i > 0 && fstat(file->src, &file->st) < 0)
			return -errno;
		result = make_temp(file);
		if (result < 0)
			return result;
		result = fill_and_publish(file);
		if (file->dst >= 0)
			(void)close(file->dst);
		file->dst = -1;
		if (file->temp[0])
			(void)unlinkat(file->entry->dir->dst, file->temp, 0);
	}
	return result;
}

static bool is_unchanged(const struct file *file, const struct stat *old)
{
	return engine_has(file->worker->engine, WEIR_COPY_UPDATE) && S_ISREG(old->st_mode) &&
	       old->st_size == file->st.st_size && old->st_mtim.tv_sec == file->st.st_mtim.tv_sec &&
	       old->st_mtim.tv_nsec == file->st.st_mtim.tv_nsec;
}

/* What was changed there since is not taken back, as with rsync -u. */
static bool is_newer(const struct file *file, const struct stat *old)
{
	const struct timespec *ours = &file->st.st_mtim;
	const struct timespec *theirs = &old->st_mtim;

	return engine_has(file->worker->engine, WEIR_COPY_UPDATE) && S_ISREG(old->st_mode) &&
	       (theirs->tv_sec != ours->tv_sec ? theirs->tv_sec > ours->tv_sec :
						 theirs->tv_nsec > ours->tv_nsec);
}

/* The content is there already: its attributes are made the same. */
static int refresh(struct file *file)
{
	struct engine *engine = file->worker->engine;
	mode_t mode = engine_has(engine, WEIR_COPY_MODES) ? file->st.st_mode & 07777 : NO_MODE;
	struct stat now;
	int fd;
	int result;

	if (engine_has(engine, WEIR_COPY_DRY_RUN))
		return 0;
	fd = weir__plain_open(file->entry->dir->dst, file->entry->dst_name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			      STAY_BELOW);
	if (fd < 0)
		return fd;
	result = fstat(fd, &now) < 0 ? -errno : 0;
	if (result == 0)
		result = weir__meta_fd(engine, file->src, fd, &file->st, mode, false, &now);
	(void)close(fd);
	return result;
}

/* Who names a device, or a link to one, wants it written to, and would miss it. In a tree it is
 * replaced as anything else. */
static bool is_device(const struct entry *entry)
{
	struct stat st;

	return entry->dir->bare && fstatat(entry->dir->dst, entry->dst_name, &st, 0) == 0 &&
	       !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* What is there under the name already. 1: nothing is left to do. */
static int look_at_old(struct file *file)
{
	struct entry *entry = file->entry;
	struct stat old;
	int result;

	file->keep = NO_MODE;
	if (entry->dir->dst < 0 || (!entry->dir->existed && !entry->dir->bare))
		return 0;
	if (fstatat(entry->dir->dst, entry->dst_name, &old, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(old.st_mode))
		return -EISDIR;
	if (!S_ISREG(old.st_mode) && is_device(entry))
		return -ENXIO;
	if (old.st_dev == file->st.st_dev && old.st_ino == file->st.st_ino)
		return -ENOTUNIQ;
	if (is_newer(file, &old))
		return 1;
	if (is_unchanged(file, &old)) {
		result = refresh(file);
		return result < 0 ? result : 1;
	}
	/* What it runs as is not kept: its owner would be another one, and its content is. */
	if (S_ISREG(old.st_mode))
		file->keep = old.st_mode & 0777;
	return 0;
}

static uint32_t weight(const struct engine *engine, const struct file *file)
{
	uint64_t units = (uint64_t)file->st.st_size / 4096 + 1;

	return units < engine->byte_units ? (uint32_t)units : engine->byte_units;
}

static int copy_weighed(struct file *file)
{
	struct engine *engine = file->worker->engine;
	uint32_t n = engine->byte_units > 0 ? weight(engine, file) : 0;
	int result;

	if (n > 0)
		(void)weir_sem_acquire(&engine->bytes, n);
	result = copy_content(file);
	if (n > 0)
		(void)weir_sem_release(&engine->bytes, n);
	return result;
}

int weir__file_copy(struct file *file)
{
	struct engine *engine = file->worker->engine;
	struct entry *entry = file->entry;
	struct group *group = NULL;
	char kind = 'f';
	int result = look_at_old(file);

	if (result < 0)
		return result;
	if (result == 1) {
		weir__tell_done(engine, entry->dir, entry->name, '-');
		return 0;
	}
	COUNT(engine, found_bytes, (uint64_t)file->st.st_size);
	if (!engine_has(engine, WEIR_COPY_DRY_RUN)) {
		if (file->st.st_nlink > 1 && engine_has(engine, WEIR_COPY_HARD_LINKS))
			result = weir__group_join(file, &group);
		if (result == 0) {
			result = copy_weighed(file);
			if (group)
				weir__group_done(file, group, result);
		} else if (result == 1) {
			COUNT(engine, hard_links, 1);
			kind = 'h';
			result = 0;
		}
	}
	if (result == 0)
		weir__tell_done(engine, entry->dir, entry->name, kind);
	return result;
}

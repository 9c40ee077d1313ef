/* copy: symbolic links, fifos, sockets and devices. Each is made in one step, so that it needs a
 * temporary name only where it replaces something. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static int make(int dir, const char *name, const char *target, const struct stat *st)
{
	int result = S_ISLNK(st->st_mode) ?
			     symlinkat(target, dir, name) :
			     mknodat(dir, name, (st->st_mode & S_IFMT) | 0600, st->st_rdev);

	return result < 0 ? -errno : 0;
}

static int make_and_dress(struct engine *engine, int fd, int dir, const char *name,
			  const char *target, const struct stat *st)
{
	int result = make(dir, name, target, st);

	if (result < 0)
		return result;
	result = weir__meta_path(engine, fd, dir, name, st);
	if (result < 0)
		(void)unlinkat(dir, name, 0);
	return result;
}

static int replace(struct engine *engine, int fd, struct entry *entry, const char *target,
		   const struct stat *st)
{
	int dir = entry->dir->dst;
	struct stat old;
	char temp[40];
	int result;

	if (fstatat(dir, entry->dst_name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(old.st_mode))
			return -EISDIR;
		if (old.st_dev == st->st_dev && old.st_ino == st->st_ino)
			return -ENOTUNIQ;
	}
	weir__temp_name(engine, temp, sizeof(temp));
	result = make_and_dress(engine, fd, dir, temp, target, st);
	if (result == 0 && renameat(dir, temp, dir, entry->dst_name) < 0) {
		result = -errno;
		(void)unlinkat(dir, temp, 0);
	}
	return result;
}

static int make_or_replace(struct file *file, const char *target)
{
	struct engine *engine = file->worker->engine;
	struct entry *entry = file->entry;
	int result = make_and_dress(engine, file->src, entry->dir->dst, entry->dst_name, target,
				    &file->st);

	return result == -EEXIST ? replace(engine, file->src, entry, target, &file->st) : result;
}

/* These may have several names, too, which stay names of one. */
static int make_or_link(struct file *file, const char *target)
{
	struct group *group = NULL;
	int result = 0;

	if (file->st.st_nlink > 1 && engine_has(file->worker->engine, WEIR_COPY_HARD_LINKS))
		result = weir__group_join(file, &group);
	if (result == 0) {
		result = make_or_replace(file, target);
		if (group)
			weir__group_done(file, group, result);
	} else if (result == 1) {
		result = 0;
	}
	return result;
}

int weir__special_copy(struct file *file)
{
	struct engine *engine = file->worker->engine;
	struct entry *entry = file->entry;
	bool is_link = S_ISLNK(file->st.st_mode);
	char target[PATH_MAX + 1] = "";
	int result = 0;

	if (!engine_has(engine, is_link ? WEIR_COPY_LINKS : WEIR_COPY_SPECIAL)) {
		/* Who names one of a kind that is not copied has made a mistake. */
		if (entry->dir->bare)
			return is_link ? -ELOOP : -ENXIO;
		COUNT(engine, not_asked_for, 1);
		weir__tell_done(engine, entry->dir, entry->name, '-');
		return 0;
	}
	if (is_link) {
		ssize_t n = readlinkat(file->src, "", target, sizeof(target));

		if (n < 0 || n == (ssize_t)sizeof(target))
			return n < 0 ? -errno : -ENAMETOOLONG;
		target[n] = '\0';
	}
	if (!engine_has(engine, WEIR_COPY_DRY_RUN))
		result = make_or_link(file, target);
	if (result == 0)
		weir__tell_done(engine, entry->dir, entry->name, is_link ? 'l' : 's');
	return result;
}

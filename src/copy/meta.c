/* copy: what a file is besides its content. By descriptor, in the order in which nothing undoes
 * what was done before: owner, attributes and lists, mode, times. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char acl_access[] = "system.posix_acl_access";
static const char acl_default[] = "system.posix_acl_default";

/* How the attributes of one side are reached: by a descriptor, or for one that can only look
 * (O_PATH) by its name in /proc. */
struct side {
	int fd;
	bool by_path;
	char path[40];
};

static struct side side_of(int fd, bool by_path)
{
	struct side side = { .fd = fd, .by_path = by_path };

	if (by_path)
		(void)snprintf(side.path, sizeof(side.path), "/proc/self/fd/%d", fd);
	return side;
}

static ssize_t list(const struct side *side, char *names, size_t size)
{
	return side->by_path ? listxattr(side->path, names, size) :
			       flistxattr(side->fd, names, size);
}

static ssize_t get(const struct side *side, const char *name, void *value, size_t size)
{
	return side->by_path ? getxattr(side->path, name, value, size) :
			       fgetxattr(side->fd, name, value, size);
}

static int set(const struct side *side, const char *name, const void *value, size_t size)
{
	return side->by_path ? setxattr(side->path, name, value, size, 0) :
			       fsetxattr(side->fd, name, value, size, 0);
}

static bool is_acl(const char *name)
{
	return strcmp(name, acl_access) == 0 || strcmp(name, acl_default) == 0;
}

static bool is_wanted(const struct engine *engine, const char *name)
{
	return engine_has(engine, is_acl(name) ? WEIR_COPY_ACLS : WEIR_COPY_XATTRS);
}

/* What cp -a says nothing about, either: the destination cannot keep it, or only root may. */
static bool is_forgiven(const struct engine *engine, const char *name, int error)
{
	if (!engine_has(engine, WEIR_COPY_LENIENT))
		return false;
	return error == ENOTSUP || (error == EPERM && strncmp(name, "user.", 5) != 0);
}

static int copy_one(struct engine *engine, const struct side *from, const struct side *to,
		    const char *name)
{
	char small[1024];
	char *value = small;
	ssize_t size = get(from, name, value, sizeof(small));
	int result = 0;

	if (size < 0 && errno == ERANGE) {
		value = malloc(XATTR_SIZE_MAX);
		if (!value)
			return -ENOMEM;
		size = get(from, name, value, XATTR_SIZE_MAX);
	}
	if (size < 0)
		result = errno == ENODATA ? 0 : -errno;
	else if (set(to, name, value, (size_t)size) < 0)
		result = -errno;
	if (result < 0 && is_forgiven(engine, name, -result))
		result = 0;
	if (value != small)
		free(value);
	return result;
}

/* All names in the list that are lists of access control, or all that are not. *changed: something
 * was set. */
static int copy_names(struct engine *engine, const struct side *from, const struct side *to,
		      const char *names, ssize_t size, bool acls, bool *changed)
{
	int first = 0;

	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		int result;

		if (is_acl(name) != acls || !is_wanted(engine, name))
			continue;
		result = copy_one(engine, from, to, name);
		*changed = true;
		if (first == 0)
			first = result;
	}
	return first;
}

static bool has_name(const char *names, ssize_t size, const char *wanted)
{
	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		if (strcmp(name, wanted) == 0)
			return true;
	}
	return false;
}

static int copy_xattrs(struct engine *engine, const struct side *from, const struct side *to,
		       bool inherits, bool *changed)
{
	char small[1024];
	char *names = small;
	ssize_t size;
	bool has_acl = false;
	int result = 0;

	if (!engine_has(engine, WEIR_COPY_XATTRS | WEIR_COPY_ACLS))
		return 0;
	size = list(from, names, sizeof(small));
	if (size < 0 && errno == ERANGE) {
		names = malloc(XATTR_LIST_MAX);
		if (!names)
			return -ENOMEM;
		size = list(from, names, XATTR_LIST_MAX);
	}
	if (size < 0)
		result = errno == ENOTSUP || (to->by_path && errno == ENOENT) ? 0 : -errno;
	else
		result = copy_names(engine, from, to, names, size, false, changed);
	/* A list may take the right to set the others away. */
	if (size > 0 && result == 0)
		result = copy_names(engine, from, to, names, size, true, changed);
	has_acl = has_name(names, size, acl_access);
	if (names != small)
		free(names);
	/* A list that the copy has from its new parent is not the source's. */
	if (inherits && !has_acl && !to->by_path && engine_has(engine, WEIR_COPY_ACLS) &&
	    fremovexattr(to->fd, acl_access) == 0)
		*changed = true;
	return result;
}

static void times_of(const struct engine *engine, const struct stat *st, struct timespec times[2])
{
	times[0] = st->st_atim;
	times[1] = st->st_mtim;
	if (!engine_has(engine, WEIR_COPY_ATIMES))
		times[0].tv_nsec = UTIME_OMIT;
	if (!engine_has(engine, WEIR_COPY_TIMES))
		times[1].tv_nsec = UTIME_OMIT;
}

/* Who has it. Somebody who is not root cannot give files away, which is no failure; but then the
 * bits that mean "as its owner" must not be set either. */
enum given { GIVEN_BEFORE, GIVEN, NOT_GIVEN };

static int give(struct engine *engine, int fd, const struct stat *st, const struct stat *now)
{
	uid_t uid = engine_has(engine, WEIR_COPY_OWNER) ? st->st_uid : now->st_uid;
	gid_t gid = engine_has(engine, WEIR_COPY_GROUP) ? st->st_gid : now->st_gid;

	if (uid == now->st_uid && gid == now->st_gid)
		return GIVEN_BEFORE;
	if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0)
		return GIVEN;
	if ((errno != EPERM && errno != EINVAL) || engine->uid == 0)
		return -errno;
	(void)!fchownat(fd, "", (uid_t)-1, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
	return NOT_GIVEN;
}

int weir__meta_fd(struct engine *engine, int src, int dst, const struct stat *st, mode_t mode,
		  bool inherits, const struct stat *now)
{
	struct side from = side_of(src, false);
	struct side to = side_of(dst, false);
	struct timespec times[2];
	bool changed = false;
	int result;
	int given;

	given = give(engine, dst, st, now);
	if (given < 0)
		return given;
	if (given == NOT_GIVEN && mode != NO_MODE)
		mode &= ~(mode_t)(S_ISUID | S_ISGID);
	result = copy_xattrs(engine, &from, &to, inherits, &changed);
	if (result == -EACCES && fchmod(dst, (now->st_mode & 07777) | 0200) == 0) {
		/* Attributes are for those who may write, an open descriptor or not. */
		result = copy_xattrs(engine, &from, &to, inherits, &changed);
		mode = mode == NO_MODE ? now->st_mode & 07777 : mode;
	}
	if (mode != NO_MODE &&
	    (given != GIVEN_BEFORE || changed || mode != (now->st_mode & 07777)) &&
	    fchmod(dst, mode) < 0 && result == 0)
		result = -errno;
	if (engine_has(engine, WEIR_COPY_TIMES | WEIR_COPY_ATIMES)) {
		times_of(engine, st, times);
		if (futimens(dst, times) < 0 && result == 0)
			result = -errno;
	}
	return result;
}

int weir__meta_path(struct engine *engine, int src, int dst_dir, const char *name,
		    const struct stat *st)
{
	int fd = weir__plain_open(dst_dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC,
				  RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	struct side from = side_of(src, true);
	struct side to = side_of(fd, true);
	struct timespec times[2];
	struct stat now;
	bool changed = false;
	int result = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &now) < 0 || (now.st_mode & S_IFMT) != (st->st_mode & S_IFMT))
		result = -EBUSY;
	if (result == 0)
		result = give(engine, fd, st, &now);
	if (result >= 0)
		result = copy_xattrs(engine, &from, &to, false, &changed);
	if (result == 0 && !S_ISLNK(st->st_mode)) {
		mode_t mode = engine_has(engine, WEIR_COPY_MODES) ?
				      st->st_mode & 07777 :
				      st->st_mode & 0777 & ~engine->umask;

		if (chmod(to.path, mode) < 0)
			result = -errno;
	}
	if (result == 0 && engine_has(engine, WEIR_COPY_TIMES | WEIR_COPY_ATIMES)) {
		times_of(engine, st, times);
		if (utimensat(fd, "", times, AT_EMPTY_PATH) < 0)
			result = -errno;
	}
	(void)close(fd);
	return result;
}

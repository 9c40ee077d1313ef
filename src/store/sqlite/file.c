/* store/sqlite: where the file is, who may use it, and what is refused.
 *
 * PATH            the database, 0600
 * PATH-wal, -shm  SQLite's log and its index, with the same mode
 * PATH-live/      0700: lock, a socket for each agent, a FIFO for each bound lease, the reserve
 *
 * Whoever can write to the file can take every permit, and whoever can write to its directory can
 * put another file in its place. So both must be ours alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/print.h"
#include "store/sqlite/lite.h"

enum { BUSY_MS = 2000, RESERVE = 256 * 1024 };

static int complain(int error, char **ret_error, const char *format, const char *path)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	*ret_error = weir__format_new(format, path);
#pragma GCC diagnostic pop
	return error;
}

/* What to do about it, where the error alone leaves one at a loss. */
static const char *remedy(int error)
{
	switch (error) {
	case EROFS:
		return ": use a path where files can be written";
	case EACCES:
	case EPERM:
		return ": use a path of your own";
	case ENOSPC:
	case EDQUOT:
		return ": free some space there";
	default:
		return "";
	}
}

static int complain_of_errno(char **ret_error, const char *what, const char *path)
{
	*ret_error = weir__format_new("%s %s: %s%s", what, path, strerror(errno), remedy(errno));
	return -EHOSTUNREACH;
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Filesystems that other machines may share: locks and shared memory do not reach them
 * (CHECKLIST 74). FUSE may be anything, so it is taken for the worst. */
static bool is_shared(long type)
{
	static const unsigned int shared[] = {
		NFS_SUPER_MAGIC,
		SMB_SUPER_MAGIC,
		SMB2_SUPER_MAGIC,
		CIFS_SUPER_MAGIC,
		V9FS_MAGIC,
		AFS_SUPER_MAGIC,
		AFS_FS_MAGIC,
		CODA_SUPER_MAGIC,
		NCP_SUPER_MAGIC,
		CEPH_SUPER_MAGIC,
		OCFS2_SUPER_MAGIC,
		FUSE_SUPER_MAGIC,
		0x01161970 /* GFS2 */,
		0x0BD00BD0 /* Lustre */,
		0x47504653 /* GPFS */,
		0x20030528 /* OrangeFS */,
		0x786f4256 /* VirtualBox */,
	};

	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		if ((unsigned int)type == shared[i])
			return true;
	}
	return false;
}

static int check_directory(const char *path, char **ret_error)
{
	struct stat status;
	struct statfs filesystem;

	if (stat(path, &status) < 0 || statfs(path, &filesystem) < 0)
		return complain_of_errno(ret_error, "cannot use the directory", path);
	if (!S_ISDIR(status.st_mode))
		return complain(-EHOSTUNREACH, ret_error,
				"%s is not a directory: choose another path", path);
	if (is_shared((long)filesystem.f_type))
		return complain(-EHOSTUNREACH, ret_error,
				"%s is on a filesystem that other machines may share, where this "
				"store cannot work: use a local one",
				path);
	if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0)
		return complain(-EHOSTUNREACH, ret_error,
				"anybody may replace files in %s: chmod o-w it, or use another "
				"directory",
				path);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return complain(-EHOSTUNREACH, ret_error,
				"the directory %s belongs to another user: use one of your own",
				path);
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return complain(-EHOSTUNREACH, ret_error,
				"you may not enter the directory %s: use a store of your own",
				path);
	return 0;
}

/* An O_PATH descriptor: closing any other one would give up SQLite's locks on the file, of all
 * connections that this process has (CHECKLIST 73). */
static int check_file(struct weir__lite *lite, char **ret_error)
{
	struct stat status;

	if (lstat(lite->path, &status) < 0)
		return complain_of_errno(ret_error, "cannot look at", lite->path);
	if (S_ISLNK(status.st_mode))
		return complain(-EHOSTUNREACH, ret_error,
				"%s is a symbolic link: name the file itself", lite->path);
	if (!S_ISREG(status.st_mode))
		return complain(-EHOSTUNREACH, ret_error, "%s is not a file", lite->path);
	if (status.st_uid != geteuid())
		return complain(-EHOSTUNREACH, ret_error,
				"%s belongs to another user: use a store of your own", lite->path);
	if ((status.st_mode & 077) != 0)
		return complain(-EHOSTUNREACH, ret_error,
				"others may use %s, and whoever can read it can end anybody's "
				"lease: chmod 600 it",
				lite->path);
	lite->dev = status.st_dev;
	lite->ino = status.st_ino;
	return 0;
}

/* ---- finding and creating -------------------------------------------------------------------- */

/* A directory that is made here is 0700 whatever the umask says, which may have left us no right to
 * open it. */
static int make_directory(const char *path)
{
	char made[40];
	int fd;

	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	weir__format(made, sizeof(made), "/proc/self/fd/%d", fd);
	(void)chmod(made, 0700);
	close(fd);
	return 0;
}

/* One that cannot even be looked at is not made: it may well be there. */
static int ensure_directory(const char *path, const char **ret_what)
{
	if (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0)
		return 0;
	*ret_what = errno == ENOENT ? "cannot make the directory of" :
				      "cannot get to the directory of";
	return errno == ENOENT ? make_directory(path) : -errno;
}

static int make_parents(char *path, const char **ret_what)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		int error;

		*slash = '\0';
		error = ensure_directory(path, ret_what);
		*slash = '/';
		if (error < 0)
			return error;
	}
	return 0;
}

/* The path without symbolic links in it, but for the last part. */
static int find(struct weir__lite *lite, const char *path, char **ret_error)
{
	char *copy = weir__format_new("%s%s", path[0] == '/' ? "" : "./", path);
	char *slash = copy != NULL ? strrchr(copy, '/') : NULL;
	const char *what = NULL;
	char *directory;
	int error;

	if (copy == NULL)
		return -ENOMEM;
	errno = 0;
	error = make_parents(copy, &what);
	errno = -error;
	if (error < 0) {
		error = complain_of_errno(ret_error, what, path);
		weir__free(copy);
		return error;
	}
	*slash = '\0';
	directory = realpath(copy[0] != '\0' ? copy : "/", NULL);
	if (directory == NULL) {
		error = complain_of_errno(ret_error, "cannot find the directory", copy);
		weir__free(copy);
		return error;
	}
	error = check_directory(directory, ret_error);
	lite->path = weir__format_new("%s/%s", strcmp(directory, "/") == 0 ? "" : directory,
				      slash + 1);
	free(directory);
	weir__free(copy);
	return error == 0 && lite->path == NULL ? -ENOMEM : error;
}

static int open_live(struct weir__lite *lite, char **ret_error)
{
	char *path = weir__format_new("%s-live", lite->path);
	struct stat status;
	int error = 0;

	if (path == NULL)
		return -ENOMEM;
	errno = -make_directory(path);
	if (errno == 0)
		lite->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (errno != 0 || lite->dir < 0 || fstat(lite->dir, &status) < 0)
		error = complain_of_errno(ret_error, "cannot use the directory", path);
	else if (status.st_uid != geteuid())
		error = complain(
			-EHOSTUNREACH, ret_error,
			"the directory %s belongs to another user: use a store of your own", path);
	else if ((status.st_mode & 077) != 0 && fchmod(lite->dir, 0700) < 0)
		error = complain_of_errno(ret_error, "cannot chmod 700", path);
	if (error == 0) {
		errno = -weir__lite_lock_open(&lite->lock, lite->dir);
		if (errno != 0)
			error = complain_of_errno(ret_error, "cannot open the lock in", path);
	}
	weir__free(path);
	return error;
}

/* Nobody else is here, for we have the lock: closing this descriptor takes no lock from anybody. */
static int create(struct weir__lite *lite, char **ret_error)
{
	int fd = open(lite->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0 :
					 complain_of_errno(ret_error, "cannot create", lite->path);
	(void)fchmod(fd, 0600);
	close(fd);
	return 0;
}

static int on_commit(void *argument, sqlite3 *db, const char *name, int frames)
{
	struct weir__lite *lite = argument;

	(void)db;
	(void)name;
	lite->frames = frames;
	return SQLITE_OK;
}

static int connect_to(struct weir__lite *lite, char **ret_error)
{
	int result = sqlite3_open_v2(lite->path, &lite->db,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
					     SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_PRIVATECACHE,
				     NULL);

	if (result != SQLITE_OK)
		return weir__lite_error(lite, result, ret_error);
	(void)sqlite3_extended_result_codes(lite->db, 1);
	(void)sqlite3_busy_timeout(lite->db, BUSY_MS);
	(void)sqlite3_db_config(lite->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(lite->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	/* The log stays when we go: folding it in is for whoever finds it long. */
	(void)sqlite3_db_config(lite->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite3_wal_hook(lite->db, on_commit, lite);
	return 0;
}

/* What SQLite would say of it does not name the reason. Its own files have longer names. */
static int check_length(const struct weir__lite *lite, char **ret_error)
{
	int most = sqlite3_vfs_find(NULL)->mxPathname - (int)sizeof("-journal");

	if (strlen(lite->path) <= (size_t)most)
		return 0;
	*ret_error = weir__format_new("the path is too long: SQLite takes %d bytes", most);
	return -EINVAL;
}

int weir__lite_file_open(struct weir__lite *lite, const char *path, char **ret_error)
{
	size_t length = strlen(path);
	int error;

	if (length == 0 || path[length - 1] == '/')
		return complain(-EINVAL, ret_error,
				"sqlite: needs the path of a file, as in sqlite:/run/weir.db%s",
				"");
	error = find(lite, path, ret_error);
	if (error == 0)
		error = check_length(lite, ret_error);
	/* Nothing is made beside what will not do. */
	if (error == 0 && faccessat(AT_FDCWD, lite->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		error = check_file(lite, ret_error);
	if (error == 0)
		error = open_live(lite, ret_error);
	if (error < 0)
		return error;
	weir__lite_lock(lite->lock.fd);
	error = create(lite, ret_error);
	if (error == 0)
		error = check_file(lite, ret_error);
	if (error == 0)
		error = connect_to(lite, ret_error);
	return error;
}

void weir__lite_file_close(struct weir__lite *lite)
{
	weir__lite_enter();
	for (size_t i = 0; i < WEIR__N_SQL; i++)
		(void)sqlite3_finalize(lite->statements[i]);
	(void)sqlite3_close(lite->db);
	weir__lite_exit();
	weir__lite_private_close(&lite->lock);
	if (lite->dir >= 0)
		close(lite->dir);
	weir__free(lite->path);
}

bool weir__lite_file_is_there(const struct weir__lite *lite)
{
	struct stat status;

	return lstat(lite->path, &status) == 0 && status.st_dev == lite->dev &&
	       status.st_ino == lite->ino;
}

/* ---- the reserve ----------------------------------------------------------------------------- */

bool weir__lite_reserve(struct weir__lite *lite)
{
	struct stat status;
	bool there;
	int fd;

	/* Others may have used it; that is seen soon enough. */
	if (lite->reserved_until > lite->now)
		return true;
	if (fstatat(lite->dir, "reserve", &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    status.st_size == RESERVE) {
		lite->reserved_until = lite->now + 10 * WEIR_MS;
		return true;
	}
	fd = weir__lite_own_file(lite->dir, "reserve");
	if (fd < 0)
		return errno != ENOSPC && errno != EDQUOT;
	/* Where space cannot be set aside there is none to set aside, and things go on without. */
	there = fallocate(fd, 0, 0, RESERVE) == 0 ||
		(errno != ENOSPC && errno != EDQUOT && errno != EFBIG &&
		 ftruncate(fd, RESERVE) == 0);
	close(fd);
	if (!there)
		(void)unlinkat(lite->dir, "reserve", 0);
	return there;
}

void weir__lite_reserve_use(struct weir__lite *lite)
{
	lite->reserved_until = 0;
	(void)unlinkat(lite->dir, "reserve", 0);
}

/* store/sqlite: the lock around each transaction.
 *
 * SQLite waits for its own lock by asking again and again. This one is waited for in the kernel,
 * first come, first served, and is taken before SQLite's, so that SQLite's is nearly always free.
 *
 * It is a lock of the open file description: two stores of one process exclude each other, too. A
 * fork copies the descriptor, and a child that has it would keep the lock of a parent that dies
 * inside a transaction. So children close it (CHECKLIST 73).
 *
 * SQLite keeps account, in the process's memory, of what it has locked for any of its connections.
 * A child that is made while one of them is at work would find locks there that nobody will ever
 * give back, when it opens the same file for itself. So a fork waits until nobody is inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite/lite.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t inside = PTHREAD_RWLOCK_INITIALIZER; /* shared by those who are */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct weir__private *all_private;

static void before_fork(void)
{
	pthread_rwlock_wrlock(&inside);
	pthread_mutex_lock(&mutex);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&mutex);
	pthread_rwlock_unlock(&inside);
}

static void in_child(void)
{
	for (; all_private != NULL; all_private = all_private->next) {
		close(all_private->fd);
		all_private->fd = -1;
	}
	pthread_mutex_unlock(&mutex);
	/* The threads that wait for it are not here. */
	inside = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

static void start(void)
{
	(void)pthread_atfork(before_fork, in_parent, in_child);
}

void weir__lite_private(struct weir__private *private, int fd)
{
	(void)pthread_once(&once, start);
	private->fd = fd;
	pthread_mutex_lock(&mutex);
	private->next = all_private;
	all_private = private;
	pthread_mutex_unlock(&mutex);
}

void weir__lite_private_close(struct weir__private *private)
{
	struct weir__private **link = &all_private;

	if (private->fd < 0)
		return;
	pthread_mutex_lock(&mutex);
	while (*link != private)
		link = &(*link)->next;
	*link = private->next;
	/* Inside the mutex, so that a child never closes a number that is somebody else's by now.
	 */
	close(private->fd);
	private->fd = -1;
	pthread_mutex_unlock(&mutex);
}

/* Whatever the umask says: the next process has to open it, too. */
int weir__lite_own_file(int dir, const char *name)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dir, name, flags);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	fd = openat(dir, name, flags | O_CREAT, 0600);
	if (fd >= 0)
		(void)fchmod(fd, 0600);
	return fd;
}

int weir__lite_lock_open(struct weir__private *lock, int dir)
{
	int fd = weir__lite_own_file(dir, "lock");

	lock->fd = -1;
	if (fd < 0)
		return -errno;
	weir__lite_private(lock, fd);
	return 0;
}

static void set(int fd, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };

	/* What else may go wrong (too many locks in the system) leaves us with SQLite's own lock,
	 * which keeps the data whole; only the waiting is worse. */
	while (fcntl(fd, F_OFD_SETLKW, &lock) < 0 && errno == EINTR) {
	}
}

void weir__lite_enter(void)
{
	pthread_rwlock_rdlock(&inside);
}

void weir__lite_exit(void)
{
	pthread_rwlock_unlock(&inside);
}

void weir__lite_lock(int fd)
{
	set(fd, F_WRLCK);
	weir__lite_enter();
}

void weir__lite_unlock(int fd)
{
	weir__lite_exit();
	set(fd, F_UNLCK);
}

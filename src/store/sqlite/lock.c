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
#include <unistd.h>

#include "store/sqlite/lite.h"

enum { PRIVATE_MAX = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t inside = PTHREAD_RWLOCK_INITIALIZER; /* shared by those who are */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int private_fds[PRIVATE_MAX]; /* 0: none, for that is never one of ours */

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
	for (size_t i = 0; i < PRIVATE_MAX; i++) {
		if (private_fds[i] > 0)
			close(private_fds[i]);
		private_fds[i] = 0;
	}
	pthread_mutex_unlock(&mutex);
	/* The threads that wait for it are not here. */
	inside = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

static void start(void)
{
	(void)pthread_atfork(before_fork, in_parent, in_child);
}

static void replace(int old, int new)
{
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < PRIVATE_MAX; i++) {
		if (private_fds[i] == old) {
			private_fds[i] = new;
			break;
		}
	}
	/* Inside the mutex, so that a child never closes a number that is somebody else's by now.
	 */
	if (old > 0)
		close(old);
	pthread_mutex_unlock(&mutex);
}

void weir__lite_private(int fd)
{
	(void)pthread_once(&once, start);
	replace(0, fd);
}

void weir__lite_private_close(int fd)
{
	if (fd >= 0)
		replace(fd, 0);
}

int weir__lite_lock_open(int dir)
{
	int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	weir__lite_private(fd);
	return fd;
}

void weir__lite_lock_close(int fd)
{
	weir__lite_private_close(fd);
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

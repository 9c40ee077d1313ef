/* store/sqlite: whether a process lives, and leases that are bound to descriptors.
 *
 * A pid alone names nobody: it may have been given to another process since. A process is its pid
 * and when it started, and both only mean something to those who share its namespaces. Of a process
 * elsewhere it is only seen whether somebody still listens at its agent's socket.
 *
 * A BOUND LEASE has a FIFO named by its token, opened for writing by whoever it is bound to. The
 * kernel counts the writers, through forks and executed programs, and tells a reader when the last
 * one is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/random.h"
#include "store/sqlite/lite.h"

/* ---- who we are ------------------------------------------------------------------------------ */

static ssize_t read_whole(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

/* Field 22 of /proc/PID/stat; -1 when there is none. The second field is the program's name in
 * parentheses, which may have anything in it. */
static int64_t start_of(int64_t pid)
{
	char path[64];
	char text[1024];
	char *at;

	weir__format(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	if (read_whole(path, text, sizeof(text)) <= 0)
		return -1;
	at = strrchr(text, ')');
	for (int field = 2; at != NULL && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoll(at + 1, NULL, 10) : -1;
}

static int64_t namespace_of(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? (int64_t)status.st_ino : 0;
}

/* CHECKLIST 79: a time namespace has a CLOCK_BOOTTIME of its own. */
static weir_time read_boot_offset(void)
{
	char text[256];
	const char *line;
	char *end;
	long long seconds;

	if (read_whole("/proc/self/timens_offsets", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "boottime");
	if (line == NULL)
		return 0;
	seconds = strtoll(line + strlen("boottime"), &end, 10);
	return seconds * WEIR_SECOND + strtoll(end, NULL, 10);
}

int weir__lite_self(struct weir__lite *lite, char **ret_error)
{
	int64_t times = namespace_of("/proc/self/ns/time");
	int error;

	lite->self.pid = getpid();
	lite->self.start = start_of(lite->self.pid);
	lite->self.space = namespace_of("/proc/self/ns/pid") ^ (int64_t)((uint64_t)times << 32);
	lite->boot_offset = read_boot_offset();
	if (lite->self.start < 0 || times != namespace_of("/proc/self/ns/time_for_children")) {
		*ret_error = weir__format_new("cannot tell what process this is: /proc must be "
					      "there, of this process's namespaces");
		return -EHOSTUNREACH;
	}
	error = weir__random(&lite->self.agent, sizeof(lite->self.agent));
	lite->self.agent &= INT64_MAX;
	return error;
}

/* ---- sockets --------------------------------------------------------------------------------- */

void weir__lite_socket_name(char name[20], int64_t agent)
{
	weir__format(name, 20, "s%016llx", (unsigned long long)agent);
}

/* Through the descriptor of the directory, which is the one that was checked; and an address is at
 * most 107 bytes long. */
void weir__lite_address(const struct weir__lite *lite, int64_t agent, struct sockaddr_un *address)
{
	char name[20];

	weir__lite_socket_name(name, agent);
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	weir__format(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", lite->dir,
		     name);
}

/* The kernel goes the plain way in a fraction of the time. Each transaction goes it, too, to see
 * whether the file is still there. If somebody changes it just then, a hint goes astray, and no
 * more depends on it. */
void weir__lite_mail_address(const struct weir__lite *lite, int64_t agent,
			     struct sockaddr_un *address)
{
	char name[20];

	if (strlen(lite->path) + sizeof("-live/") + sizeof(name) > sizeof(address->sun_path)) {
		weir__lite_address(lite, agent, address);
		return;
	}
	weir__lite_socket_name(name, agent);
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	weir__format(address->sun_path, sizeof(address->sun_path), "%s-live/%s", lite->path, name);
}

enum weir__life weir__lite_listens(const struct weir__lite *lite, int64_t agent)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int result;

	if (fd < 0)
		return WEIR__UNKNOWN;
	weir__lite_address(lite, agent, &address);
	result = connect(fd, (struct sockaddr *)&address, sizeof(address));
	if (result < 0)
		result = errno;
	close(fd);
	return result == 0 ? WEIR__ALIVE : result == ECONNREFUSED ? WEIR__DEAD : WEIR__UNKNOWN;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* First the descriptor, then the start time: if that is the one we look for, the descriptor cannot
 * be of another process that got the pid later. */
static enum weir__life look_at(const struct weir__who *who, int *ret_fd)
{
	struct pollfd ended = { .events = POLLIN };
	int64_t start;

	ended.fd = (int)syscall(SYS_pidfd_open, (pid_t)who->pid, 0U);
	if (ended.fd < 0 && errno == ESRCH)
		return WEIR__DEAD;
	start = start_of(who->pid);
	if (start != who->start || (ended.fd >= 0 && poll(&ended, 1, 0) == 1)) {
		if (ended.fd >= 0)
			close(ended.fd);
		return WEIR__DEAD;
	}
	if (ret_fd != NULL)
		*ret_fd = ended.fd;
	else if (ended.fd >= 0)
		close(ended.fd);
	return WEIR__ALIVE;
}

enum weir__life weir__lite_life(const struct weir__lite *lite, const struct weir__who *who,
				int *ret_fd)
{
	if (ret_fd != NULL)
		*ret_fd = -1;
	if (who->pid == 0)
		return WEIR__UNKNOWN;
	if (who->space != lite->self.space)
		return weir__lite_listens(lite, who->agent);
	if (who->pid == lite->self.pid && who->start == lite->self.start)
		return WEIR__ALIVE;
	return look_at(who, ret_fd);
}

/* ---- bound leases ---------------------------------------------------------------------------- */

struct weir__bound {
	struct weir__bound *next;
	uint8_t token[WEIR_TOKEN_SIZE];
};

static void fifo_name(char name[40], const uint8_t *token)
{
	name[0] = 'f';
	for (int i = 0; i < WEIR_TOKEN_SIZE; i++)
		weir__format(name + 1 + 2 * i, 3, "%02x", token[i]);
}

bool weir__lite_is_bound(const struct weir__lite *lite, const uint8_t *token, int *ret_fd)
{
	char name[40];
	char byte;
	struct stat status;
	bool bound;
	int fd;

	if (ret_fd != NULL)
		*ret_fd = -1;
	fifo_name(name, token);
	fd = openat(lite->dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* Nothing to read yet: there are writers. The end: there are none. */
	bound = fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && read(fd, &byte, 1) != 0;
	if (bound && ret_fd != NULL)
		*ret_fd = fd;
	else
		close(fd);
	return bound;
}

int weir__lite_bind(struct weir_store *store, struct weir_lease *lease, char **ret_error)
{
	struct weir__lite *lite = store->state;
	struct weir__bound *bound = weir__alloc(sizeof(*bound));
	struct weir_lease_info info;
	char name[40];
	int fd = -1;
	struct weir__private lock;
	bool locked;

	if (bound == NULL)
		return -ENOMEM;
	/* With a lock of this thread's own: whoever clears up must not see it half made. */
	locked = weir__lite_lock_open(&lock, lite->dir) == 0;
	if (locked)
		weir__lite_lock(lock.fd);
	weir_lease_get(lease, &info);
	memcpy(bound->token, info.token, WEIR_TOKEN_SIZE);
	fifo_name(name, info.token);
	/* The umask may have left us no right to open it. */
	if ((mkfifoat(lite->dir, name, 0600) == 0 && fchmodat(lite->dir, name, 0600, 0) == 0) ||
	    errno == EEXIST)
		fd = openat(lite->dir, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	/* Whoever ends the lease from here on takes the FIFO away; before, there was none. */
	if (fd >= 0 && !weir_lease_held(lease)) {
		(void)unlinkat(lite->dir, name, 0);
		close(fd);
		fd = -ESTALE;
	}
	if (locked) {
		weir__lite_unlock(lock.fd);
		weir__lite_private_close(&lock);
	}
	if (fd == -ESTALE) {
		weir__free(bound);
		return fd;
	}
	if (fd < 0) {
		*ret_error = weir__format_new("cannot make a FIFO in %s-live: %s", lite->path,
					      strerror(errno));
		weir__free(bound);
		return -EHOSTUNREACH;
	}
	weir__lock(&lite->bound_lock);
	bound->next = lite->bound;
	lite->bound = bound;
	weir__unlock(&lite->bound_lock);
	return fd;
}

void weir__lite_unbind(struct weir__lite *lite, const uint8_t *token, bool ours)
{
	struct weir__bound **link;
	struct weir__bound *found = NULL;
	char name[40];

	weir__lock(&lite->bound_lock);
	for (link = &lite->bound; *link != NULL; link = &(*link)->next) {
		if (memcmp((*link)->token, token, WEIR_TOKEN_SIZE) == 0) {
			found = *link;
			*link = found->next;
			break;
		}
	}
	weir__unlock(&lite->bound_lock);
	if (found != NULL || !ours) {
		fifo_name(name, token);
		(void)unlinkat(lite->dir, name, 0);
	}
	weir__free(found);
}

void weir__lite_bound_free(struct weir__lite *lite)
{
	while (lite->bound != NULL) {
		struct weir__bound *bound = lite->bound;

		lite->bound = bound->next;
		weir__free(bound);
	}
}

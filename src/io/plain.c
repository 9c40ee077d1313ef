/* io: the calls that wait, and those that would rather fail. */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int weir__plain_open(int dir, const char *name, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags, .resolve = resolve };
	long fd;

	do {
		fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

ssize_t weir__plain_read(int fd, void *buffer, size_t size, off_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, buffer, size, offset);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t weir__io_read_cached(int fd, void *buffer, size_t size, off_t offset)
{
	struct iovec part = { .iov_base = buffer, .iov_len = size };
	ssize_t n = preadv2(fd, &part, 1, offset, RWF_NOWAIT);

	return n < 0 ? -errno : n;
}

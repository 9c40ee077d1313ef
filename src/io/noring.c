/* io: a build without liburing. */
#include "io/io.h"

#include <errno.h>
#include <stdlib.h>

struct weir__io {
	int unused;
};

bool weir__io_probe(void)
{
	return false;
}

int weir__io_new(uint32_t depth, struct weir__io **ret)
{
	struct weir__io *io = depth == 0 ? calloc(1, sizeof(*io)) : NULL;

	if (!io)
		return depth == 0 ? -ENOMEM : -ENOSYS;
	*ret = io;
	return 0;
}

void weir__io_free(struct weir__io *io)
{
	free(io);
}

void weir__io_begin(struct weir__io *io)
{
	(void)io;
}

struct weir_poller *weir__io_poller(struct weir__io *io)
{
	(void)io;
	return NULL;
}

int weir__io_open(struct weir__io *io, int dir, const char *name, uint64_t flags, uint64_t resolve,
		  bool *cold)
{
	(void)io;
	(void)cold;
	return weir__plain_open(dir, name, flags, resolve);
}

ssize_t weir__io_read(struct weir__io *io, int fd, void *buffer, size_t size, off_t offset)
{
	(void)io;
	return weir__plain_read(fd, buffer, size, offset);
}

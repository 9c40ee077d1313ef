/* io: reading files without blocking the thread, where the kernel lets us.
 *
 * One struct weir__io belongs to one scheduler. Its calls are for tasks of that scheduler: they are
 * tried at once without waiting, for what is in the caches needs no ring; what would wait goes to
 * the ring, and the task parks. Without a ring they wait in the call. */
#ifndef WEIR_IO_IO_H
#define WEIR_IO_IO_H

#include <linux/openat2.h>
#include <sys/types.h>
#include <weir/task.h>

struct weir__io;

/* Whether this kernel lets this process have a ring with what is needed here. */
bool weir__io_probe(void);

/* With depth 0: without a ring. 0; -ENOMEM, or what the kernel says. */
int weir__io_new(uint32_t depth, struct weir__io **ret);
void weir__io_free(struct weir__io *io);

/* To be called in the thread that runs the scheduler, before it does: from here on `io` is this
 * thread's. If the kernel refuses that, it has no ring any more. */
void weir__io_begin(struct weir__io *io);

/* NULL without a ring. */
struct weir_poller *weir__io_poller(struct weir__io *io);

/* A descriptor or a negative error. *cold is set where the name was not in the cache of names, or
 * none before it was: then nothing of the file is in memory, most likely. It may be NULL. */
int weir__io_open(struct weir__io *io, int dir, const char *name, uint64_t flags, uint64_t resolve,
		  bool *cold);

/* Whether reading there would not wait now, with the bytes read if so: as weir__io_read, and
 * -EAGAIN when it would. */
ssize_t weir__io_read_cached(int fd, void *buffer, size_t size, off_t offset);
ssize_t weir__io_read(struct weir__io *io, int fd, void *buffer, size_t size, off_t offset);

/* The plain calls. */
int weir__plain_open(int dir, const char *name, uint64_t flags, uint64_t resolve);
ssize_t weir__plain_read(int fd, void *buffer, size_t size, off_t offset);

#endif

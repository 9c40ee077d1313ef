/* io: io_uring as a scheduler's poller.
 *
 * An operation lies on the stack of the task that waits for it, and the task cannot leave before
 * the kernel has answered: its wait is shielded, so that no buffer is given up while the kernel
 * still writes into it. It waits for a permit of a semaphore that has none, and the completion
 * brings one. Operations are collected and submitted together when the scheduler has gone round.
 *
 * What the kernel has to do when a read arrives, it does when we ask for it (DEFER_TASKRUN), for
 * many at a time; left to itself it would interrupt whatever call the thread is in, for each. Such
 * a ring belongs to one thread, which is not the one that makes it: it is made switched off. */
#include "io/io.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weir/sem.h>

/* Opens that wait are carried out by threads of the kernel; depth is what makes a cold tree fast.
 */
enum { KERNEL_THREADS = 64, AWAY_LEAST = 8, AWAY_MOST = 1024 };

/* After so many names that were not in the cache of names, so many others are not looked for there.
 */
enum { MISSES = 16, BLIND = 256 };

enum {
	RING = IORING_SETUP_CLAMP,
	RING_OF_ONE_THREAD = RING | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			     IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED,
};

/* An open that took so long has waited for the disk. */
static const weir_time long_open = 40 * WEIR_US;

struct op {
	struct weir_sem done;
	int result;
};

struct weir__io {
	struct weir_poller poller; /* first */
	struct io_uring ring;
	bool has_ring;
	bool listening;  /* the ring watches the scheduler's wake_fd */
	uint32_t away;   /* opens that go to the ring before one is tried here again */
	uint32_t last;   /* how many went there last time */
	uint32_t missed; /* names in a row that were not in the cache, or not looked for */
};

static bool has_operations(struct io_uring *ring)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
	bool has = probe && io_uring_opcode_supported(probe, IORING_OP_OPENAT2) &&
		   io_uring_opcode_supported(probe, IORING_OP_READ) &&
		   io_uring_opcode_supported(probe, IORING_OP_POLL_ADD) &&
		   (ring->features & IORING_FEAT_EXT_ARG) && (ring->features & IORING_FEAT_NODROP);

	io_uring_free_probe(probe);
	return has;
}

bool weir__io_probe(void)
{
	struct io_uring ring;
	bool has;

	if (io_uring_queue_init(2, &ring, 0) < 0)
		return false;
	has = has_operations(&ring);
	io_uring_queue_exit(&ring);
	return has;
}

static void handle(struct weir__io *io)
{
	struct io_uring_cqe *cqe;
	unsigned int head;
	unsigned int n = 0;

	io_uring_for_each_cqe(&io->ring, head, cqe)
	{
		struct op *op = io_uring_cqe_get_data(cqe);

		n++;
		if (!op) {
			io->listening = false;
			continue;
		}
		op->result = cqe->res;
		io->poller.pending--;
		/* The task may run in no other thread, so op stays until we return. */
		(void)weir_sem_release(&op->done, 1);
	}
	io_uring_cq_advance(&io->ring, n);
}

/* Whether the kernel has something to do for us that it leaves until we ask. */
static bool has_work(const struct io_uring *ring)
{
	return (IO_URING_READ_ONCE(*ring->sq.kflags) & IORING_SQ_TASKRUN) != 0;
}

/* A free entry of the submission queue, after making room if that is needed. */
static struct io_uring_sqe *entry_get(struct weir__io *io)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&io->ring);

	while (!sqe) {
		(void)io_uring_submit_and_get_events(&io->ring);
		handle(io);
		sqe = io_uring_get_sqe(&io->ring);
	}
	return sqe;
}

static void ring_wait(struct weir_poller *self, int wake_fd, weir_time deadline)
{
	struct weir__io *io = (struct weir__io *)(void *)self;
	struct __kernel_timespec time = { 0 };
	weir_time rest = deadline == WEIR_NEVER ? WEIR_SECOND : deadline - weir_now();
	struct io_uring_cqe *cqe;

	if (wake_fd < 0) {
		if (io_uring_sq_ready(&io->ring) > 0 || has_work(&io->ring))
			(void)io_uring_submit_and_get_events(&io->ring);
		handle(io);
		return;
	}
	if (!io->listening) {
		struct io_uring_sqe *sqe = entry_get(io);

		io_uring_prep_poll_add(sqe, wake_fd, POLLIN);
		io_uring_sqe_set_data(sqe, NULL);
		io->listening = true;
	}
	if (rest > 0) {
		time.tv_sec = rest / WEIR_SECOND;
		time.tv_nsec = rest % WEIR_SECOND;
	}
	(void)io_uring_submit_and_wait_timeout(&io->ring, &cqe, 1, &time, NULL);
	handle(io);
}

int weir__io_new(uint32_t depth, struct weir__io **ret)
{
	struct weir__io *io = calloc(1, sizeof(*io));
	unsigned int threads[2] = { KERNEL_THREADS, KERNEL_THREADS };
	int error;

	if (!io)
		return -ENOMEM;
	if (depth > 0) {
		error = io_uring_queue_init(depth, &io->ring, RING_OF_ONE_THREAD);
		if (error == -EINVAL) /* before Linux 6.1 */
			error = io_uring_queue_init(depth, &io->ring, RING);
		if (error < 0) {
			free(io);
			return error;
		}
		io->has_ring = true;
		io->poller.wait = ring_wait;
		/* An older kernel keeps its own number. */
		(void)io_uring_register_iowq_max_workers(&io->ring, threads);
	}
	*ret = io;
	return 0;
}

void weir__io_begin(struct weir__io *io)
{
	if (!io->has_ring || !(io->ring.flags & IORING_SETUP_R_DISABLED))
		return;
	/* liburing 2.3 has forgotten to export its own function for this. */
	if (syscall(SYS_io_uring_register, io->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL,
		    0) < 0) {
		io_uring_queue_exit(&io->ring);
		io->has_ring = false;
	}
}

void weir__io_free(struct weir__io *io)
{
	if (io && io->has_ring)
		io_uring_queue_exit(&io->ring);
	free(io);
}

struct weir_poller *weir__io_poller(struct weir__io *io)
{
	return io->has_ring ? &io->poller : NULL;
}

static int wait_for(struct weir__io *io, struct io_uring_sqe *sqe, struct op *op)
{
	(void)weir_sem_init(&op->done, 1);
	(void)weir_sem_acquire(&op->done, 1);
	io_uring_sqe_set_data(sqe, op);
	io->poller.pending++;
	(void)weir_shield(true);
	(void)weir_sem_acquire(&op->done, 1);
	(void)weir_shield(false);
	return op->result;
}

/* Whether the open needed nothing from the disk, and so is done, well or not. A try in vain costs
 * a good part of an open, so where all before was cold it is left out, but for now and then. */
static bool open_cached(struct weir__io *io, int dir, const char *name, const struct open_how *how,
			int *ret)
{
	if (io->missed >= MISSES && io->missed < MISSES + BLIND) {
		io->missed++;
		return false;
	}
	*ret = weir__plain_open(dir, name, how->flags, how->resolve | RESOLVE_CACHED);
	if (*ret != -EAGAIN) {
		io->missed = 0;
		return true;
	}
	io->missed = io->missed < MISSES ? io->missed + 1 : MISSES;
	return false;
}

/* What is not in the cache of names need not be on the disk only: inodes are read by the hundred.
 * An open that finds its inode is done sooner here than by a thread of the kernel; one that waits
 * keeps all others waiting, and the next ones are taken to the ring: the more, the oftener that
 * happens. */
static bool open_here(struct weir__io *io, int dir, const char *name, const struct open_how *how,
		      int *ret)
{
	weir_time since;

	if (io->away > 0) {
		io->away--;
		return false;
	}
	since = weir_now();
	*ret = weir__plain_open(dir, name, how->flags, how->resolve);
	if (weir_now() - since < long_open)
		io->last = 0;
	else
		io->last = 2 * io->last < AWAY_LEAST ? AWAY_LEAST :
			   2 * io->last < AWAY_MOST  ? 2 * io->last :
						       AWAY_MOST;
	io->away = io->last;
	return true;
}

int weir__io_open(struct weir__io *io, int dir, const char *name, uint64_t flags, uint64_t resolve,
		  bool *cold)
{
	struct open_how how = { .flags = flags, .resolve = resolve };
	struct io_uring_sqe *sqe;
	struct op op;
	int fd;

	if (!io->has_ring)
		return weir__plain_open(dir, name, flags, resolve);
	if (open_cached(io, dir, name, &how, &fd))
		return fd;
	if (cold)
		*cold = true;
	if (open_here(io, dir, name, &how, &fd))
		return fd;
	do {
		sqe = entry_get(io);
		io_uring_prep_openat2(sqe, dir, name, &how);
		fd = wait_for(io, sqe, &op);
	} while (fd == -EINTR || fd == -EAGAIN);
	return fd;
}

ssize_t weir__io_read(struct weir__io *io, int fd, void *buffer, size_t size, off_t offset)
{
	unsigned int bytes = size < INT32_MAX ? (unsigned int)size : INT32_MAX;
	struct io_uring_sqe *sqe;
	struct op op;
	int n;

	if (!io->has_ring)
		return weir__plain_read(fd, buffer, size, offset);
	do {
		sqe = entry_get(io);
		io_uring_prep_read(sqe, fd, buffer, bytes, (uint64_t)offset);
		n = wait_for(io, sqe, &op);
	} while (n == -EINTR || n == -EAGAIN);
	return n;
}

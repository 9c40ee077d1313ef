/* copy: a part of a file's content, by each method. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

/* So much between two looks at whether to go on. */
enum { STEP = 8 * 1024 * 1024 };

bool weir__does(const struct file *file, enum weir_copy_method method)
{
	enum weir_copy_method chosen = file->worker->engine->config->method;

	return chosen == WEIR_COPY_AUTO || chosen == method;
}

bool weir__is_refused(int error)
{
	return error == EXDEV || error == EINVAL || error == EOPNOTSUPP || error == ENOSYS ||
	       error == EPERM || error == ENOTTY || error == EBADF || error == ETXTBSY;
}

int weir__write_all(int fd, const char *data, size_t size, off_t offset)
{
	while (size > 0) {
		ssize_t n = pwrite(fd, data, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		offset += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Whether the source is a file system in memory: those have nothing to wait for, yet refuse to be
 * read without waiting. */
static bool is_in_memory(const struct file *file)
{
	struct engine *engine = file->worker->engine;
	struct statfs system;

	if (file->st.st_dev == __atomic_load_n(&engine->memory_dev, __ATOMIC_RELAXED))
		return true;
	if (fstatfs(file->src, &system) < 0 ||
	    (system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC))
		return false;
	__atomic_store_n(&engine->memory_dev, file->st.st_dev, __ATOMIC_RELAXED);
	return true;
}

static ssize_t read_some(struct file *file, char *buffer, size_t size, off_t at, bool wait)
{
	struct engine *engine = file->worker->engine;
	ssize_t n = -EOPNOTSUPP;

	if (wait)
		return weir__io_read(file->worker->io, file->src, buffer, size, at);
	if (file->st.st_dev != __atomic_load_n(&engine->memory_dev, __ATOMIC_RELAXED))
		n = weir__io_read_cached(file->src, buffer, size, at);
	if (n == -EOPNOTSUPP && is_in_memory(file))
		n = weir__plain_read(file->src, buffer, size, at);
	return n;
}

off_t weir__read_write(struct file *file, off_t at, off_t to, char *buffer, size_t size, bool wait)
{
	while (at < to) {
		size_t want = to - at < (off_t)size ? (size_t)(to - at) : size;
		ssize_t n = read_some(file, buffer, want, at, wait);
		int result;

		file->ended = n == 0;
		if (n <= 0) /* what would wait, or cannot be asked so, ends early */
			return n < 0 && wait ? (off_t)n : at;
		result = weir__write_all(file->dst, buffer, (size_t)n, at);
		if (result < 0)
			return result;
		COUNT(file->worker->engine, bytes, (uint64_t)n);
		at += n;
		if ((size_t)n < want && at == file->st.st_size)
			break; /* the end, as expected */
		if (engine_cancelled(file->worker->engine))
			return -ECANCELED;
	}
	return at;
}

off_t weir__read_write_waiting(struct file *file, off_t at, off_t to)
{
	struct engine *engine = file->worker->engine;
	size_t size = engine->buffer_size;
	uint32_t units;
	char *buffer;

	if (to - at < (off_t)size)
		size = ((size_t)(to - at) + 4095) / 4096 * 4096;
	units = (uint32_t)(size / 4096);
	(void)weir_sem_acquire(&engine->buffers, units);
	buffer = malloc(size);
	at = buffer ? weir__read_write(file, at, to, buffer, size, true) : -ENOMEM;
	free(buffer);
	(void)weir_sem_release(&engine->buffers, units);
	return at;
}

static off_t splice_through(struct file *file, off_t at, off_t to)
{
	int pipes[2];
	off_t out = at;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	while (at < to && out >= 0) {
		ssize_t n = splice(file->src, &at, pipes[1], NULL, (size_t)(to - at), 0);

		if (n <= 0) {
			out = n < 0 ? -errno : out;
			break;
		}
		COUNT(file->worker->engine, bytes, (uint64_t)n);
		while (n > 0 && out >= 0) {
			ssize_t m = splice(pipes[0], NULL, file->dst, &out, (size_t)n, 0);

			if (m <= 0)
				out = m < 0 ? -errno : -EIO;
			n -= m > 0 ? m : 0;
		}
		if (engine_cancelled(file->worker->engine))
			out = -ECANCELED;
	}
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	return out;
}

/* By the kernel. Ends early, without an error, where the kernel does not want to. */
static off_t copy_range(struct file *file, off_t at, off_t to)
{
	struct engine *engine = file->worker->engine;

	while (at < to && !__atomic_load_n(&engine->no_range, __ATOMIC_RELAXED)) {
		off_t in = at;
		off_t out = at;
		size_t want = to - at < STEP ? (size_t)(to - at) : STEP;
		ssize_t n = copy_file_range(file->src, &in, file->dst, &out, want, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && weir__is_refused(errno))
			__atomic_store_n(&engine->no_range, 1, __ATOMIC_RELAXED);
		else if (n < 0)
			return -errno;
		if (n <= 0)
			break; /* the end, or a file whose size is a mere word: reading tells */
		COUNT(engine, bytes, (uint64_t)n);
		at += n;
		if (engine_cancelled(engine))
			return -ECANCELED;
		(void)weir_yield();
	}
	return at;
}

int weir__data_range(struct file *file, off_t from, off_t to)
{
	off_t at = from;

	if (weir__does(file, WEIR_COPY_FILE_RANGE))
		at = copy_range(file, at, to);
	if (at >= 0 && at < to && file->worker->engine->config->method == WEIR_COPY_SPLICE)
		at = splice_through(file, at, to);
	if (at >= 0 && at < to)
		at = weir__read_write_waiting(file, at, to);
	return at < 0 ? (int)at : 0;
}

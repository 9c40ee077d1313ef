/* copy: the content of a file: which way it goes. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { KERNEL_LEAST = 32 * 1024 };

/* Data and holes as they are in the source. */
static int copy_sparse(struct file *file)
{
	off_t size = file->st.st_size;
	off_t at = 0;

	if (ftruncate(file->dst, size) < 0)
		return -errno;
	while (at < size) {
		off_t data = lseek(file->src, at, SEEK_DATA);
		off_t hole;
		int result;

		if (data < 0 && errno == ENXIO)
			return 0; /* a hole up to the end */
		hole = data < 0 ? -1 : lseek(file->src, data, SEEK_HOLE);
		if (data < 0 || hole < 0) {
			data = at;
			hole = size;
		}
		result = weir__data_range(file, data, hole < size ? hole : size);
		if (result < 0)
			return result;
		at = hole;
	}
	return 0;
}

static bool reflink(struct file *file)
{
	struct engine *engine = file->worker->engine;

	if (!weir__does(file, WEIR_COPY_REFLINK) ||
	    __atomic_load_n(&engine->no_reflink, __ATOMIC_RELAXED) || file->st.st_size == 0)
		return false;
	if (ioctl(file->dst, FICLONE, file->src) == 0) {
		COUNT(engine, bytes, (uint64_t)file->st.st_size);
		return true;
	}
	if (weir__is_refused(errno))
		__atomic_store_n(&engine->no_reflink, 1, __ATOMIC_RELAXED);
	return false;
}

/* A file that fits one buffer: read and written at once, for a ring and the kernel's own ways cost
 * more than they bring. Also what comes after the end that fstat knew of. */
static int copy_small(struct file *file)
{
	off_t size = file->st.st_size;
	off_t at = 0;

	if (file->cold && size > 0) {
		int result = weir__cold_copy(file);

		if (result != 0)
			return result < 0 ? result : 0;
	}
	/* What is on the disk goes to the ring at once, where the reads of many files are handed
	 * over together, and those of neighbours become one. */
	if (!file->cold || size == 0)
		at = weir__read_write(file, 0, size + 1, file->worker->buffer,
				      file->worker->engine->buffer_size, false);
	/* Some files of the kernel's own are empty, it says, and are not. */
	if (at >= 0 && (at < size || (size == 0 && !file->ended)))
		at = weir__read_write_waiting(file, at, size == 0 ? INT64_MAX : size + 1);
	return at < 0 ? (int)at : 0;
}

/* Whether the kernel is to copy it: one copy less than through a buffer, which pays from some size
 * on, unless it would have us wait for the disk. */
static bool is_for_kernel(struct file *file)
{
	enum weir_copy_method method = file->worker->engine->config->method;
	char last;

	if (method != WEIR_COPY_AUTO)
		return method != WEIR_COPY_READ_WRITE;
	return file->st.st_size >= KERNEL_LEAST && !file->cold &&
	       weir__io_read_cached(file->src, &last, 1, file->st.st_size - 1) == 1;
}

int weir__data_copy(struct file *file)
{
	struct engine *engine = file->worker->engine;
	off_t size = file->st.st_size;

	if (reflink(file))
		return 0;
	if (engine->config->method == WEIR_COPY_REFLINK && size > 0)
		return -EOPNOTSUPP;
	if (size > 0 && (off_t)file->st.st_blocks * 512 < size)
		return copy_sparse(file);
	if (size < (off_t)engine->buffer_size && !is_for_kernel(file))
		return copy_small(file);
	if ((uint64_t)size >= engine->parallel_min && engine->threads > 1)
		return weir__bulk_copy(file);
	return weir__data_range(file, 0, size);
}

/* Reads both sides again, the copy from its disk. */
int weir__data_verify(struct file *file)
{
	size_t size = file->worker->engine->buffer_size / 2;
	char *one = malloc(2 * size);
	ssize_t n = 1;
	int result = one ? 0 : -ENOMEM;

	if (result == 0 && fdatasync(file->dst) < 0)
		result = -errno;
	(void)posix_fadvise(file->dst, 0, 0, POSIX_FADV_DONTNEED);
	for (off_t at = 0; result == 0 && n > 0; at += n) {
		ssize_t m;

		n = weir__plain_read(file->src, one, size, at);
		m = weir__plain_read(file->dst, one + size, size, at);
		if (n < 0 || m < 0)
			result = n < 0 ? (int)n : (int)m;
		else if (n != m || memcmp(one, one + size, (size_t)n) != 0)
			result = -EIO;
		else if (engine_cancelled(file->worker->engine))
			result = -ECANCELED;
	}
	free(one);
	return result;
}

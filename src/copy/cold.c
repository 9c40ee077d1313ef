/* copy: small files that are on the disk only.
 *
 * They are read past the cache of pages (O_DIRECT), each by one read that goes to the ring with
 * those of others. Pages would have to be found, charged and listed, and the data copied once more,
 * for a file that was not asked for in a long time and has just been read. Any doubt, and the file
 * is read like all others. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/* What disks and kernels want offsets, sizes and addresses to be a multiple of, at most. */
enum { UNIT = 4096, KEPT_MOST = 256 };

struct block {
	struct block *next;
};

void weir__begin_spare(struct engine *engine)
{
	if (engine->spare > 0 && !__atomic_load_n(&engine->spare_began, __ATOMIC_RELAXED) &&
	    !__atomic_exchange_n(&engine->spare_began, 1, __ATOMIC_RELAXED))
		(void)weir_sem_release(&engine->cold, 1);
}

static char *block_get(struct worker *worker, uint32_t units)
{
	struct block *block = worker->blocks[units];

	if (!block)
		return aligned_alloc(UNIT, (size_t)units * UNIT);
	worker->blocks[units] = block->next;
	worker->kept -= units;
	return (char *)block;
}

static void block_put(struct worker *worker, uint32_t units, char *memory)
{
	struct block *block = (struct block *)(void *)memory;

	if (!block || worker->kept + units > KEPT_MOST) {
		free(block);
		return;
	}
	block->next = worker->blocks[units];
	worker->blocks[units] = block;
	worker->kept += units;
}

void weir__cold_free(struct worker *worker)
{
	for (uint32_t units = 0; units <= BLOCK_UNITS; units++) {
		while (worker->blocks[units])
			free(block_get(worker, units));
	}
}

/* Reads the whole file at once: its size, or anything else if that did not work. */
static ssize_t read_direct(struct file *file, char *buffer, size_t size)
{
	struct engine *engine = file->worker->engine;
	int flags = fcntl(file->src, F_GETFL);
	ssize_t n = -EINVAL;

	if (flags < 0)
		return n;
	if (fcntl(file->src, F_SETFL, flags | O_DIRECT) == 0)
		n = weir__io_read(file->worker->io, file->src, buffer, size, 0);
	if (n == -EINVAL)
		__atomic_store_n(&engine->no_direct, 1, __ATOMIC_RELAXED);
	if (n != file->st.st_size)
		(void)fcntl(file->src, F_SETFL, flags);
	return n;
}

int weir__cold_copy(struct file *file)
{
	struct engine *engine = file->worker->engine;
	uint64_t size = (uint64_t)file->st.st_size;
	uint32_t units;
	char *buffer;
	int result = 0;

	/* The source is read once more to verify, which then would have to be aligned, too. */
	if (size >= (uint64_t)BLOCK_UNITS * UNIT || engine_has(engine, WEIR_COPY_VERIFY) ||
	    __atomic_load_n(&engine->no_direct, __ATOMIC_RELAXED))
		return 0;
	/* Always more than there is, so that the end is seen. */
	units = (uint32_t)(size / UNIT + 1);
	(void)weir_sem_acquire(&engine->buffers, units);
	buffer = block_get(file->worker, units);
	if (buffer && read_direct(file, buffer, (size_t)units * UNIT) == file->st.st_size) {
		result = weir__write_all(file->dst, buffer, size, 0);
		if (result == 0) {
			COUNT(engine, bytes, size);
			result = 1;
		}
	}
	block_put(file->worker, units, buffer);
	(void)weir_sem_release(&engine->buffers, units);
	return result;
}

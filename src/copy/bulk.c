/* copy: a large file, by several threads.
 *
 * The task that owns the file asks for help and begins. Whoever comes takes the next range; who
 * comes too late finds none. The owner waits only for those who have begun. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static const off_t range = 16 * 1024 * 1024;

struct bulk {
	struct file file; /* its own, so that a late helper finds it */
	struct weir_sem busy;
	uint32_t refs; /* shared, as the next two */
	int error;
	off_t next;
};

/* More helpers than threads there are not. */
enum { HELPERS = 1024 };

static void bulk_unref(struct bulk *bulk)
{
	if (__atomic_sub_fetch(&bulk->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(bulk);
}

static void copy_ranges(struct bulk *bulk, struct worker *worker)
{
	struct file file = bulk->file;
	int result = 0;

	file.worker = worker;
	while (result == 0 && __atomic_load_n(&bulk->error, __ATOMIC_RELAXED) == 0) {
		off_t from = __atomic_fetch_add(&bulk->next, range, __ATOMIC_RELAXED);
		off_t to = file.st.st_size - from < range ? file.st.st_size : from + range;

		if (from >= file.st.st_size)
			break;
		result = weir__data_range(&file, from, to);
	}
	if (result < 0)
		__atomic_store_n(&bulk->error, result, __ATOMIC_RELAXED);
}

void weir__bulk_help(struct worker *worker, void *arg)
{
	struct bulk *bulk = arg;

	/* The owner takes all permits when it is done, and keeps them: then there is nothing to do
	 * and its descriptors are closed. */
	if (weir_sem_try_acquire(&bulk->busy, 1) == 0) {
		copy_ranges(bulk, worker);
		(void)weir_sem_release(&bulk->busy, 1);
	}
	bulk_unref(bulk);
}

static void ask_for_help(struct engine *engine, struct bulk *bulk)
{
	uint32_t n = engine->threads - 1 < HELPERS ? engine->threads - 1 : HELPERS;
	struct batch *batch = weir__batch_new(n, 0);

	if (!batch)
		return;
	bulk->refs += n;
	for (uint32_t i = 0; i < n; i++) {
		batch->entries[i].kind = KIND_HELP;
		batch->entries[i].arg = bulk;
	}
	weir__queue_put(engine, batch, false);
}

int weir__bulk_copy(struct file *file)
{
	struct bulk *bulk = calloc(1, sizeof(*bulk));
	int result;

	if (!bulk)
		return -ENOMEM;
	bulk->file = *file;
	bulk->refs = 1;
	(void)weir_sem_init(&bulk->busy, HELPERS);
	/* Ranges that are written side by side would lie in pieces; and a disk that is too small is
	 * noticed now. Where it cannot be done, it is not needed either. */
	if (fallocate(file->dst, FALLOC_FL_KEEP_SIZE, 0, file->st.st_size) < 0 && errno == ENOSPC) {
		free(bulk);
		return -ENOSPC;
	}
	ask_for_help(file->worker->engine, bulk);
	copy_ranges(bulk, file->worker);
	(void)weir_sem_acquire(&bulk->busy, HELPERS);
	result = bulk->error;
	bulk_unref(bulk);
	return result;
}

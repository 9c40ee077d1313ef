/* copy: reading directories.
 *
 * A walker goes depth first, on a stack of frames of its own: a frame keeps a directory and the
 * names of those subdirectories that one buffer of entries had. The rest of a buffer goes into the
 * queue at once. So memory is a buffer for each walker and a little for each level (C2). A walker
 * holds neither a permit nor descriptors while it waits for room in the queue. */
#include "copy/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BUFFER = 32 * 1024, BATCH_MOST = 128 };

struct raw { /* linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t size;
	unsigned char type;
	char name[];
};

struct frame {
	struct frame *up;
	struct dir *dir;
	char *names; /* subdirectories that are still to be entered */
	char *next;
	char *end;
	bool read;
};

struct walk {
	struct worker *worker;
	struct frame *frame;
	char *buffer;
	struct raw **found;
};

static int by_inode(const void *a, const void *b)
{
	uint64_t one = (*(struct raw *const *)a)->ino;
	uint64_t other = (*(struct raw *const *)b)->ino;

	return (one > other) - (one < other);
}

struct filling {
	struct engine *engine;
	struct walk *walk;
	long bytes;
};

static int fill_once(void *arg)
{
	struct filling *filling = arg;
	struct engine *engine = filling->engine;
	struct dir *dir = filling->walk->frame->dir;
	int result;

	weir__fds_take(engine, 2);
	result = weir__dir_pin(engine, dir);
	if (result < 0)
		return result;
	/* It was closed meanwhile: go on where we were. */
	if (dir->moved && lseek(dir->src, dir->cookie, SEEK_SET) < 0)
		result = -errno;
	dir->moved = false;
	if (result == 0) {
		filling->bytes = syscall(SYS_getdents64, dir->src, filling->walk->buffer,
					 (size_t)BUFFER);
		if (filling->bytes < 0)
			result = -errno;
	}
	weir__dir_unpin(engine, dir);
	return result;
}

/* The entries of the buffer that are wanted, in the order of their inodes: that is how they lie on
 * the disk. */
static size_t sort_out(struct walk *walk, long bytes)
{
	struct engine *engine = walk->worker->engine;
	struct dir *dir = walk->frame->dir;
	size_t n = 0;

	for (long at = 0; at < bytes;) {
		struct raw *raw = (struct raw *)(void *)(walk->buffer + at);
		bool dots = raw->name[0] == '.' &&
			    (!raw->name[1] || (raw->name[1] == '.' && !raw->name[2]));

		at += raw->size;
		dir->cookie = raw->off;
		if (!dots && !weir__filtered(engine->config, dir, raw->name, raw->type == DT_DIR))
			walk->found[n++] = raw;
	}
	qsort(walk->found, n, sizeof(*walk->found), by_inode);
	return n;
}

/* Puts n found entries that are no directories into the queue. */
static int put(struct walk *walk, struct raw **found, size_t n)
{
	struct engine *engine = walk->worker->engine;
	struct dir *dir = walk->frame->dir;
	struct batch *batch;
	size_t bytes = 0;
	char *names;

	for (size_t i = 0; i < n; i++)
		bytes += strlen(found[i]->name) + 1;
	batch = weir__batch_new((uint32_t)n, bytes);
	if (!batch)
		return -ENOMEM;
	names = weir__batch_names(batch);
	for (size_t i = 0; i < n; i++) {
		struct entry *entry = &batch->entries[i];
		size_t size = strlen(found[i]->name) + 1;

		memcpy(names, found[i]->name, size);
		entry->dir = dir;
		entry->name = names;
		entry->dst_name = names;
		entry->type = found[i]->type;
		names += size;
	}
	(void)__atomic_add_fetch(&dir->pending, (uint32_t)n, __ATOMIC_RELAXED);
	weir__queue_put(engine, batch, true);
	return 0;
}

static int share_out(struct walk *walk, size_t n)
{
	struct frame *frame = walk->frame;
	size_t files = 0;
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += walk->found[i]->type == DT_DIR ? strlen(walk->found[i]->name) + 1 : 0;
	frame->names = bytes ? malloc(bytes) : NULL;
	if (bytes && !frame->names)
		return -ENOMEM;
	frame->next = frame->names;
	frame->end = frame->names;
	for (size_t i = 0; i < n; i++) {
		struct raw *raw = walk->found[i];
		size_t size = strlen(raw->name) + 1;

		if (raw->type != DT_DIR) {
			walk->found[files++] = raw;
			continue;
		}
		memcpy(frame->end, raw->name, size);
		frame->end += size;
	}
	(void)__atomic_add_fetch(&frame->dir->pending, (uint32_t)(n - files), __ATOMIC_RELAXED);
	COUNT(walk->worker->engine, found, n);
	for (size_t i = 0; i < files; i += BATCH_MOST) {
		size_t rest = files - i;
		int result = put(walk, walk->found + i, rest < BATCH_MOST ? rest : BATCH_MOST);

		if (result < 0)
			return result;
	}
	return 0;
}

/* Reads on in the top frame's directory. */
static void fill(struct walk *walk)
{
	struct engine *engine = walk->worker->engine;
	struct filling filling = { .engine = engine, .walk = walk };
	struct frame *frame = walk->frame;
	int result;

	(void)weir_sem_acquire(&engine->permits, 1);
	result = weir__adapt(engine, fill_once, &filling);
	(void)weir_sem_release(&engine->permits, 1);
	if (result == 0 && filling.bytes > 0)
		result = share_out(walk, sort_out(walk, filling.bytes));
	if (result < 0)
		weir__tell_failed(engine, frame->dir, "", result);
	frame->read = result < 0 || filling.bytes <= 0 || engine_cancelled(engine);
}

static bool push(struct walk *walk, struct dir *dir)
{
	struct frame *frame = calloc(1, sizeof(*frame));

	if (!frame)
		return false;
	frame->dir = dir;
	frame->read = dir->foreign;
	frame->up = walk->frame;
	walk->frame = frame;
	return true;
}

static void pop(struct walk *walk)
{
	struct frame *frame = walk->frame;

	walk->frame = frame->up;
	weir__dir_done(walk->worker, frame->dir);
	free(frame->names);
	free(frame);
}

/* Whether another walker took it. */
static bool give_away(struct engine *engine, struct dir *dir)
{
	struct batch *batch = NULL;
	bool given = false;

	if (__atomic_load_n(&engine->walkers, __ATOMIC_RELAXED) >= 4 * engine->threads)
		return false;
	batch = weir__batch_new(1, 0);
	if (batch) {
		(void)__atomic_add_fetch(&engine->walkers, 1, __ATOMIC_RELAXED);
		batch->entries[0].kind = KIND_WALK;
		batch->entries[0].arg = dir;
		weir__queue_put(engine, batch, false);
		given = true;
	}
	return given;
}

static void enter_next(struct walk *walk)
{
	struct engine *engine = walk->worker->engine;
	struct frame *frame = walk->frame;
	const char *name = frame->next;
	struct dir *dir = NULL;
	int result = -ECANCELED;

	frame->next += strlen(name) + 1;
	if (!engine_cancelled(engine))
		result = weir__enter(walk->worker, frame->dir, name, name, &dir);
	if (result < 0) {
		if (result != -ECANCELED)
			weir__tell_failed(engine, frame->dir, name, result);
		weir__dir_done(walk->worker, frame->dir);
	} else if (!give_away(engine, dir) && !push(walk, dir)) {
		weir__tell_failed(engine, frame->dir, name, -ENOMEM);
		weir__dir_done(walk->worker, dir);
	}
}

void weir__walk(struct worker *worker, struct dir *dir)
{
	struct walk walk = { .worker = worker };

	walk.buffer = malloc(BUFFER);
	walk.found = malloc(BUFFER / 24 * sizeof(*walk.found));
	if (!walk.buffer || !walk.found || !push(&walk, dir)) {
		weir__tell_failed(worker->engine, dir, "", -ENOMEM);
		weir__dir_done(worker, dir);
	}
	while (walk.frame) {
		if (walk.frame->next < walk.frame->end) {
			enter_next(&walk);
			continue;
		}
		free(walk.frame->names);
		walk.frame->names = NULL;
		walk.frame->next = NULL;
		walk.frame->end = NULL;
		if (walk.frame->read)
			pop(&walk);
		else
			fill(&walk);
	}
	free(walk.buffer);
	free(walk.found);
}

/* copy: the beginning and the end of a directory. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct entering {
	struct worker *worker;
	struct dir *parent;
	const char *name;
	const char *dst_name;
	struct dir *dir;
};

/* The copy of the directory, made if it is not there: a descriptor, -1 for none in a dry run, or
 * an error below that. */
static int open_copy(struct engine *engine, struct dir *parent, struct dir *dir)
{
	bool dry = engine_has(engine, WEIR_COPY_DRY_RUN);
	struct stat st;
	int fd;

	if (parent->dst < 0)
		return -1;
	if (!dry && mkdirat(parent->dst, dir->dst_name, 0700) < 0) {
		if (errno != EEXIST)
			return -errno;
		dir->existed = true;
	}
	fd = weir__plain_open(parent->dst, dir->dst_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			      STAY_BELOW);
	if (dry && fd == -ENOENT)
		return -1;
	if (fd < 0)
		return fd == -ELOOP ? -ENOTDIR : fd;
	if (fstat(fd, &st) < 0) {
		(void)close(fd);
		return -EIO;
	}
	if (st.st_dev == dir->st.st_dev && st.st_ino == dir->st.st_ino) {
		(void)close(fd);
		return -ENOTUNIQ;
	}
	dir->dst_dev = st.st_dev;
	dir->dst_ino = st.st_ino;
	return fd;
}

/* With the parent pinned: opens both sides. */
static int open_both(struct entering *entering, int *ret_src, int *ret_dst)
{
	struct engine *engine = entering->worker->engine;
	struct dir *dir;
	int src;
	int dst;

	dir = weir__dir_new(entering->parent, entering->name, entering->dst_name);
	if (!dir)
		return -ENOMEM;
	src = weir__io_open(entering->worker->io, entering->parent->src, entering->name,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC, STAY_BELOW, NULL);
	if (src < 0) {
		weir__dir_unref(engine, dir);
		return src;
	}
	if (fstat(src, &dir->st) < 0)
		dst = -EIO;
	else if (dir->st.st_dev == engine->dst_dev && dir->st.st_ino == engine->dst_ino)
		dst = -ELOOP;
	else
		dst = open_copy(engine, entering->parent, dir);
	if (dst < -1) {
		(void)close(src);
		weir__dir_unref(engine, dir);
		return dst;
	}
	dir->foreign = engine_has(engine, WEIR_COPY_ONE_SYSTEM) && !entering->parent->bare &&
		       dir->st.st_dev != entering->parent->st.st_dev;
	/* The first directory of ours in a tree is the one that must not turn up inside it. */
	if (!engine->dst_ino && dst >= 0) {
		engine->dst_dev = dir->dst_dev;
		engine->dst_ino = dir->dst_ino;
	}
	entering->dir = dir;
	*ret_src = src;
	*ret_dst = dst;
	return 0;
}

static int enter_once(void *arg)
{
	struct entering *entering = arg;
	struct engine *engine = entering->worker->engine;
	int src = -1;
	int dst = -1;
	int result;

	weir__fds_take(engine, 4);
	result = weir__dir_pin(engine, entering->parent);
	if (result == 0) {
		result = open_both(entering, &src, &dst);
		weir__dir_unpin(engine, entering->parent);
	}
	if (result < 0)
		weir__fds_put(engine, 2);
	else
		weir__dir_adopt(engine, entering->dir, src, dst);
	return result;
}

int weir__enter(struct worker *worker, struct dir *parent, const char *name, const char *dst_name,
		struct dir **ret)
{
	struct engine *engine = worker->engine;
	struct entering entering = {
		.worker = worker, .parent = parent, .name = name, .dst_name = dst_name
	};
	int result;

	(void)weir_sem_acquire(&engine->permits, 1);
	result = weir__adapt(engine, enter_once, &entering);
	(void)weir_sem_release(&engine->permits, 1);
	if (result == 0)
		*ret = entering.dir;
	return result;
}

static int complete_once(void *arg)
{
	struct entering *entering = arg;
	struct engine *engine = entering->worker->engine;
	struct dir *dir = entering->dir;
	mode_t mode = NO_MODE;
	struct stat now;
	int result;

	if (engine_has(engine, WEIR_COPY_MODES))
		mode = dir->st.st_mode & 07777;
	else if (!dir->existed)
		mode = dir->st.st_mode & 0777 & ~engine->umask;
	weir__fds_take(engine, 2);
	result = weir__dir_pin(engine, dir);
	if (result < 0)
		return result;
	result = fstat(dir->dst, &now) < 0 ? -errno : 0;
	if (result == 0)
		result = weir__meta_fd(engine, dir->src, dir->dst, &dir->st, mode,
				       !dir->parent || dir->parent->existed, &now);
	if (result == 0 && engine_has(engine, WEIR_COPY_FSYNC) && fsync(dir->dst) < 0)
		result = -errno;
	weir__dir_unpin(engine, dir);
	return result;
}

/* Everything in the directory is finished: now it gets its own attributes (C4). */
static void complete(struct worker *worker, struct dir *dir)
{
	struct engine *engine = worker->engine;
	struct entering entering = { .worker = worker, .dir = dir };
	int result = 0;

	if (dir->bare || engine_cancelled(engine))
		return;
	if (!engine_has(engine, WEIR_COPY_DRY_RUN)) {
		(void)weir_sem_acquire(&engine->permits, 1);
		result = weir__adapt(engine, complete_once, &entering);
		(void)weir_sem_release(&engine->permits, 1);
	}
	if (result < 0)
		weir__tell_failed(engine, dir, "", result);
	else
		weir__tell_done(engine, dir, "", 'd');
}

static void stop(struct engine *engine)
{
	uint32_t threads = engine->threads + engine->spare;
	struct batch *batch = weir__batch_new(threads, 0);

	__atomic_store_n(&engine->finished, 1, __ATOMIC_RELEASE);
	for (uint32_t i = 0; batch && i < threads; i++)
		batch->entries[i].kind = KIND_STOP;
	if (batch)
		weir__queue_put(engine, batch, false);
	else /* the dispatchers see that it is finished */
		weir_sem_close(&engine->ready);
}

void weir__dir_done(struct worker *worker, struct dir *dir)
{
	struct engine *engine = worker->engine;

	while (dir && __atomic_sub_fetch(&dir->pending, 1, __ATOMIC_ACQ_REL) == 0) {
		struct dir *parent = dir->parent;

		complete(worker, dir);
		weir__dir_unref(engine, dir);
		if (!parent &&
		    __atomic_sub_fetch(&engine->sources_left, 1, __ATOMIC_ACQ_REL) == 0 &&
		    !weir__queue_next(engine))
			stop(engine);
		dir = parent;
	}
}

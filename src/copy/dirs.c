/* copy: directories and their descriptors.
 *
 * A directory that is in use is pinned. One that is open and not pinned is kept for later, in a
 * list from which the oldest are closed when descriptors are short. Its two descriptors stay
 * counted in engine->fds as long as they are open.
 *
 * Whoever must wait for descriptors says so first (starved), then closes what nobody uses, then
 * waits. From then on nothing is kept: a directory whose last user leaves is closed at once. So a
 * waiter waits for users only, and those do not wait for descriptors. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 4000 }; /* of PATH_MAX, for one step down */

struct dir *weir__dir_new(struct dir *parent, const char *name, const char *dst_name)
{
	size_t size = strlen(name) + 1;
	size_t dst_size = name == dst_name ? 0 : strlen(dst_name) + 1;
	struct dir *dir = calloc(1, sizeof(*dir) + size + dst_size);

	if (!dir)
		return NULL;
	memcpy(dir->names, name, size);
	dir->name = dir->names;
	dir->dst_name = dir->names;
	if (dst_size) {
		memcpy(dir->names + size, dst_name, dst_size);
		dir->dst_name = dir->names + size;
	}
	dir->parent = parent;
	dir->depth = parent ? parent->depth + 1 : 0;
	if (parent)
		(void)__atomic_add_fetch(&parent->refs, 1, __ATOMIC_RELAXED);
	dir->refs = 1;
	dir->pending = 1;
	dir->src = -1;
	dir->dst = -1;
	return dir;
}

static void list_remove(struct engine *engine, struct dir *dir)
{
	if (dir->newer)
		dir->newer->older = dir->older;
	else
		engine->newest = dir->older;
	if (dir->older)
		dir->older->newer = dir->newer;
	else
		engine->oldest = dir->newer;
	dir->newer = NULL;
	dir->older = NULL;
}

static void list_add(struct engine *engine, struct dir *dir)
{
	dir->older = engine->newest;
	if (engine->newest)
		engine->newest->newer = dir;
	else
		engine->oldest = dir;
	engine->newest = dir;
}

static void close_both(struct engine *engine, struct dir *dir)
{
	if (dir->src >= 0)
		(void)close(dir->src);
	if (dir->dst >= 0)
		(void)close(dir->dst);
	dir->src = -1;
	dir->dst = -1;
	if (dir->parent)
		weir__fds_put(engine, 2);
}

void weir__dir_unref(struct engine *engine, struct dir *dir)
{
	while (dir && __atomic_sub_fetch(&dir->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		struct dir *parent = dir->parent;

		/* Until we have the lock, somebody short of descriptors may close it. */
		(void)pthread_mutex_lock(&engine->lock);
		if (dir->src >= 0) {
			if (parent)
				list_remove(engine, dir);
			close_both(engine, dir);
		}
		(void)pthread_mutex_unlock(&engine->lock);
		free(dir);
		dir = parent;
	}
}

static void evict(struct engine *engine)
{
	while (engine->oldest) {
		struct dir *dir = engine->oldest;

		list_remove(engine, dir);
		close_both(engine, dir);
	}
}

void weir__dirs_evict(struct engine *engine)
{
	(void)pthread_mutex_lock(&engine->lock);
	evict(engine);
	(void)pthread_mutex_unlock(&engine->lock);
}

void weir__fds_take(struct engine *engine, uint32_t n)
{
	if (weir_sem_try_acquire(&engine->fds, n) == 0)
		return;
	(void)pthread_mutex_lock(&engine->lock);
	engine->starved++;
	evict(engine);
	(void)pthread_mutex_unlock(&engine->lock);
	(void)weir_sem_acquire(&engine->fds, n);
	(void)pthread_mutex_lock(&engine->lock);
	engine->starved--;
	(void)pthread_mutex_unlock(&engine->lock);
}

void weir__fds_put(struct engine *engine, uint32_t n)
{
	(void)weir_sem_release(&engine->fds, n);
}

/* Opens `dir` on one side, from `top` down: in few steps, however deep it is. */
static int open_below(const struct dir *top, const struct dir *dir, bool dst)
{
	char path[PATH_ROOM];
	int base = dst ? top->dst : top->src;
	int at = base;

	while (top != dir) {
		char *begin = path + sizeof(path) - 1;
		const struct dir *step = dir;
		const struct dir *reached = dir;
		int fd;

		/* The names from `dir` up to `top`, from the end; when they do not fit, those
		 * nearest to the top count. */
		*begin = '\0';
		for (; step != top; step = step->parent) {
			const char *name = dst ? step->dst_name : step->name;
			size_t length = strlen(name);

			if ((size_t)(begin - path) < length + 1) {
				begin = path + sizeof(path) - 1;
				*begin = '\0';
				reached = step;
			}
			if (*begin)
				*--begin = '/';
			begin -= length;
			memcpy(begin, name, length);
		}
		fd = weir__plain_open(at, begin, O_RDONLY | O_DIRECTORY | O_CLOEXEC, STAY_BELOW);
		if (at != base)
			(void)close(at);
		if (fd < 0)
			return fd;
		at = fd;
		top = reached;
	}
	return at;
}

static bool is_same(int fd, dev_t dev, ino_t ino)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* With the lock held. */
static int reopen(struct dir *dir, bool want_dst)
{
	const struct dir *top = dir->parent;
	int src;
	int dst = -1;

	while (top->parent && top->src < 0)
		top = top->parent;
	src = open_below(top, dir, false);
	if (src < 0)
		return src;
	if (!is_same(src, dir->st.st_dev, dir->st.st_ino)) {
		(void)close(src);
		return -ESTALE;
	}
	if (want_dst) {
		dst = open_below(top, dir, true);
		if (dst >= 0 && !is_same(dst, dir->dst_dev, dir->dst_ino)) {
			(void)close(dst);
			dst = -ESTALE;
		}
		if (dst < 0) {
			(void)close(src);
			return dst;
		}
	}
	dir->src = src;
	dir->dst = dst;
	dir->moved = true;
	return 0;
}

int weir__dir_pin(struct engine *engine, struct dir *dir)
{
	int result = 0;
	bool spare = true;

	(void)pthread_mutex_lock(&engine->lock);
	if (dir->parent && dir->src < 0) {
		result = reopen(dir, dir->dst_ino != 0);
		spare = result < 0;
	} else if (dir->parent && dir->pins == 0) {
		list_remove(engine, dir);
	}
	if (result == 0)
		dir->pins++;
	(void)pthread_mutex_unlock(&engine->lock);
	if (spare)
		weir__fds_put(engine, 2);
	return result;
}

static void keep_or_close(struct engine *engine, struct dir *dir)
{
	if (engine->starved > 0)
		close_both(engine, dir);
	else
		list_add(engine, dir);
}

void weir__dir_unpin(struct engine *engine, struct dir *dir)
{
	(void)pthread_mutex_lock(&engine->lock);
	if (--dir->pins == 0 && dir->parent)
		keep_or_close(engine, dir);
	(void)pthread_mutex_unlock(&engine->lock);
}

void weir__dir_adopt(struct engine *engine, struct dir *dir, int src, int dst)
{
	(void)pthread_mutex_lock(&engine->lock);
	dir->src = src;
	dir->dst = dst;
	keep_or_close(engine, dir);
	(void)pthread_mutex_unlock(&engine->lock);
}

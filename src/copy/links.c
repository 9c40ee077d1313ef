/* copy: files with several names.
 *
 * The first name that comes by copies the file and holds the group's semaphore meanwhile; the
 * others wait for it and link. If it failed, the next one copies. Only files with more than one
 * name are remembered, and only until all their names were seen. */
#include "copy/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct group {
	struct group *next;
	dev_t dev;
	ino_t ino;
	struct weir_sem turn;
	uint32_t users; /* guarded by engine->lock, as is the list */
	uint64_t left;  /* names that were not seen yet */
	/* Where the copy is; with the turn. */
	struct dir *dir;
	char *name;
	dev_t dst_dev;
	ino_t dst_ino;
};

static struct group **slot(struct engine *engine, const struct stat *st)
{
	size_t n = sizeof(engine->groups) / sizeof(*engine->groups);
	struct group **at = &engine->groups[(st->st_ino ^ st->st_dev) % n];

	while (*at && ((*at)->ino != st->st_ino || (*at)->dev != st->st_dev))
		at = &(*at)->next;
	return at;
}

static struct group *find(struct engine *engine, const struct stat *st)
{
	struct group **at;
	struct group *group;

	(void)pthread_mutex_lock(&engine->lock);
	at = slot(engine, st);
	group = *at;
	if (!group) {
		group = calloc(1, sizeof(*group));
		if (group) {
			group->dev = st->st_dev;
			group->ino = st->st_ino;
			group->left = st->st_nlink;
			(void)weir_sem_init(&group->turn, 1);
			*at = group;
		}
	}
	if (group)
		group->users++;
	(void)pthread_mutex_unlock(&engine->lock);
	return group;
}

static void free_group(struct engine *engine, struct group *group)
{
	if (group->dir)
		weir__dir_unref(engine, group->dir);
	free(group->name);
	free(group);
}

static void leave(struct engine *engine, struct group *group, bool arrived)
{
	struct stat key = { .st_dev = group->dev, .st_ino = group->ino };
	bool last;

	(void)weir_sem_release(&group->turn, 1);
	(void)pthread_mutex_lock(&engine->lock);
	group->users--;
	if (arrived && group->left > 0)
		group->left--;
	last = group->users == 0 && group->left == 0;
	if (last)
		*slot(engine, &key) = group->next;
	(void)pthread_mutex_unlock(&engine->lock);
	if (last)
		free_group(engine, group);
}

static bool is_the_copy(const struct group *group, int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == group->dst_ino &&
	       st.st_dev == group->dst_dev;
}

/* Links the copy to a name that is free: 0 when that is a link to it, -EEXIST when it was not. */
static int link_new(const struct group *group, int to, const char *name)
{
	if (linkat(group->dir->dst, group->name, to, name, 0) < 0)
		return -errno;
	if (is_the_copy(group, to, name))
		return 0;
	/* Somebody has put something else in its place meanwhile. */
	(void)unlinkat(to, name, 0);
	return -ESTALE;
}

/* With both directories pinned. */
static int link_to(struct file *file, const struct group *group)
{
	int to = file->entry->dir->dst;
	const char *name = file->entry->dst_name;
	char temp[40];
	int result = link_new(group, to, name);

	if (result != -EEXIST || is_the_copy(group, to, name))
		return result == -EEXIST ? 0 : result;
	weir__temp_name(file->worker->engine, temp, sizeof(temp));
	result = link_new(group, to, temp);
	if (result == 0 && renameat(to, temp, to, name) < 0) {
		result = -errno;
		(void)unlinkat(to, temp, 0);
	}
	return result;
}

int weir__group_join(struct file *file, struct group **ret)
{
	struct engine *engine = file->worker->engine;
	struct group *group = find(engine, &file->st);
	int result;

	if (!group)
		return -ENOMEM;
	(void)weir_sem_acquire(&group->turn, 1);
	if (!group->dir) {
		*ret = group;
		return 0;
	}
	/* The descriptors of the file are not needed any more: they pay for the directory. */
	(void)close(file->src);
	file->src = -1;
	file->spent = true;
	result = weir__dir_pin(engine, group->dir);
	if (result == 0) {
		result = link_to(file, group);
		weir__dir_unpin(engine, group->dir);
	}
	if (result == -ENOENT || result == -ESTALE) {
		/* Somebody took the copy away: the next one is made of the source again. */
		weir__dir_unref(engine, group->dir);
		free(group->name);
		group->dir = NULL;
		group->name = NULL;
		leave(engine, group, false);
		return 2;
	}
	leave(engine, group, result == 0);
	return result == 0 ? 1 : result;
}

void weir__group_done(struct file *file, struct group *group, int result)
{
	struct engine *engine = file->worker->engine;
	struct dir *dir = file->entry->dir;
	struct stat st;

	if (result == 0)
		group->name = strdup(file->entry->dst_name);
	if (group->name && fstatat(dir->dst, group->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		group->dst_dev = st.st_dev;
		group->dst_ino = st.st_ino;
		(void)__atomic_add_fetch(&dir->refs, 1, __ATOMIC_RELAXED);
		group->dir = dir;
	}
	leave(engine, group, result == 0);
}

void weir__groups_free(struct engine *engine)
{
	for (size_t i = 0; i < sizeof(engine->groups) / sizeof(*engine->groups); i++) {
		while (engine->groups[i]) {
			struct group *group = engine->groups[i];

			engine->groups[i] = group->next;
			free_group(engine, group);
		}
	}
}

/* copy: what the caller is told. */
#include "copy/engine.h"

#include <stdlib.h>
#include <string.h>

/* The path in the source: a string to be freed, or NULL. */
static char *path_of(const struct dir *dir, const char *name)
{
	size_t size = strlen(name) + 1;
	char *path;
	char *at;

	for (const struct dir *up = dir; up; up = up->parent)
		size += strlen(up->name) + 1;
	path = malloc(size);
	if (!path)
		return NULL;
	at = path + size - strlen(name) - 1;
	memcpy(at, name, strlen(name) + 1);
	for (const struct dir *up = dir; up; up = up->parent) {
		size_t length = strlen(up->name);

		/* A root's name may be empty, or end in a slash as it was given. */
		if (*at && length > 0 && up->name[length - 1] != '/')
			*--at = '/';
		at -= length;
		memcpy(at, up->name, length);
	}
	memmove(path, at, strlen(at) + 1);
	return path;
}

void weir__tell_failed(struct engine *engine, const struct dir *dir, const char *name, int error)
{
	char *path;

	COUNT(engine, failed, 1);
	if (!engine->config->failed)
		return;
	path = path_of(dir, name);
	(void)pthread_mutex_lock(&engine->telling);
	engine->config->failed(path ? path : name, error, engine->config->arg);
	(void)pthread_mutex_unlock(&engine->telling);
	free(path);
}

void weir__tell_done(struct engine *engine, const struct dir *dir, const char *name, char kind)
{
	char *path;

	if (kind == '-')
		COUNT(engine, skipped, 1);
	else if (kind == 'f' || kind == 'h')
		COUNT(engine, files, 1);
	else if (kind == 'd')
		COUNT(engine, directories, 1);
	else if (kind == 'l')
		COUNT(engine, symlinks, 1);
	else
		COUNT(engine, specials, 1);
	if (!engine->config->done)
		return;
	path = path_of(dir, name);
	(void)pthread_mutex_lock(&engine->telling);
	engine->config->done(path ? path : name, kind, engine->config->arg);
	(void)pthread_mutex_unlock(&engine->telling);
	free(path);
}

/* They go on counting meanwhile; each figure is right by itself. */
static void copy_counters(struct weir_copy_stats *to, const struct weir_copy_stats *from)
{
	const uint32_t *source = (const uint32_t *)(const void *)from;
	uint32_t *target = (uint32_t *)(void *)to;

	*to = (struct weir_copy_stats){ 0 };
	for (const uint64_t *at = &from->files; at <= &from->found_bytes; at++)
		(&to->files)[at - &from->files] = __atomic_load_n(at, __ATOMIC_RELAXED);
	for (size_t i = offsetof(struct weir_copy_stats, limit) / sizeof(*source);
	     i <= offsetof(struct weir_copy_stats, ring) / sizeof(*source); i++)
		target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

void weir__tell_progress(struct engine *engine)
{
	struct weir_copy_stats stats;
	struct weir_sem_stats permits;

	weir_sem_stats(&engine->permits, &permits);
	(void)pthread_mutex_lock(&engine->telling);
	copy_counters(&stats, &engine->stats);
	stats.limit = permits.limit;
	stats.in_flight = permits.held;
	stats.elapsed = weir_now() - engine->since;
	engine->config->progress(&stats, engine->config->arg);
	(void)pthread_mutex_unlock(&engine->telling);
}

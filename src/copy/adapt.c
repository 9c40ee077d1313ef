/* copy: when descriptors or memory are short (C6): less at a time, and more again later. */
#include "copy/engine.h"

#include <errno.h>

enum { TRIES = 40 };

/* Waits after a lack of something grow up to this. */
static const weir_time pause_most = 100 * WEIR_MS;

static bool is_short(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

static void shrink(struct engine *engine)
{
	struct weir_sem_stats stats;

	weir__dirs_evict(engine);
	(void)pthread_mutex_lock(&engine->lock);
	weir_sem_stats(&engine->permits, &stats);
	__atomic_store_n(&engine->calm, 0, __ATOMIC_RELAXED);
	if (stats.limit > 1) {
		(void)weir_sem_resize(&engine->permits, stats.limit / 2);
		COUNT(engine, shrinks, 1);
	}
	(void)pthread_mutex_unlock(&engine->lock);
}

/* As many entries as are in flight went well: the limit rises by an eighth. */
static void grow(struct engine *engine)
{
	struct weir_sem_stats stats;
	uint32_t calm = __atomic_add_fetch(&engine->calm, 1, __ATOMIC_RELAXED);

	if (__atomic_load_n(&engine->stats.shrinks, __ATOMIC_RELAXED) == 0)
		return;
	weir_sem_stats(&engine->permits, &stats);
	if (stats.limit >= engine->limit || calm < 2 * stats.limit)
		return;
	(void)pthread_mutex_lock(&engine->lock);
	__atomic_store_n(&engine->calm, 0, __ATOMIC_RELAXED);
	stats.limit += stats.limit / 8 + 1;
	if (stats.limit > engine->limit)
		stats.limit = engine->limit;
	(void)weir_sem_resize(&engine->permits, stats.limit);
	(void)pthread_mutex_unlock(&engine->lock);
}

int weir__adapt(struct engine *engine, int (*attempt)(void *arg), void *arg)
{
	weir_time pause = WEIR_MS;
	int result = attempt(arg);

	for (int i = 0; is_short(result) && i < TRIES; i++) {
		if (engine_has(engine, WEIR_COPY_NO_ADAPT) || engine_cancelled(engine))
			return result;
		shrink(engine);
		(void)weir_sleep(pause);
		pause = 2 * pause < pause_most ? 2 * pause : pause_most;
		result = attempt(arg);
	}
	if (result == 0)
		grow(engine);
	return result;
}

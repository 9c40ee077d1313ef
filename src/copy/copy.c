/* copy: weir_copy itself: threads and their dispatchers. */
#include "copy/engine.h"

#include <errno.h>
#include <stdlib.h>

enum { QUEUE_DEPTH = 256 };

struct task {
	struct worker *worker;
	struct entry *entry;
};

static int run_entry(void *arg, intptr_t *value)
{
	struct entry *entry = arg;
	struct worker *worker = entry->arg;

	(void)value;
	(void)weir_shield(true);
	weir__entry_copy(worker, entry);
	worker->tasks--;
	return 0;
}

static int run_walk(void *arg, intptr_t *value)
{
	struct task *task = arg;
	struct worker *worker = task->worker;
	struct entry *entry = task->entry;

	(void)value;
	(void)weir_shield(true);
	free(task);
	if (entry->kind == KIND_WALK) {
		weir__walk(worker, entry->arg);
		(void)__atomic_sub_fetch(&worker->engine->walkers, 1, __ATOMIC_RELAXED);
	} else {
		weir__bulk_help(worker, entry->arg);
	}
	weir__batch_unref(entry->batch);
	worker->tasks--;
	return 0;
}

/* Starts a task. Where there is no memory for one, others end first, and give theirs back; a
 * dispatcher that has none of its own has memory for one. */
static void start(struct worker *worker, weir_task_fn *fn, void *arg)
{
	struct weir_future *future = weir_spawn(fn, arg);

	while (!future) {
		(void)weir_sleep(WEIR_MS);
		future = weir_spawn(fn, arg);
	}
	weir_future_unref(future);
	worker->tasks++;
}

static void start_walk(struct worker *worker, struct entry *entry)
{
	struct task *task = malloc(sizeof(*task));

	while (!task) {
		(void)weir_sleep(WEIR_MS);
		task = malloc(sizeof(*task));
	}
	task->worker = worker;
	task->entry = entry;
	start(worker, run_walk, task);
}

static int tick(void *arg, intptr_t *value)
{
	struct worker *worker = arg;
	struct engine *engine = worker->engine;
	weir_time interval = engine->config->progress_interval;

	(void)value;
	while (weir_sleep(interval > 0 ? interval : 200 * WEIR_MS) == 0 &&
	       !__atomic_load_n(&engine->finished, __ATOMIC_ACQUIRE))
		weir__tell_progress(engine);
	return 0;
}

/* The dispatcher, the root of each thread's tasks. */
static int dispatch(void *arg, intptr_t *value)
{
	struct worker *worker = arg;
	struct engine *engine = worker->engine;

	(void)value;
	(void)weir_shield(true);
	if (worker->index == 0 && engine->config->progress)
		weir_future_unref(weir_spawn(tick, worker));
	while (true) {
		struct entry *entry = weir__queue_take(worker);

		if (!entry || entry->kind == KIND_STOP) {
			if (entry)
				weir__batch_unref(entry->batch);
			break;
		}
		if (entry->kind == KIND_ENTRY) {
			(void)weir_sem_acquire(&engine->permits, 1);
			entry->arg = worker;
			start(worker, run_entry, entry);
		} else {
			start_walk(worker, entry);
		}
		/* It runs now, while what it needs is in the caches. */
		(void)weir_yield();
	}
	while (worker->tasks > 0)
		(void)weir_sleep(WEIR_MS / 10);
	return 0;
}

static void *run_thread(void *arg)
{
	struct worker *worker = arg;
	struct weir_run_config config = { 0 };

	weir__io_begin(worker->io);
	config.poller = weir__io_poller(worker->io);
	worker->result = weir_run(dispatch, worker, &config);
	return NULL;
}

static int make_worker(struct engine *engine, struct worker *worker)
{
	uint32_t depth = engine->config->queue_depth ? engine->config->queue_depth : QUEUE_DEPTH;
	int result;

	worker->engine = engine;
	worker->buffer = malloc(engine->buffer_size);
	if (!worker->buffer)
		return -ENOMEM;
	result = weir__io_new(engine->ring ? depth : 0, &worker->io);
	if (result < 0 && engine->ring)
		result = weir__io_new(0, &worker->io);
	if (result < 0) {
		free(worker->buffer);
		worker->buffer = NULL;
	}
	return result;
}

/* Reading a directory or an inode waits for the disk, and a thread with it: then there is one more,
 * so that no processor does. As long as all is in the caches, more threads than processors would
 * only be in each other's way. */
static void *run_spare(void *arg)
{
	struct worker *worker = arg;
	struct engine *engine = worker->engine;

	(void)weir_sem_acquire(&engine->cold, 1);
	if (!__atomic_load_n(&engine->finished, __ATOMIC_ACQUIRE) &&
	    make_worker(engine, worker) == 0)
		(void)run_thread(worker);
	return NULL;
}

/* A thread that could not be made is missed by nobody, as long as one is there. */
static int make_workers(struct engine *engine, struct worker *workers)
{
	uint32_t made = 0;
	int result = -ENOMEM;

	for (; made < engine->threads; made++) {
		workers[made].index = made;
		result = make_worker(engine, &workers[made]);
		if (result < 0)
			break;
	}
	engine->threads = made;
	engine->stats.ring = made > 0 && weir__io_poller(workers[0].io);
	return made > 0 ? 0 : result;
}

static bool start_spare(struct engine *engine, struct worker *worker)
{
	worker->engine = engine;
	worker->index = engine->threads;
	return engine->spare > 0 && pthread_create(&worker->thread, NULL, run_spare, worker) == 0;
}

/* The calling thread is the first of them. */
static int run_workers(struct engine *engine, struct worker *workers)
{
	struct worker *spare = &workers[engine->threads];
	uint32_t started = 1;
	bool has_spare;
	int result = 0;

	while (started < engine->threads &&
	       pthread_create(&workers[started].thread, NULL, run_thread, &workers[started]) == 0)
		started++;
	has_spare = start_spare(engine, spare);
	(void)run_thread(&workers[0]);
	weir__begin_spare(engine); /* which finds nothing to do */
	if (has_spare)
		(void)pthread_join(spare->thread, NULL);
	for (uint32_t i = 0; i < started; i++) {
		if (i > 0)
			(void)pthread_join(workers[i].thread, NULL);
		if (workers[i].result < 0)
			result = workers[i].result;
	}
	return result;
}

static int run(struct engine *engine)
{
	uint32_t threads = engine->threads + 1;
	struct worker *workers = calloc(threads, sizeof(*workers));
	int result = -ENOMEM;

	if (!workers)
		return result;
	result = make_workers(engine, workers);
	if (result == 0 && engine->sources_left > 0)
		result = run_workers(engine, workers);
	for (uint32_t i = 0; i < threads; i++) {
		weir__cold_free(&workers[i]);
		weir__io_free(workers[i].io);
		free(workers[i].buffer);
	}
	free(workers);
	weir__groups_free(engine);
	return result;
}

int weir_copy(const struct weir_copy_config *config, struct weir_copy_stats *stats)
{
	struct engine *engine;
	int result = weir__setup_check(config);

	if (result < 0)
		return result;
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		return -ENOMEM;
	result = weir__setup(engine, config);
	/* The roots' descriptors are counted among those that are open anyway. */
	if (result == 0)
		result = weir__roots_open(engine);
	if (result == 0)
		result = weir__setup_fds(engine);
	if (result == 0)
		result = run(engine);
	if (result == 0 && engine_cancelled(engine))
		result = -ECANCELED;
	if (result == 0 && engine->stats.failed > 0)
		result = 1;
	if (stats && (result >= 0 || result == -ECANCELED)) {
		engine->stats.limit = engine->limit;
		engine->stats.elapsed = weir_now() - engine->since;
		*stats = engine->stats;
	}
	weir__queue_free(engine);
	free(engine->destination);
	free(engine);
	return result;
}

void weir_copy_cancel(struct weir_copy_flag *cancel)
{
	__atomic_store_n(&cancel->asked, 1, __ATOMIC_RELAXED);
}

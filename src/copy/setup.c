/* copy: from what the caller wants to the bounds that hold. */
#include "copy/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	LIMIT = 1024,
	LIMIT_MOST = 1 << 20,
	THREADS_MOST = 256,
	THREADS_DEFAULT = 32, /* at most: each has a buffer */
	BUFFER = 256 * 1024,
	READY_MOST = 1 << 28,
	QUEUE_ROOM = 512,
	BUFFERS_MIB = 8,
	/* Descriptors: for each thread its bell and its ring; for a step from one directory to the
	 * next; the least to copy anything with. */
	FDS_A_THREAD = 2,
	FDS_IN_PASSING = 2,
	FDS_LEAST = 4,
	/* Of the bound that is promised, left to the roots and whoever calls. */
	FDS_OF_OTHERS = 10,
	TABLE_MOST = 4095, /* 32 KiB in the kernel */
};

static const uint64_t parallel_min = 32 * 1024 * 1024;

static mode_t read_umask(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	unsigned int mask = 022;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "Umask: %o", &mask) == 1)
			break;
	}
	if (status)
		(void)fclose(status);
	return mask & 0777;
}

static uint32_t open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint32_t n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n > 3 ? n - 3 : 3; /* less ".", ".." and the one that looked */
}

/* The kernel's table of descriptors gets its size now: when it grows later, and threads share it,
 * all of them wait for that, at every power of two. */
static void widen_table(uint64_t most)
{
	int fd = open("/", O_PATH | O_CLOEXEC);
	int last = -1;

	if (fd >= 0)
		last = fcntl(fd, F_DUPFD_CLOEXEC, most < TABLE_MOST ? (int)most : TABLE_MOST);
	if (last >= 0)
		(void)close(last);
	if (fd >= 0)
		(void)close(fd);
}

/* Shares out the descriptors: first threads are given up, then rings, for one can do without. */
int weir__setup_fds(struct engine *engine)
{
	struct rlimit files = { .rlim_cur = RLIM_INFINITY };
	uint64_t most = 2 * (uint64_t)engine->limit + 64 - FDS_OF_OTHERS;
	uint64_t others = open_descriptors();
	uint64_t all;

	(void)getrlimit(RLIMIT_NOFILE, &files);
	all = files.rlim_cur == RLIM_INFINITY ? most + others : files.rlim_cur;
	all -= others < all ? others : all;
	if (all > most)
		all = most;
	widen_table(others + all - 1);
	if (all < (uint64_t)(engine->threads + engine->spare) * (FDS_A_THREAD + 2 * FDS_LEAST) +
			  FDS_IN_PASSING)
		engine->spare = 0;
	while (engine->threads > 1 &&
	       all < (uint64_t)engine->threads * (FDS_A_THREAD + 2 * FDS_LEAST) + FDS_IN_PASSING)
		engine->threads--;
	if (all < FDS_A_THREAD + 2 * FDS_LEAST + FDS_IN_PASSING)
		engine->ring = false;
	all -= (engine->threads + engine->spare) * (engine->ring ? FDS_A_THREAD : 1) +
	       FDS_IN_PASSING;
	if (all < FDS_LEAST || all > most)
		return -EMFILE;
	return weir_sem_init(&engine->fds, (uint32_t)all);
}

static uint32_t processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

int weir__setup_check(const struct weir_copy_config *config)
{
	bool ok = config && config->sources && config->source_count > 0 && config->destination &&
		  config->destination[0] && config->method <= WEIR_COPY_READ_WRITE &&
		  config->flags < WEIR_COPY_LENIENT << 1 && config->max_files <= LIMIT_MOST &&
		  config->threads <= THREADS_MOST && config->queue_depth <= 32768 &&
		  (config->buffer_size == 0 || config->buffer_size >= 4096) &&
		  config->buffer_size <= 64 << 20 && config->progress_interval >= 0;

	for (size_t i = 0; ok && i < config->source_count; i++)
		ok = config->sources[i] && config->sources[i][0];
	for (size_t i = 0; ok && i < config->rule_count; i++)
		ok = config->rules && config->rules[i].pattern;
	return ok ? 0 : -EINVAL;
}

int weir__setup(struct engine *engine, const struct weir_copy_config *config)
{
	uint64_t units = config->max_bytes / 4096 + 1;

	engine->config = config;
	engine->flags = config->flags;
	engine->since = weir_now();
	engine->limit = config->max_files ? config->max_files : LIMIT;
	engine->buffer_size = config->buffer_size ? config->buffer_size : BUFFER;
	engine->parallel_min = config->parallel_min ? config->parallel_min : parallel_min;
	engine->umask = read_umask();
	engine->uid = geteuid();
	engine->gid = getegid();
	engine->ring = !engine_has(engine, WEIR_COPY_NO_RING) && weir__io_probe();
	engine->threads = config->threads;
	/* Without a ring a thread waits where a task would: more of them make up for it. */
	if (engine->threads == 0)
		engine->threads = engine->ring ? processors() : 4 * processors();
	if (config->threads == 0 && engine->threads > THREADS_DEFAULT)
		engine->threads = THREADS_DEFAULT;
	engine->spare = config->threads == 0 && engine->ring ? 1 : 0;
	/* More threads than permits would only hand them back and forth. */
	if (engine->threads > engine->limit)
		engine->threads = engine->limit;
	if (engine->threads == engine->limit)
		engine->spare = 0;
	if (getrandom(&engine->random, sizeof(engine->random), 0) < 0)
		return -errno;
	if (config->max_bytes > 0)
		engine->byte_units = units < WEIR_SEM_MAX ? (uint32_t)units : WEIR_SEM_MAX;
	(void)weir_sem_init(&engine->permits, engine->limit);
	(void)weir_sem_init(&engine->room, engine->limit + QUEUE_ROOM);
	(void)weir_sem_init(&engine->ready, READY_MOST);
	(void)weir_sem_acquire(&engine->ready, READY_MOST);
	(void)weir_sem_init(&engine->bytes, engine->byte_units ? engine->byte_units : 1);
	/* Room for a few whole buffers at least. */
	units = engine->buffer_size / 4096 * 4;
	(void)weir_sem_init(&engine->buffers,
			    units > BUFFERS_MIB * 256 ? (uint32_t)units : BUFFERS_MIB * 256);
	(void)weir_sem_init(&engine->cold, 1);
	(void)weir_sem_acquire(&engine->cold, 1);
	(void)pthread_mutex_init(&engine->lock, NULL);
	(void)pthread_mutex_init(&engine->telling, NULL);
	return 0;
}

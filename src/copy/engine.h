/* copy: one call of weir_copy, from the inside.
 *
 * WHO DOES WHAT. Each thread runs a scheduler. Walkers (tasks) read directories and put what they
 * find into the one queue. In each thread a dispatcher takes entries from it, takes a permit for
 * each and starts a task that copies it. A directory is made by its walker, and completed by
 * whoever finishes the last thing in it.
 *
 * WHO WAITS FOR WHAT, in this order, each holding only what stands before: room in the queue, a
 * permit, descriptors, bytes, buffers. Nobody waits for something further left than what it holds,
 * so there is no circle (C1). Descriptors are asked for once, for all that is needed.
 */
#ifndef WEIR_COPY_ENGINE_H
#define WEIR_COPY_ENGINE_H

#include "io/io.h"

#include <linux/openat2.h>
#include <pthread.h>
#include <sys/stat.h>
#include <weir/copy.h>
#include <weir/sem.h>
#include <weir/task.h>

/* Only ever below the directory one stands in. */
#define STAY_BELOW (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* A directory of the source and its copy. Its descriptors may be closed while nobody uses them, and
 * are opened again by way of the nearest ancestor that has its own. */
struct dir {
	struct dir *parent;   /* NULL: a root, whose descriptors stay open */
	const char *name;     /* in the source */
	const char *dst_name; /* in the destination: another one below a root only */
	uint32_t refs;        /* shared */
	uint32_t pending;     /* shared: its walker, and entries that are not finished */
	uint32_t depth;
	uint32_t plain; /* shared: 1 + the mode of a new file that came out as it was asked for */
	bool existed;   /* the copy was there before */
	bool foreign; /* another file system's, and only the source's own is wanted: stays empty */
	bool bare;    /* a root that is no directory of the tree: nothing is set on it */
	struct stat st;

	/* Guarded by engine->lock. */
	int src;
	int dst;
	uint32_t pins;
	bool moved; /* opened again: reading goes on at `cookie` */
	struct dir *newer;
	struct dir *older;

	dev_t dst_dev;
	ino_t dst_ino;
	int64_t cookie;
	char names[];
};

/* Memory to read small files into, kept for the next one: see cold.c. */
struct block;
enum { BLOCK_UNITS = 32 };

enum kind { KIND_ENTRY, KIND_WALK, KIND_HELP, KIND_STOP };

/* Entries that travel together: what one look into a directory found. */
struct entry {
	struct batch *batch;
	struct dir *dir;
	const char *name;
	const char *dst_name;
	void *arg; /* of KIND_WALK and KIND_HELP */
	enum kind kind;
	unsigned char type; /* DT_*, a mere hint */
};

struct batch {
	struct batch *next;
	struct worker *owner; /* guarded by engine->lock, as the next two */
	uint32_t taken;
	uint32_t refs; /* shared */
	uint32_t count;
	uint32_t phase; /* of a source: 0 is the first */
	uint32_t roots; /* of a source: whether it has a root of its own */
	struct entry entries[];
};

struct group; /* the names of one file: see links.c */

struct worker {
	struct engine *engine;
	struct weir__io *io;
	struct batch *current; /* its own in the queue, or NULL; guarded by engine->lock */
	char *buffer;          /* for what does not wait between reading and writing */
	struct block *blocks[BLOCK_UNITS + 1]; /* by their size in units; its thread's only */
	uint32_t kept;                         /* units in them */
	pthread_t thread;
	uint32_t index;
	uint32_t tasks; /* that have not ended; all in this thread */
	int result;
};

struct engine {
	const struct weir_copy_config *config;
	uint32_t flags;
	uint32_t limit;
	uint32_t threads;
	uint32_t spare; /* 1: one more, which begins when something is on the disk only */
	size_t buffer_size;
	uint64_t parallel_min;
	mode_t umask;
	uid_t uid;
	gid_t gid;
	bool ring;
	char *destination; /* as it was understood */

	struct weir_sem room;
	struct weir_sem ready;
	struct weir_sem permits;
	struct weir_sem fds;
	struct weir_sem bytes;
	struct weir_sem buffers;
	struct weir_sem cold; /* has a permit when the spare thread is to begin */
	uint32_t byte_units;

	pthread_mutex_t lock;
	struct batch *first;
	struct batch *last;
	struct batch *later; /* sources of later phases: whoever finishes a phase looks here */
	struct batch *last_later;
	struct dir *newest; /* open directories that nobody uses, evictable */
	struct dir *oldest;
	uint32_t starved; /* who waits for descriptors */
	uint32_t walkers;
	struct group *groups[1024];

	pthread_mutex_t telling; /* callbacks, one at a time */
	uint32_t sources_left;   /* shared */
	uint32_t finished;       /* shared */
	uint32_t spare_began;    /* shared */
	uint32_t calm;           /* shared: entries since the limit was last lowered */
	uint32_t no_reflink;     /* shared: it was refused once, and so were these */
	uint32_t no_range;
	uint32_t no_tmpfile;
	uint32_t no_direct;
	uint32_t no_noatime;
	dev_t memory_dev; /* shared: a file system in memory, if one was met */
	uint64_t temp_names;
	uint64_t random;
	dev_t dst_dev; /* the destination's root, which must not be found in a source */
	ino_t dst_ino;
	weir_time since;
	struct weir_copy_stats stats; /* shared */
};

#define COUNT(engine, what, n) \
	((void)__atomic_add_fetch(&(engine)->stats.what, (n), __ATOMIC_RELAXED))

static inline bool engine_cancelled(const struct engine *engine)
{
	return engine->config->cancel &&
	       __atomic_load_n(&engine->config->cancel->asked, __ATOMIC_RELAXED);
}

static inline bool engine_has(const struct engine *engine, uint32_t flag)
{
	return (engine->flags & flag) != 0;
}

/* setup.c: whether the configuration makes sense; all but the descriptors; and these, when the
 * roots have been opened. */
int weir__setup_check(const struct weir_copy_config *config);
int weir__setup(struct engine *engine, const struct weir_copy_config *config);
int weir__setup_fds(struct engine *engine);

/* queue.c */
struct batch *weir__batch_new(uint32_t count, size_t name_bytes);
char *weir__batch_names(struct batch *batch);
void weir__batch_unref(struct batch *batch);
void weir__queue_put(struct engine *engine, struct batch *batch, bool wait);
/* A source that waits for those of the phases before; and those of the next phase, when all before
 * have been copied. False: there are none. */
void weir__queue_put_later(struct engine *engine, struct batch *batch);
bool weir__queue_next(struct engine *engine);
void weir__queue_free(struct engine *engine);
/* The next entry; NULL when there will be none. */
struct entry *weir__queue_take(struct worker *worker);

/* dirs.c: nodes and their descriptors. */
struct dir *weir__dir_new(struct dir *parent, const char *name, const char *dst_name);
void weir__dir_unref(struct engine *engine, struct dir *dir);
/* Takes n descriptors from the budget, or gives them back. */
void weir__fds_take(struct engine *engine, uint32_t n);
void weir__fds_put(struct engine *engine, uint32_t n);
/* Makes dir->src and dir->dst usable until unpin. The caller has taken 2 descriptors for it; they
 * go back to the budget if they are not needed. */
int weir__dir_pin(struct engine *engine, struct dir *dir);
void weir__dir_unpin(struct engine *engine, struct dir *dir);
/* A directory that was just opened, and whose 2 descriptors the caller has taken. */
void weir__dir_adopt(struct engine *engine, struct dir *dir, int src, int dst);
void weir__dirs_evict(struct engine *engine);

/* walk.c */
void weir__walk(struct worker *worker, struct dir *dir);
/* Opens, makes and starts on a directory: 0 and its node, or an error. */
int weir__enter(struct worker *worker, struct dir *parent, const char *name, const char *dst_name,
		struct dir **ret);
/* One thing in dir is finished. */
void weir__dir_done(struct worker *worker, struct dir *dir);

/* entry.c */
void weir__entry_copy(struct worker *worker, struct entry *entry);

/* adapt.c: runs attempt(arg), again and again while descriptors or memory are short. */
int weir__adapt(struct engine *engine, int (*attempt)(void *arg), void *arg);

/* A regular file on its way. */
struct file {
	struct worker *worker;
	struct entry *entry;
	int src;
	int dst;
	struct stat st;
	char temp[40]; /* the name of a named temporary file, or "" */
	mode_t made;   /* the mode it was made with */
	mode_t keep;   /* permissions of the file it replaces, or NO_MODE */
	bool spent;    /* its descriptors went back to the budget already */
	bool ended;    /* the last read found the end of the source */
	bool cold;     /* nothing of it was in memory when it was opened */
};

#define NO_MODE ((mode_t)-1)

/* range.c. Whether the method is to be used; whether the error means "not this way". */
bool weir__does(const struct file *file, enum weir_copy_method method);
bool weir__is_refused(int error);
/* Copies what lies between, by the method that was asked for or the best: 0 or an error. */
int weir__data_range(struct file *file, off_t from, off_t to);
/* Copies up to `to`, or to the end of the file if that comes first, or if not to wait, to where it
 * would have to. Returns where it ended, or an error. Waiting takes a buffer of its own, for
 * meanwhile others need the thread's. */
off_t weir__read_write(struct file *file, off_t at, off_t to, char *buffer, size_t size, bool wait);
off_t weir__read_write_waiting(struct file *file, off_t at, off_t to);
int weir__write_all(int fd, const char *data, size_t size, off_t offset);

/* cold.c. One more thread, for now there is something to wait for. */
void weir__begin_spare(struct engine *engine);
/* A file that is on the disk only. 1: it was copied; 0: not this way, or an error. */
int weir__cold_copy(struct file *file);
void weir__cold_free(struct worker *worker);

/* file.c, data.c, bulk.c, meta.c, special.c, links.c. All return 0 or a negative error. */
int weir__file_copy(struct file *file);
int weir__data_copy(struct file *file);
int weir__data_verify(struct file *file);
int weir__bulk_copy(struct file *file);
void weir__bulk_help(struct worker *worker, void *arg);
/* From one open file to another, of which *now is true now. */
int weir__meta_fd(struct engine *engine, int src, int dst, const struct stat *st, mode_t mode,
		  bool inherits, const struct stat *now);
int weir__meta_path(struct engine *engine, int src, int dst_dir, const char *name,
		    const struct stat *st);
/* What is no regular file and no directory; file->src only looks at it. 2: to be tried again. */
int weir__special_copy(struct file *file);
void weir__temp_name(struct engine *engine, char *name, size_t size);

/* The group of a file with several names. 0: the caller copies it, and then says how that went
 * with weir__group_done. 1: it was linked. 2: to be tried again. Or an error. But for 0,
 * file->spent is set when its descriptors are gone. */
int weir__group_join(struct file *file, struct group **ret);
void weir__group_done(struct file *file, struct group *group, int result);
void weir__groups_free(struct engine *engine);

/* filter.c: whether the entry is to be left out. dir is NULL for a source by its name. */
bool weir__filtered(const struct weir_copy_config *config, const struct dir *dir, const char *name,
		    bool is_dir);

/* tell.c */
void weir__tell_failed(struct engine *engine, const struct dir *dir, const char *name, int error);
void weir__tell_done(struct engine *engine, const struct dir *dir, const char *name, char kind);
void weir__tell_progress(struct engine *engine);

/* sources.c: which sources meet. For each, when it has its turn: an array to be freed. */
enum weir__turn {
	TURN_WITH,  /* those before it, in the same phase */
	TURN_AFTER, /* them, in a new phase */
	TURN_NEVER, /* it is one of them */
	TURN_REFUSED,
};
int weir__sources_turns(const struct weir_copy_config *config, enum weir__turn **ret);
/* Whether a source stands for what is in it: it ends in a slash or in a name that is none. */
bool weir__is_contents(const char *path);

/* roots.c: puts the sources into the queue. */
int weir__roots_open(struct engine *engine);

#endif

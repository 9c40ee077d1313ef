/* weir/copy.h - copying trees, with a bound on what is in flight. Link with libweir-copy.
 *
 * WHAT IT IS
 *     weir_copy() copies files and trees as `cp -a` does, many entries at a time: each entry (file,
 *     directory, symbolic link, special file) is a task that holds a permit of one semaphore while
 *     it works.
 *
 *         const char *sources[] = { "photos" };
 *         struct weir_copy_config config = {
 *                 .sources = sources,
 *                 .source_count = 1,
 *                 .destination = "backup",
 *                 .flags = WEIR_COPY_ARCHIVE,
 *         };
 *
 *         if (weir_copy(&config, NULL) != 0)
 *                 return 1;
 *
 * PROMISES
 *     C1  No entry holds a permit while it waits for another one: a limit of 1 copies any tree of
 *         any depth.
 *     C2  Memory and descriptors are bounded by limit and depth, not by the number of entries.
 *     C3  The result is 0 only when every entry arrived whole. Each failure is reported with its
 *         path; one failure does not stop the others. Whenever it is interrupted, by kill -9 too,
 *         a name in the destination is absent, the old file, or the complete new one.
 *     C4  With WEIR_COPY_ARCHIVE the copy equals that of `cp -a`: content, holes, modes, owners,
 *         times, extended attributes, access control lists, targets and groups of links.
 *     C5  Nothing outside the two trees is read or written, though somebody swaps directories and
 *         links meanwhile. Only the paths that the caller gave are followed.
 *     C6  When descriptors or memory run out, the limit shrinks and grows back later.
 *     C7  io_uring is used where it helps; where it is missing or forbidden the result is the same.
 *
 * NAMES
 *     As with cp: an existing directory as destination receives the sources by their own names, and
 *     with one source, a destination that does not exist becomes its copy. As with rsync: a source
 *     that ends in a slash (or in "." or "..") stands for what is in it, which goes right into the
 *     destination. Sources that meet there are copied one after the other, so what a later one has
 *     replaces what came before; but of two files of one name the second is refused.
 *
 * ERRORS
 *     -EINVAL     no source, no destination, an unknown flag or method, a bound out of range
 *     -ENOTDIR    several sources, or a slash at its end, and the destination is not a directory
 *     -ECANCELED  weir_copy_cancel was called: temporary names are gone, the copy is not complete
 *     -ENOMEM, -EMFILE  not even one entry could be copied at a time
 *     and what the operating system says of a destination that cannot be opened or made
 */
#ifndef WEIR_COPY_H
#define WEIR_COPY_H

#include <weir/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is copied, and how. The letters are the options of weir-cp(1). */
#define WEIR_COPY_RECURSIVE UINT32_C(0x1)     /* -r  directories and what is in them */
#define WEIR_COPY_LINKS UINT32_C(0x2)         /* -l  symbolic links, as links; else skipped */
#define WEIR_COPY_MODES UINT32_C(0x4)         /* -p  permissions; else source's less the umask */
#define WEIR_COPY_TIMES UINT32_C(0x8)         /* -t  times of modification */
#define WEIR_COPY_GROUP UINT32_C(0x10)        /* -g */
#define WEIR_COPY_OWNER UINT32_C(0x20)        /* -o */
#define WEIR_COPY_SPECIAL UINT32_C(0x40)      /* -D  devices, fifos, sockets; else skipped */
#define WEIR_COPY_HARD_LINKS UINT32_C(0x80)   /* -H  names of one file stay names of one file */
#define WEIR_COPY_XATTRS UINT32_C(0x100)      /* -X  extended attributes */
#define WEIR_COPY_ACLS UINT32_C(0x200)        /* -A  access control lists */
#define WEIR_COPY_ATIMES UINT32_C(0x400)      /* -U  times of access */
#define WEIR_COPY_FSYNC UINT32_C(0x800)       /* each file and directory reaches the disk */
#define WEIR_COPY_DRY_RUN UINT32_C(0x1000)    /* looks, and touches nothing */
#define WEIR_COPY_UPDATE UINT32_C(0x2000)     /* -u  skips what is newer there, or unchanged */
#define WEIR_COPY_VERIFY UINT32_C(0x4000)     /* reads each file back and compares */
#define WEIR_COPY_ONE_SYSTEM UINT32_C(0x8000) /* -x  what is mounted below stays empty */
#define WEIR_COPY_NO_ADAPT UINT32_C(0x10000)  /* fails where C6 would shrink the limit */
#define WEIR_COPY_NO_INTO UINT32_C(0x20000)   /* -T  the destination is never gone into */
#define WEIR_COPY_NO_RING UINT32_C(0x40000)   /* plain calls only */
#define WEIR_COPY_LENIENT                                                    \
	UINT32_C(0x80000) /* attributes that the destination cannot keep are \
			     no failure, as with cp -a */
/* -a: what cp -a keeps. */
#define WEIR_COPY_ARCHIVE UINT32_C(0x807ff)

enum weir_copy_method {
	WEIR_COPY_AUTO, /* the first of these that works, and what is fastest for the size */
	WEIR_COPY_REFLINK,
	WEIR_COPY_FILE_RANGE,
	WEIR_COPY_SPLICE,
	WEIR_COPY_READ_WRITE,
};

/* What has been done so far. */
struct weir_copy_stats {
	uint64_t files;       /* regular files that arrived, links to them included */
	uint64_t directories; /* made or found, and complete */
	uint64_t symlinks;
	uint64_t specials;
	uint64_t hard_links;    /* of the files, those that were linked instead of copied */
	uint64_t bytes;         /* of content, holes included */
	uint64_t skipped;       /* left out on purpose: unchanged, or of a kind not asked for */
	uint64_t not_asked_for; /* of these, links without WEIR_COPY_LINKS, and the like */
	uint64_t failed;
	uint64_t found; /* entries seen by now */
	uint64_t found_bytes;
	uint32_t limit;     /* permits, now */
	uint32_t in_flight; /* permits taken, now */
	uint32_t shrinks;   /* how often the limit was lowered (C6) */
	uint32_t queued;    /* entries that wait for a permit */
	uint32_t ring;      /* whether io_uring is in use */
	weir_time elapsed;
};

/* One pattern of the filter, as rsync reads them: the first that matches an entry decides; a
 * pattern with a slash at its beginning or inside is matched with the path, which begins with the
 * name of the source, or below a source that ends in a slash; any other with the name; a slash at
 * its end matches directories only; `*` stops at slashes and `**` does not; `DIR/` followed by
 * three stars is DIR and all in it; `?`, [a-z], [!a-z] and
 * [[:digit:]] are one character; a backslash takes the meaning of what follows, if there is any
 * such thing in the pattern. What is in a directory that is left out is never looked at. */
struct weir_copy_rule {
	const char *pattern;
	bool include;
};

/* Ends a copy early. All zero is one that was not asked for. */
struct weir_copy_flag {
	uint32_t asked;
};

/* What weir_copy is told; but for sources and destination, all zero is the default. Callbacks are
 * called one at a time, from any thread of the copy; they must not call weir_copy. */
struct weir_copy_config {
	const char *const *sources;
	size_t source_count;
	const char *destination;
	uint32_t flags;
	enum weir_copy_method method;
	uint32_t max_files; /* entries in flight; 0: 1024 */
	uint64_t max_bytes; /* of files in flight, larger ones one at a time; 0: no bound */
	uint32_t threads;   /* 0: one for each processor, at most 32, and one if caches are cold */
	uint32_t queue_depth;  /* of io_uring, for each thread, 1 to 32768; 0: 256 */
	uint32_t buffer_size;  /* bytes of a read, 4 KiB to 64 MiB; 0: 256 KiB */
	uint64_t parallel_min; /* files from this size are copied by several threads; 0: 32 MiB */
	const struct weir_copy_rule *rules;
	size_t rule_count;
	/* An entry failed: its path in the source, and a negative error, which is the operating
	 * system's or -ENOTUNIQ: source and destination are the same file; -EBUSY: it changed again
	 * and again while it was read; -EEXIST: another source has its name; -ELOOP: a directory
	 * would go into itself, or a source is a link; -ENXIO: a source is of another kind that was
	 * not asked for, or its destination is a device. */
	void (*failed)(const char *path, int error, void *arg);
	/* An entry arrived, or would in a dry run ('f' 'd' 'l' 's' 'h', a link to a file), or was
	 * left out ('-'). */
	void (*done)(const char *path, char kind, void *arg);
	/* Every progress_interval (0: 200 ms). */
	void (*progress)(const struct weir_copy_stats *stats, void *arg);
	weir_time progress_interval;
	void *arg;
	const struct weir_copy_flag *cancel; /* may be NULL */
};

/* Copies. From a thread, not from a task.
 * 0: everything arrived. 1: some entries failed, each was reported. Negative: see ERRORS.
 * *stats, if not NULL, is filled in for 0, 1 and -ECANCELED. */
WEIR_API int weir_copy(const struct weir_copy_config *config, struct weir_copy_stats *stats);

/* Asks the copies that were given `cancel` to end soon. From anywhere, signal handlers included. */
WEIR_API void weir_copy_cancel(struct weir_copy_flag *cancel);

#ifdef __cplusplus
}
#endif

#endif

/* cli: the options of weir-cp, as data, with what each one does. The parser, --help, the manual
 * page and the completions are made of this table. */
#include "cli/cp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A number, with K, M, G or T behind it where it counts bytes. */
static int read_number(const char *text, uint64_t least, uint64_t most, bool bytes, uint64_t *ret)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t scale = 1;
	uint64_t n;
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return -1;
	unit = bytes && *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
	if (unit) {
		scale = UINT64_C(1) << (10 * (unit - units + 1));
		end++;
		end += end[0] == 'i' && end[1] == 'B' ? 2 : 0;
	}
	if (*end || n > UINT64_MAX / scale || n * scale < least || n * scale > most)
		return -1;
	*ret = n * scale;
	return 0;
}

static int read_32(const char *text, uint32_t least, uint32_t most, bool bytes, uint32_t *ret)
{
	uint64_t n;

	if (read_number(text, least, most, bytes, &n) < 0)
		return -1;
	*ret = (uint32_t)n;
	return 0;
}

static int set_files(struct cp *cp, const char *value)
{
	return read_32(value, 1, 1 << 20, false, &cp->config.max_files);
}

static int set_bytes(struct cp *cp, const char *value)
{
	return read_number(value, 1, INT64_MAX, true, &cp->config.max_bytes);
}

static int set_threads(struct cp *cp, const char *value)
{
	return read_32(value, 1, 256, false, &cp->config.threads);
}

static int set_depth(struct cp *cp, const char *value)
{
	return read_32(value, 1, 32768, false, &cp->config.queue_depth);
}

static int set_buffer(struct cp *cp, const char *value)
{
	return read_32(value, 4096, 64 << 20, true, &cp->config.buffer_size);
}

static int set_parallel(struct cp *cp, const char *value)
{
	return read_number(value, 1, INT64_MAX, true, &cp->config.parallel_min);
}

static int set_method(struct cp *cp, const char *value)
{
	static const char *const names[] = { "auto", "reflink", "copy-file-range", "splice",
					     "read-write" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(value, names[i]) == 0) {
			cp->config.method = (enum weir_copy_method)i;
			return 0;
		}
	}
	return -1;
}

static int add_rule(struct cp *cp, const char *pattern, bool include)
{
	size_t n = cp->config.rule_count;
	struct weir_copy_rule *rules = realloc(cp->rules, (n + 1) * sizeof(*rules));

	if (!rules || !*pattern)
		return -1;
	rules[n] = (struct weir_copy_rule){ .pattern = pattern, .include = include };
	cp->rules = rules;
	cp->config.rules = rules;
	cp->config.rule_count = n + 1;
	return 0;
}

static int set_exclude(struct cp *cp, const char *value)
{
	return add_rule(cp, value, false);
}

static int set_include(struct cp *cp, const char *value)
{
	return add_rule(cp, value, true);
}

static int set_stats(struct cp *cp, const char *value)
{
	cp->stats = value && strcmp(value, "json") == 0 ? STATS_JSON : STATS_TEXT;
	return !value || cp->stats == STATS_JSON || strcmp(value, "text") == 0 ? 0 : -1;
}

static int set_progress(struct cp *cp, const char *value)
{
	(void)value;
	cp->progress = true;
	return 0;
}

static int set_verbose(struct cp *cp, const char *value)
{
	(void)value;
	cp->verbose = true;
	return 0;
}

static int set_quiet(struct cp *cp, const char *value)
{
	(void)value;
	cp->quiet = true;
	return 0;
}

/* An explicit -X or -A means it: what cannot be kept is a failure then. */
static int set_strict(struct cp *cp, const char *value)
{
	(void)value;
	cp->config.flags &= ~WEIR_COPY_LENIENT;
	return 0;
}

const struct weir__cp_option weir__cp_options[] = {
	{ 'a', "archive", NULL, WEIR_COPY_ARCHIVE, NULL, "keep everything: -rlptgoDHXAU" },
	{ 'r', "recursive", NULL, WEIR_COPY_RECURSIVE, NULL, "directories and what is in them" },
	{ 'l', "links", NULL, WEIR_COPY_LINKS, NULL, "symbolic links, as links" },
	{ 'p', "perms", NULL, WEIR_COPY_MODES, NULL, "permissions" },
	{ 't', "times", NULL, WEIR_COPY_TIMES, NULL, "times of modification" },
	{ 'U', "atimes", NULL, WEIR_COPY_ATIMES, NULL, "times of access" },
	{ 'g', "group", NULL, WEIR_COPY_GROUP, NULL, "the group" },
	{ 'o', "owner", NULL, WEIR_COPY_OWNER, NULL, "the owner (as root)" },
	{ 'D', "devices", NULL, WEIR_COPY_SPECIAL, NULL, "devices, fifos and sockets" },
	{ 'H', "hard-links", NULL, WEIR_COPY_HARD_LINKS, NULL, "which names are one file" },
	{ 'X', "xattrs", NULL, WEIR_COPY_XATTRS, set_strict, "extended attributes" },
	{ 'A', "acls", NULL, WEIR_COPY_ACLS, set_strict, "access control lists" },
	{ 'x', "one-file-system", NULL, WEIR_COPY_ONE_SYSTEM, NULL,
	  "leave what is mounted below empty" },
	{ 'T', "no-target-directory", NULL, WEIR_COPY_NO_INTO, NULL,
	  "DEST is the copy's name, directory or not" },
	{ 'u', "update", NULL, WEIR_COPY_UPDATE, NULL,
	  "skip files that are newer there, or unchanged" },
	{ 0, "verify", NULL, WEIR_COPY_VERIFY, NULL, "read each copy back and compare" },
	{ 0, "fsync", NULL, WEIR_COPY_FSYNC, NULL, "make each copy reach the disk" },
	{ 'n', "dry-run", NULL, WEIR_COPY_DRY_RUN, NULL, "touch nothing" },
	{ 0, "exclude", "PATTERN", 0, set_exclude, "leave out what matches" },
	{ 0, "include", "PATTERN", 0, set_include, "do not leave out what matches" },
	{ 0, "max-files-in-flight", "N", 0, set_files, "entries at a time (1024)" },
	{ 'j', "jobs", "N", 0, set_files, "entries at a time, too" },
	{ 0, "max-bytes-in-flight", "SIZE", 0, set_bytes, "bytes of files at a time" },
	{ 0, "threads", "N", 0, set_threads, "threads (one for each processor, or one more)" },
	{ 0, "queue-depth", "N", 0, set_depth, "entries of io_uring for each thread (256)" },
	{ 0, "buffer-size", "SIZE", 0, set_buffer, "bytes of a read (256K)" },
	{ 0, "parallel-min-size", "SIZE", 0, set_parallel, "files for several threads (32M)" },
	{ 0, "copy-method", "METHOD", 0, set_method,
	  "auto|reflink|copy-file-range|splice|read-write" },
	{ 0, "no-adaptive", NULL, WEIR_COPY_NO_ADAPT, NULL, "fail when descriptors run out" },
	{ 0, "no-io-uring", NULL, WEIR_COPY_NO_RING, NULL, "plain calls only" },
	{ 0, "progress", NULL, 0, set_progress, "show progress, on any stderr" },
	{ 'v', "verbose", NULL, 0, set_verbose, "name each entry, and a summary" },
	{ 'q', "quiet", NULL, 0, set_quiet, "neither progress nor failures by name" },
	{ 0, "stats", "[=json]", 0, set_stats, "a summary at the end" },
	{ 0, NULL, NULL, 0, NULL, NULL },
};

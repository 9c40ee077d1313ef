/* cli: what weir-cp says. */
#include "cli/cp.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is(const char *path, mode_t kind)
{
	struct stat status;

	return lstat(path, &status) == 0 && (status.st_mode & S_IFMT) == kind;
}

/* The copier has one code for three things. A source may have become something else by now, and
 * then the last words hold, as they do of a destination: that one is followed if it is a link. */
static const char *words_for_loop(const char *path, bool is_source)
{
	if (is_source && is(path, S_IFLNK))
		return "a link, and links are not followed: -l copies links";
	if (is_source && is(path, S_IFDIR))
		return "a directory cannot be copied into itself";
	return "a link is in the way";
}

/* What the copier means by these, which the C library cannot know. */
static const char *words_for(const char *path, bool is_source, int error)
{
	switch (error) {
	case -ENOTUNIQ:
		return "source and destination are the same file";
	case -ELOOP:
		return words_for_loop(path, is_source);
	case -ENOTDIR:
		/* Of the destination: a slash at its end, or several sources. */
		return access(path, F_OK) < 0 && errno == ENOENT ? "there is no such directory" :
								   strerror(ENOTDIR);
	case -EEXIST:
		return "another source has that name";
	case -EISDIR:
		return "a directory: -r copies directories, and no file replaces one";
	case -ENXIO:
		return "a device, fifo or socket: -D copies them, and nothing is written to one";
	case -EBUSY:
		return "changed again and again while it was read, or something is mounted there";
	case -ESTALE:
		return "somebody put another directory in its place";
	default:
		return strerror(-error);
	}
}

/* Control characters of a name must not reach the terminal. */
static void print_name(FILE *stream, const char *name)
{
	for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
		if (*at < ' ' || *at == 0x7f || *at == '\\')
			fprintf(stream, "\\%03o", *at);
		else
			putc(*at, stream);
	}
}

static void clear_line(struct cp *cp)
{
	if (cp->drawn)
		fputs("\r\033[K", stderr);
	cp->drawn = false;
}

void weir__cp_failed(const char *path, int error, void *arg)
{
	struct cp *cp = arg;
	bool is_source = path != cp->config.destination; /* see finish() of cp.c */

	if (cp->quiet)
		return;
	clear_line(cp);
	fprintf(stderr, "%s: ", cp->program);
	print_name(stderr, path);
	fprintf(stderr, ": %s\n", words_for(path, is_source, error));
}

void weir__cp_done(const char *path, char kind, void *arg)
{
	struct cp *cp = arg;

	clear_line(cp);
	printf("%c ", kind);
	print_name(stdout, path);
	putchar('\n');
}

bool weir__cp_output_written(const struct cp *cp)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	fprintf(stderr, "%s: writing to stdout failed: %s\n", cp->program, strerror(errno));
	return false;
}

/* 1234567 as "1.2M", 12 as "12B". */
static const char *size_text(double bytes, char *text, size_t size)
{
	static const char units[] = "BKMGTP";
	size_t unit = 0;

	for (; bytes >= 1000 && unit < sizeof(units) - 2; unit++)
		bytes /= 1024;
	(void)snprintf(text, size, unit == 0 ? "%.0f%c" : "%.1f%c", bytes, units[unit]);
	return text;
}

void weir__cp_progress(const struct weir_copy_stats *stats, void *arg)
{
	struct cp *cp = arg;
	uint64_t done = stats->files + stats->directories + stats->symlinks + stats->specials +
			stats->skipped + stats->failed;
	double seconds = (double)stats->elapsed / (double)WEIR_SECOND;
	double rate = seconds > 0 ? (double)stats->bytes / seconds : 0;
	uint64_t left = stats->found > done ? stats->found - done : 0;
	char bytes[16];
	char speed[16];

	/* What is left is known only as far as it was found. */
	fprintf(stderr,
		"\r%llu/%llu entries  %s  %s/s  %u/%u in flight  %u queued  %.0f s left\033[K",
		(unsigned long long)done, (unsigned long long)stats->found,
		size_text((double)stats->bytes, bytes, sizeof(bytes)),
		size_text(rate, speed, sizeof(speed)), stats->in_flight, stats->limit,
		stats->queued, done ? seconds * (double)left / (double)done : 0.0);
	(void)fflush(stderr);
	cp->drawn = true;
}

static void print_json(const struct weir_copy_stats *stats, int result)
{
	printf("{\"result\": \"%s\", \"files\": %llu, \"directories\": %llu, \"symlinks\": %llu, "
	       "\"specials\": %llu, \"hard_links\": %llu, \"bytes\": %llu, \"skipped\": %llu, "
	       "\"failed\": %llu, \"limit\": %u, \"shrinks\": %u, \"io_uring\": %s, "
	       "\"seconds\": %.6f}\n",
	       result == 0 ? "complete" :
	       result == 1 ? "incomplete" :
			     "interrupted",
	       (unsigned long long)stats->files, (unsigned long long)stats->directories,
	       (unsigned long long)stats->symlinks, (unsigned long long)stats->specials,
	       (unsigned long long)stats->hard_links, (unsigned long long)stats->bytes,
	       (unsigned long long)stats->skipped, (unsigned long long)stats->failed, stats->limit,
	       stats->shrinks, stats->ring ? "true" : "false",
	       (double)stats->elapsed / (double)WEIR_SECOND);
}

void weir__cp_summary(struct cp *cp, const struct weir_copy_stats *stats, int result)
{
	double seconds = (double)stats->elapsed / (double)WEIR_SECOND;
	char bytes[16];
	char speed[16];

	clear_line(cp);
	if (stats->not_asked_for > 0 && !cp->quiet)
		fprintf(stderr,
			"%s: %llu entries were left out: -l copies symbolic links, -D devices, "
			"fifos and sockets\n",
			cp->program, (unsigned long long)stats->not_asked_for);
	if (cp->stats == STATS_JSON) {
		print_json(stats, result);
	} else if (cp->stats == STATS_TEXT || (cp->verbose && !cp->quiet)) {
		printf("%llu files (%llu by hard links), %llu directories, %llu links, %llu "
		       "special; "
		       "%s in %.2f s, %s/s; %llu skipped, %llu failed\n",
		       (unsigned long long)stats->files, (unsigned long long)stats->hard_links,
		       (unsigned long long)stats->directories, (unsigned long long)stats->symlinks,
		       (unsigned long long)stats->specials,
		       size_text((double)stats->bytes, bytes, sizeof(bytes)), seconds,
		       size_text(seconds > 0 ? (double)stats->bytes / seconds : 0, speed,
				 sizeof(speed)),
		       (unsigned long long)stats->skipped, (unsigned long long)stats->failed);
	}
}

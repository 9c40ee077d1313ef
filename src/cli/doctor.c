/* cli: weir doctor. Looks at the store as it lies there, then from the inside, and says what to do
 * about what it finds. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/table.h"

#define LONG_WAIT (60 * WEIR_SECOND)
/* A lock is waited for without an end; of a server its store says more, after all retries. */
#define FILE_PATIENCE (10 * WEIR_SECOND)
#define SERVER_PATIENCE (30 * WEIR_SECOND)
#define SPACE_LEAST (1024 * 1024) /* bytes */

enum grade { FINE, ATTENTION, BROKEN };

struct report {
	const struct options *options;
	struct json json; /* where all goes, also what is no JSON */
	enum grade worst;
	bool colour;
	uint32_t semaphores, holders, waiters;
};

__attribute__((format(printf, 4, 5))) static void
finding(struct report *report, enum grade grade, const char *about, const char *format, ...)
{
	static const char *const words[] = { "ok", "attention", "broken" };
	static const char *const colours[] = { "\033[32m", "\033[33m", "\033[31m" };
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (grade > report->worst)
		report->worst = grade;
	if (report->options->json) {
		json_key(&report->json, NULL);
		json_open(&report->json, "{");
		json_text(&report->json, "grade", words[grade]);
		json_text(&report->json, "about", about);
		json_text(&report->json, "text", text);
		json_close(&report->json, "}");
		return;
	}
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	fprintf(report->json.stream, "%s%-9s%s %-9s %s\n", report->colour ? colours[grade] : "",
		words[grade], report->colour ? "\033[0m" : "", about, text);
}

/* ---- from outside ---- */

/* A filesystem on which the locks of several machines are not ours to trust. */
static const char *network_filesystem(const char *path)
{
	static const struct {
		long type;
		const char *name;
	} known[] = {
		{ 0x6969, "NFS" },      { 0xff534d42, "CIFS" }, { 0xfe534d42, "SMB" },
		{ 0x517b, "SMB" },      { 0x01021997, "9p" },   { 0x00c36400, "Ceph" },
		{ 0x5346414f, "AFS" },  { 0x47504653, "GPFS" }, { 0x0bd00bd0, "Lustre" },
		{ 0x01161970, "GFS2" },
	};
	struct statfs stats;

	if (statfs(path, &stats) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if ((uint32_t)stats.f_type == (uint32_t)known[i].type)
			return known[i].name;
	}
	return NULL;
}

static bool is_ours(struct report *report, const char *what, const char *path,
		    const struct stat *status, bool or_roots)
{
	if (status->st_uid == geteuid() || (or_roots && status->st_uid == 0))
		return true;
	finding(report, BROKEN, what,
		"%s belongs to user %u: who owns it can forge leases. Use a store of your own",
		path, status->st_uid);
	return false;
}

/* Others may look around there, for the file itself is closed to them; but they must not be able to
 * put another one in its place, which a sticky directory prevents. */
static void check_directory(struct report *report, const char *path, const struct stat *status)
{
	mode_t mode = status->st_mode & 07777;
	bool sticky = mode & S_ISVTX;

	if (!is_ours(report, "directory", path, status, true))
		return;
	if (mode & S_IWOTH && !sticky)
		finding(report, BROKEN, "directory",
			"anybody may replace files in %s (mode %04o): chmod o-w %s", path, mode,
			path);
	else if (mode & S_IWGRP && !sticky)
		finding(report, ATTENTION, "directory",
			"its group may replace files in %s (mode %04o): chmod g-w %s", path, mode,
			path);
	else
		finding(report, FINE, "directory", "%s, mode %04o", path, mode);
}

static void check_access(struct report *report, const char *path, const struct stat *status)
{
	mode_t mode = status->st_mode & 07777;

	if (!is_ours(report, "file", path, status, false))
		return;
	if (mode & 077)
		finding(report, BROKEN, "file",
			"others may use %s (mode %04o), and end anybody's lease: chmod 600 %s",
			path, mode, path);
	else
		finding(report, FINE, "file", "%s, mode %04o", path, mode);
}

/* A store on a full disk grants nothing, but lets everybody give back. */
static void check_space(struct report *report, const char *directory)
{
	struct statvfs disk;
	unsigned long long left;

	if (statvfs(directory, &disk) < 0)
		return;
	left = (unsigned long long)disk.f_bavail * disk.f_frsize;
	if (left < SPACE_LEAST)
		finding(report, ATTENTION, "disk",
			"%llu KiB are left on the disk with %s, and when it is full nobody gets a "
			"permit: free some space there",
			left / 1024, directory);
}

/* What is not there is made; what may not be looked at is another thing. */
static void not_seen(struct report *report, const char *what, const char *path, int error)
{
	if (error == ENOENT)
		finding(report, FINE, what, "%s is not there yet: it is made on first use", path);
	else
		finding(report, BROKEN, what, "cannot get to %s: %s: use a store of your own", path,
			strerror(error));
}

/* Whether it is behind a link that leads nowhere: nothing can be made there. That link is what is
 * left of the path then. */
static bool cut_at_lost_link(char *path)
{
	struct stat status;

	while (lstat(path, &status) < 0) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			return false;
		*slash = '\0';
	}
	return S_ISLNK(status.st_mode) && stat(path, &status) < 0;
}

static void no_directory(struct report *report, const char *path, int error)
{
	char *link = error == ENOENT ? strdup(path) : NULL;

	if (link && cut_at_lost_link(link))
		finding(report, BROKEN, "directory",
			"%s is a link that leads nowhere: make what it names, or choose another "
			"path",
			link);
	else
		not_seen(report, "directory", path, error);
	free(link);
}

static void check_file(struct report *report, const char *path, const char *directory)
{
	struct stat status;
	const char *network;

	if (stat(directory, &status) < 0) {
		no_directory(report, directory, errno);
		return;
	}
	if (!S_ISDIR(status.st_mode)) {
		finding(report, BROKEN, "directory", "%s is not a directory: choose another path",
			directory);
		return;
	}
	check_directory(report, directory, &status);
	network = network_filesystem(directory);
	if (network)
		finding(report, BROKEN, "disk",
			"%s is on a network filesystem (%s), where locks of several machines "
			"cannot be trusted: say --store sqlite:PATH with a local path",
			directory, network);
	check_space(report, directory);
	if (lstat(path, &status) < 0)
		not_seen(report, "file", path, errno);
	else if (!S_ISREG(status.st_mode))
		finding(report, BROKEN, "file", "%s is not a file: choose another path", path);
	else
		check_access(report, path, &status);
}

static void check_path(struct report *report, const char *path)
{
	char *directory = strdup(path);
	char *slash;

	if (!directory)
		return;
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = '\0';
	else
		strcpy(directory, ".");
	check_file(report, path, directory);
	free(directory);
}

/* The URL of the store that is to be opened, or NULL. */
static char *check_url(struct report *report)
{
	const char *url = report->options->store ? report->options->store : getenv("WEIR_STORE");
	const char *problem;
	char *path, *ret = NULL;

	if (url && *url) {
		path = strncmp(url, "sqlite:", 7) == 0 ? strdup(url + 7) : NULL;
		if (path)
			path[strcspn(path, "?")] = '\0';
	} else {
		path = default_path();
	}
	problem = store_problem(url, path);
	if (problem)
		finding(report, BROKEN, "store", "%s", problem);
	else if (path && *path)
		check_path(report, path);
	if (!problem && url && *url)
		ret = strdup(url);
	else if (!problem && asprintf(&ret, "sqlite:%s", path) < 0)
		ret = NULL;
	if (!problem && !ret)
		finding(report, BROKEN, "store", "out of memory");
	free(path);
	return ret;
}

/* ---- from inside ---- */

static int see_semaphore(void *arg, const struct weir_sem_info *info)
{
	struct report *report = arg;

	report->semaphores++;
	report->holders += info->holders;
	report->waiters += info->waiting;
	if (info->limit == 0 && info->waiting)
		finding(report, ATTENTION, "paused",
			"%s is paused and %u wait: 'weir limit %s N' lets them go on", info->name,
			info->waiting, info->name);
	else if (info->limit && info->held > info->limit)
		finding(report, FINE, "shrunk",
			"%s: %u permits are out with a limit of %u: new ones follow when enough "
			"have come back",
			info->name, info->held, info->limit);
	if (info->closed)
		finding(report, FINE, "closed", "%s: nobody gets a permit for %s: " WHY_CLOSED,
			info->name, time_text(info->closed).text);
	if (info->renewals_failed)
		/* weir release looks for its lease by a renewal of 0, and is counted with them. */
		finding(report, FINE, "late",
			"%s: since it exists, %llu times a lease was lost before it was renewed, "
			"or released by weir release",
			info->name, (unsigned long long)info->renewals_failed);
	return 0;
}

static int see_holder(void *arg, const struct weir_claim_info *info)
{
	struct report *report = arg;
	char token[TOKEN_TEXT + 1];

	if (info->pid <= 0 || kill((pid_t)info->pid, 0) == 0 || errno != ESRCH)
		return 0;
	token_print(info->token, token);
	finding(report, ATTENTION, "stale",
		"%s: holder %s (process %lld) is gone from here. If a process it started lives, "
		"that one has the permit; else 'weir evict %s %.*s' frees it",
		info->name, info->owner, (long long)info->pid, info->name, TOKEN_SHOWN, token);
	return 0;
}

static int see_waiter(void *arg, const struct weir_claim_info *info)
{
	struct report *report = arg;

	if (info->position == 1 && info->age > LONG_WAIT)
		finding(report, ATTENTION, "waiting",
			"%s: %s is next and has waited for %s: see "
			"weir show %s",
			info->name, info->owner, time_text(info->age).text, info->name);
	return 0;
}

static int see_remark(void *arg, const struct weir_remark *remark)
{
	finding(arg, remark->matters ? ATTENTION : FINE, remark->about, "%s", remark->text);
	return 0;
}

static void check_inside(struct report *report, struct weir_store *store)
{
	static const struct weir_visitor visitor = { .semaphore = see_semaphore,
						     .holder = see_holder,
						     .waiter = see_waiter,
						     .remark = see_remark };
	int reaped = weir_reap(store, 1000000);
	int error;

	if (reaped > 0)
		finding(report, FINE, "expired", "%d leases had expired and were cleared away",
			reaped);
	error = reaped < 0 ? reaped : weir_list(store, NULL, 0, &visitor, report);
	if (error < 0)
		finding(report, BROKEN, "store", "%s", weir_store_error(store));
	else
		finding(report, FINE, "store", "%u semaphores, %u holders, %u waiting",
			report->semaphores, report->holders, report->waiters);
}

/* Not by open_store(), which says on standard error what is a finding here. */
static int check_open(struct report *report, const char *url)
{
	struct weir_store *store;
	int error = weir_store_open(url, &store);

	if (error == 0) {
		finding(report, FINE, "open", "the store can be reached and its version is ours");
		check_inside(report, store);
		weir_store_close(store);
	} else {
		finding(report, BROKEN, "open", "%s", weir_store_error(NULL));
	}
	return error == -EINVAL ? EXIT_USAGE : 0;
}

/* The end of the output, if the store does not answer. To be freed, or NULL. */
static char *last_words(const struct report *report, weir_time time, const char *path)
{
	struct report last = *report;
	char *words = NULL;
	size_t size;

	last.json.stream = open_memstream(&words, &size);
	if (!last.json.stream)
		return NULL;
	if (path)
		finding(&last, BROKEN, "store",
			"no answer within %s: somebody keeps it locked, perhaps a process that was "
			"stopped. 'fuser -v %.*s %.*s-live/lock' shows who uses it",
			time_text(time).text, (int)strcspn(path, "?"), path,
			(int)strcspn(path, "?"), path);
	else
		finding(&last, BROKEN, "store",
			"no answer within %s: the server was stopped or hangs, or something on the "
			"way keeps what is sent: see its log",
			time_text(time).text);
	if (report->options->json)
		json_close(&last.json, "]\n");
	if (fclose(last.json.stream) == 0)
		return words;
	free(words);
	return NULL;
}

/* What is found in there comes out when all is found: the last words, which may come at any time,
 * follow a whole finding. */
static int check_with_patience(struct report *report, const char *url)
{
	const char *path = strncmp(url, "sqlite:", 7) == 0 ? url + 7 : NULL;
	weir_time time = path ? FILE_PATIENCE : SERVER_PATIENCE;
	char *words = last_words(report, time, path);
	char *found = NULL;
	size_t size;
	int code;

	report->json.stream = words ? open_memstream(&found, &size) : NULL;
	if (!report->json.stream) {
		report->json.stream = stdout;
		free(words);
		finding(report, BROKEN, "store", "out of memory");
		return 0;
	}
	fflush(stdout);
	patience_begin_output(time, &(struct ending){ .code = EXIT_STORE }, words);
	code = check_open(report, url);
	patience_end();
	if (fclose(report->json.stream) == 0)
		fputs(found, stdout);
	report->json.stream = stdout;
	free(found);
	free(words);
	return code;
}

int command_doctor(const struct options *options)
{
	static const int codes[] = { 0, EXIT_ATTENTION, EXIT_STORE };
	struct report report = { .options = options,
				 .json = { .stream = stdout },
				 .colour = wants_colour(stdout) };
	char *url;
	int code;

	if (options->n_args > 0)
		return fail(EXIT_USAGE, "doctor takes no arguments: --store says which store");
	if (options->json)
		json_open(&report.json, "[");
	else
		printf("weir %s\n", weir_version());
	url = check_url(&report);
	code = url ? check_with_patience(&report, url) : EXIT_USAGE;
	free(url);
	if (options->json)
		json_close(&report.json, "]\n");
	code = code == EXIT_USAGE ? code : codes[report.worst];
	return finish_output(code);
}

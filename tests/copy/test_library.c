/* libweir-copy as a library: its arguments, callbacks, cancelling (C3). */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/copy.h>

struct seen {
	int failed;
	int done;
	int progress;
	int last_error;
	char last_path[256];
	struct weir_copy_flag cancel;
	int cancel_after;
};

static char place[] = "/tmp/weir-copy-XXXXXX";

static int enter_place(void **state)
{
	(void)state;
	return mkdtemp(place) && chdir(place) == 0 ? 0 : -1;
}

static int leave_place(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", place);
	return chdir("/") == 0 ? system(command) : -1;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

static void on_failed(const char *path, int error, void *arg)
{
	struct seen *seen = arg;

	seen->failed++;
	seen->last_error = error;
	(void)snprintf(seen->last_path, sizeof(seen->last_path), "%s", path);
}

static void on_done(const char *path, char kind, void *arg)
{
	struct seen *seen = arg;

	(void)path;
	assert_non_null(strchr("fdlsh-", kind));
	if (++seen->done == seen->cancel_after)
		weir_copy_cancel(&seen->cancel);
}

static void on_progress(const struct weir_copy_stats *stats, void *arg)
{
	struct seen *seen = arg;

	assert_true(stats->in_flight <= stats->limit);
	seen->progress++;
}

static struct weir_copy_config config_for(const char *const *source, const char *destination,
					  struct seen *seen)
{
	return (struct weir_copy_config){
		.sources = source,
		.source_count = 1,
		.destination = destination,
		.flags = WEIR_COPY_ARCHIVE,
		.failed = on_failed,
		.done = on_done,
		.progress = on_progress,
		.progress_interval = WEIR_MS,
		.arg = seen,
		.cancel = &seen->cancel,
	};
}

TEST(bad_arguments)
{
	const char *source = "a";
	struct weir_copy_config good = { .sources = &source,
					 .source_count = 1,
					 .destination = "b" };
	struct weir_copy_config bad[8];

	for (size_t i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].sources = NULL;
	bad[1].source_count = 0;
	bad[2].destination = "";
	bad[3].flags = UINT32_C(1) << 31;
	bad[4].method = (enum weir_copy_method)9;
	bad[5].buffer_size = 1;
	bad[6].queue_depth = 1 << 20;
	bad[7].rule_count = 1;
	assert_int_equal(weir_copy(NULL, NULL), -EINVAL);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(weir_copy(&bad[i], NULL), -EINVAL);
}

TEST(copies_and_tells)
{
	const char *source = "one";
	struct seen seen = { 0 };
	struct weir_copy_config config = config_for(&source, "two", &seen);
	struct weir_copy_stats stats;
	struct stat st;

	assert_int_equal(mkdir("one", 0750), 0);
	write_file("one/file", "content");
	assert_int_equal(symlink("file", "one/link"), 0);
	assert_int_equal(link("one/file", "one/again"), 0);
	assert_int_equal(weir_copy(&config, &stats), 0);
	assert_int_equal(seen.done, 4);
	assert_int_equal(seen.failed, 0);
	assert_int_equal(stats.files, 2);
	assert_int_equal(stats.hard_links, 1);
	assert_int_equal(stats.symlinks, 1);
	assert_int_equal(stats.directories, 1);
	assert_int_equal(stats.bytes, 7);
	assert_int_equal(stat("two/again", &st), 0);
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(stat("two", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
}

TEST(failures_are_named)
{
	const char *source = "missing";
	struct seen seen = { 0 };
	struct weir_copy_config config = config_for(&source, "nothing", &seen);
	struct weir_copy_stats stats;

	assert_int_equal(weir_copy(&config, &stats), 1);
	assert_int_equal(stats.failed, 1);
	assert_int_equal(seen.failed, 1);
	assert_int_equal(seen.last_error, -ENOENT);
	assert_string_equal(seen.last_path, "missing");
	assert_int_equal(access("nothing", F_OK), -1);
}

TEST(cancelled_in_the_middle)
{
	const char *source = "many";
	struct seen seen = { .cancel_after = 10 };
	struct weir_copy_config config = config_for(&source, "cut", &seen);
	struct weir_copy_stats stats;
	char name[32];

	assert_int_equal(mkdir("many", 0755), 0);
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "many/%d", i);
		write_file(name, name);
	}
	assert_int_equal(weir_copy(&config, &stats), -ECANCELED);
	assert_true(stats.files >= 9 && stats.files < 3000);
	assert_int_equal(stats.failed, 0);
	/* And nothing of it stays behind for the next one. */
	seen = (struct seen){ 0 };
	config.flags |= WEIR_COPY_NO_INTO;
	assert_int_equal(weir_copy(&config, &stats), 0);
	assert_int_equal(stats.files, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(copies_and_tells),
		cmocka_unit_test(failures_are_named),
		cmocka_unit_test(cancelled_in_the_middle),
	};

	return cmocka_run_group_tests(tests, enter_place, leave_place);
}

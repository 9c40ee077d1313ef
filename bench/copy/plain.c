/* The least a copier of two threads can do with plain calls: no attributes but mode and times, no
 * safety, no errors handled. Threads take turns with directories.
 *
 *     plain SOURCE DEST
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 2, BUFFER = 256 * 1024 };

struct job {
	struct job *next;
	char *from;
	char *to;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *jobs;
static int busy;

static void push(const char *from, const char *to)
{
	struct job *job = malloc(sizeof(*job));

	job->from = strdup(from);
	job->to = strdup(to);
	(void)pthread_mutex_lock(&lock);
	job->next = jobs;
	jobs = job;
	(void)pthread_cond_signal(&changed);
	(void)pthread_mutex_unlock(&lock);
}

static struct job *pop(void)
{
	struct job *job;

	(void)pthread_mutex_lock(&lock);
	busy--;
	while (!jobs && busy > 0)
		(void)pthread_cond_wait(&changed, &lock);
	job = jobs;
	if (job) {
		jobs = job->next;
		busy++;
	} else {
		(void)pthread_cond_broadcast(&changed);
	}
	(void)pthread_mutex_unlock(&lock);
	return job;
}

static void copy_file(int from, int to, const char *name, char *buffer)
{
	int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int out;

	if (in < 0)
		return;
	(void)fstat(in, &st);
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (st.st_size < BUFFER) {
		ssize_t n = read(in, buffer, BUFFER);

		if (n > 0 && write(out, buffer, (size_t)n) != n)
			perror(name);
	} else {
		while (copy_file_range(in, NULL, out, NULL, 16 << 20, 0) > 0)
			;
	}
	(void)fchmod(out, st.st_mode & 07777);
	(void)futimens(out, (struct timespec[]){ st.st_atim, st.st_mtim });
	(void)close(in);
	(void)close(out);
}

static void copy_directory(const struct job *job, char *buffer)
{
	int from = open(job->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = from < 0 ? NULL : fdopendir(from);
	struct dirent *entry;
	int to;

	if (!dir)
		return;
	(void)mkdir(job->to, 0755);
	to = open(job->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while ((entry = readdir(dir))) {
		if (entry->d_type == DT_REG) {
			copy_file(from, to, entry->d_name, buffer);
		} else if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
			   strcmp(entry->d_name, "..") != 0) {
			char *one;
			char *other;

			if (asprintf(&one, "%s/%s", job->from, entry->d_name) > 0 &&
			    asprintf(&other, "%s/%s", job->to, entry->d_name) > 0) {
				(void)mkdir(other, 0755);
				push(one, other);
				free(one);
				free(other);
			}
		}
	}
	(void)close(to);
	(void)closedir(dir);
}

static void *work(void *arg)
{
	char *buffer = malloc(BUFFER);
	struct job *job;

	while ((job = pop())) {
		copy_directory(job, buffer);
		free(job->from);
		free(job->to);
		free(job);
	}
	free(buffer);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc != 3)
		return 64;
	busy = THREADS;
	push(argv[1], argv[2]);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	return 0;
}

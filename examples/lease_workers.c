/* lease_workers: processes that share a limit, with nothing between them but a file.
 *
 * Six processes call a service that can take two at a time. One of them dies in the middle of a
 * call: its permit comes back at once, for the store sees that its process is gone. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weir/lease.h>
#include <weir/weir.h>

enum { WORKERS = 6, CALLS = 10, AT_A_TIME = 2 };

/* What the service sees; the one that dies never leaves. */
static struct {
	int inside, most, calls;
} * service;

static void call_service(void)
{
	int inside = __atomic_add_fetch(&service->inside, 1, __ATOMIC_SEQ_CST);

	if (inside > service->most)
		service->most = inside;
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	__atomic_add_fetch(&service->calls, 1, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&service->inside, 1, __ATOMIC_SEQ_CST);
}

static int work(const char *url, int number)
{
	struct weir_store *store;

	if (weir_store_open(url, &store) < 0) {
		fprintf(stderr, "%s\n", weir_store_error(NULL));
		return 1;
	}
	for (int i = 0; i < CALLS; i++) {
		struct weir_request request = { .name = "service",
						.limit = AT_A_TIME,
						.deadline = weir_after(20 * WEIR_SECOND),
						.keepalive = true };
		struct weir_lease *lease;

		if (weir_acquire(store, &request, &lease) < 0) {
			fprintf(stderr, "%s\n", weir_store_error(store));
			return 1;
		}
		if (number == 0 && i == CALLS / 2)
			raise(SIGKILL);
		call_service();
		weir_release(lease);
		weir_lease_unref(lease);
	}
	weir_store_close(store);
	return 0;
}

int main(void)
{
	char directory[] = "/tmp/weir-example-XXXXXX";
	char url[100], command[100];
	int failed = 0;
	pid_t pids[WORKERS];

	service = mmap(NULL, sizeof(*service), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (service == MAP_FAILED || mkdtemp(directory) == NULL)
		return 1;
	snprintf(url, sizeof(url), "sqlite:%s/weir.db", directory);
	for (int i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(work(url, i));
	}
	for (int i = 0; i < WORKERS; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		failed += i > 0 && status != 0;
	}
	printf("%d calls, at most %d at a time, one worker died\n", service->calls, service->most);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) != 0 || failed != 0 || service->most > AT_A_TIME ||
	       service->calls != (WORKERS - 1) * CALLS + CALLS / 2;
}

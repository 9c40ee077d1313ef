/* lease_fence: a process that was stopped for too long is turned away by the resource itself.
 *
 * Two processes write to one ledger under a lease of a short life. The first is stopped while it
 * holds it. Its lease expires, the second one gets it and writes. When the first one goes on it
 * still wants to write what it had in mind; no lock in the world can stop it. But the ledger
 * remembers the highest fence it has seen, and refuses. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/lease.h>
#include <weir/weir.h>

/* The resource: here memory that both share. It keeps the marks beside its data. */
struct ledger {
	uint64_t marks[1]; /* one for each slot: the semaphore has one */
	int last_writer;
	int refused;
	int first_has_it;
};

static struct ledger *ledger;

/* The check and the write are one step: the ledger would hold a lock of its own here. */
static void write_to_ledger(int writer, const struct weir_lease_info *lease)
{
	if (weir_fence_check(ledger->marks, 1, lease->slot, lease->fence) < 0) {
		printf("writer %d comes too late with fence %llu\n", writer,
		       (unsigned long long)lease->fence);
		ledger->refused = writer;
		return;
	}
	ledger->last_writer = writer;
	printf("writer %d has written under fence %llu\n", writer,
	       (unsigned long long)lease->fence);
}

static int write_under_lease(const char *url, int writer)
{
	struct weir_request request = { .name = "ledger",
					.limit = 1,
					.ttl = 200 * WEIR_MS,
					.deadline = weir_after(10 * WEIR_SECOND) };
	struct weir_lease_info info;
	struct weir_store *store;
	struct weir_lease *lease;

	if (weir_store_open(url, &store) < 0 || weir_acquire(store, &request, &lease) < 0) {
		fprintf(stderr, "writer %d: %s\n", writer, weir_store_error(NULL));
		return 1;
	}
	weir_lease_get(lease, &info);
	if (writer == 1) {
		__atomic_store_n(&ledger->first_has_it, 1, __ATOMIC_SEQ_CST);
		raise(SIGSTOP); /* a long pause, between having the lease and writing */
	}
	write_to_ledger(writer, &info);
	weir_release(lease);
	weir_lease_unref(lease);
	weir_store_close(store);
	return 0;
}

static pid_t start(const char *url, int writer)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		exit(write_under_lease(url, writer));
	return pid;
}

int main(void)
{
	char directory[] = "/tmp/weir-example-XXXXXX";
	char url[100], command[100];
	pid_t first, second;
	int status;

	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (ledger == MAP_FAILED || mkdtemp(directory) == NULL)
		return 1;
	snprintf(url, sizeof(url), "sqlite:%s/weir.db?min_ttl=100ms", directory);

	first = start(url, 1);
	waitpid(first, &status, WUNTRACED); /* until it has stopped, with the lease */
	second = start(url, 2);
	waitpid(second, &status, 0);
	kill(first, SIGCONT);
	waitpid(first, &status, 0);

	printf("last writer: %d; refused: %d\n", ledger->last_writer, ledger->refused);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) != 0 || ledger->last_writer != 2 || ledger->refused != 1;
}

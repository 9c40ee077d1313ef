/* chaos: the ways in which clients end before their time. */
#include "chaos/crash.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weir/store.h>

static void sleep_for(weir_time duration)
{
	struct timespec time = { duration / WEIR_SECOND, duration % WEIR_SECOND };

	(void)nanosleep(&time, NULL);
}

/* ---- calls that are written down ----------------------------------------------------------------
 */

static struct weir_store *mine;
static uint64_t requests;

static struct weir_lease *acquire(uint32_t client, uint32_t name, uint32_t weight, weir_time ttl,
				  weir_time deadline, uint8_t flags)
{
	struct history_op *op = recorder_begin(crash.recorder, HISTORY_ACQUIRE, name, client);
	uint64_t request_number = (uint64_t)client << 24 | ++requests;
	char id[32];
	struct weir_request request = { .name = name_of(name),
					.weight = weight,
					.ttl = ttl,
					.deadline = deadline,
					.request_id = id };
	struct weir_lease *lease = NULL;
	struct weir_lease_info info;
	int error;

	if (op == NULL)
		return NULL;
	(void)snprintf(id, sizeof(id), "%llx", (unsigned long long)request_number);
	op->weight = weight;
	op->ttl = ttl;
	op->request = request_number;
	op->flags = (uint8_t)((deadline != 0 ? HISTORY_WAITED : 0) | flags);
	error = weir_acquire(mine, &request, &lease);
	if (error == 0) {
		weir_lease_get(lease, &info);
		op->token = recorder_token(info.token);
		op->fence = info.fence;
		op->slot = info.slot;
	} else if (error != -EAGAIN && error != -ETIMEDOUT) {
		die("acquire");
	}
	recorder_end(op, error);
	return lease;
}

static int on_token(uint32_t client, uint32_t name, enum history_kind kind,
		    struct weir_lease *lease, weir_time ttl)
{
	struct weir_lease_info info;
	struct history_op *op = recorder_begin(crash.recorder, kind, name, client);
	int error;

	if (op == NULL)
		return 0;
	weir_lease_get(lease, &info);
	op->token = recorder_token(info.token);
	op->ttl = ttl;
	error = kind == HISTORY_RENEW ? weir_renew(lease, ttl) : weir_release(lease);
	if (error < 0 && error != -ESTALE)
		die("renew or release");
	recorder_end(op, error);
	return error;
}

struct looking {
	uint32_t client, name;
	weir_time began;
	size_t n;
	struct history_op *seen[64];
};

static int see(void *arg, const struct weir_claim_info *info)
{
	struct looking *looking = arg;
	struct history_op *op;

	if (looking->n == 64)
		return 0;
	op = recorder_begin(crash.recorder, HISTORY_SEEN, looking->name, looking->client);
	if (op == NULL)
		return 0;
	op->inv = looking->began;
	op->request = strtoull(info->request_id, NULL, 16);
	looking->seen[looking->n++] = op;
	return 0;
}

static void look(uint32_t client, uint32_t name)
{
	static const struct weir_visitor visitor = { .waiter = see };
	struct looking looking = { .client = client, .name = name, .began = weir_now() };
	const char *text = name_of(name);

	if (weir_list(mine, &text, 1, &visitor, &looking) < 0)
		die("list");
	for (size_t i = 0; i < looking.n; i++)
		recorder_end(looking.seen[i], 0);
}

/* ---- at random ----------------------------------------------------------------------------------
 */

enum { CLIENTS = 6 };

static void work(uint32_t client)
{
	mine = open_store();
	for (;;) {
		uint32_t name = rng_below(&crash.rng, crash.names);
		/* A refusal can be judged where nobody is in the queue: that is so in the last. */
		uint32_t what = name + 1 < crash.names ? rng_below(&crash.rng, 8) : 0;
		weir_time deadline = what == 0 ? 0 : weir_after(what * 100 * WEIR_MS);
		struct weir_lease *lease = acquire(client, name, 1 + rng_below(&crash.rng, 2), TTL,
						   deadline, 0);

		if (rng_one_in(&crash.rng, 6))
			look(client, name);
		if (lease == NULL)
			continue;
		if (rng_one_in(&crash.rng, 4))
			(void)on_token(client, name, HISTORY_RENEW, lease, TTL);
		if (rng_one_in(&crash.rng, 2))
			sleep_for(rng_below(&crash.rng, 500) * WEIR_US);
		if (on_token(client, name, HISTORY_RELEASE, lease, 0) < 0)
			die("a live lease was lost");
		weir_lease_unref(lease);
	}
}

uint32_t crash_at_random(uint32_t kills)
{
	pid_t pids[CLIENTS];
	uint32_t ids[CLIENTS];

	for (uint32_t i = 0; i < CLIENTS; i++)
		pids[i] = start(work, ids[i] = crash.next_client++);
	for (uint32_t n = 0; n < kills; n++) {
		uint32_t i = rng_below(&crash.rng, CLIENTS);

		sleep_for(rng_below(&crash.rng, 8000) * WEIR_US);
		kill_client(pids[i], ids[i]);
		pids[i] = start(work, ids[i] = crash.next_client++);
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		kill_client(pids[i], ids[i]);
	return kills + CLIENTS;
}

/* ---- at each system call ------------------------------------------------------------------------
 */

/* All that a client does in its life. */
static void live(uint32_t client)
{
	struct weir_lease *lease;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(77);
	(void)raise(SIGSTOP);
	mine = open_store();
	lease = acquire(client, 0, 1, TTL, weir_after(20 * WEIR_SECOND), 0);
	if (lease == NULL)
		die("acquire");
	(void)on_token(client, 0, HISTORY_RENEW, lease, TTL);
	look(client, 0);
	(void)on_token(client, 0, HISTORY_RELEASE, lease, 0);
	weir_lease_unref(lease);
	weir_store_close(mine);
}

/* Lets it run up to its nth stop at a system call, entering or leaving, in any of its threads. Of
 * those it returns how many there were; less than n when it came to its end. */
static uint32_t run_to(uint32_t n)
{
	uint32_t client = crash.next_client++, stops = 0;
	struct history_op *death = NULL;
	pid_t pid = start(live, client), thread;
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return UINT32_MAX; /* not allowed to trace */
	(void)ptrace(PTRACE_SETOPTIONS, pid, NULL,
		     (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL));
	(void)ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	while ((thread = waitpid(-1, &status, __WALL)) > 0) {
		long signal = 0;

		if (!WIFSTOPPED(status)) {
			if (thread != pid)
				continue;
			if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
				die("a client failed");
			break;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			if (++stops == n) {
				death = recorder_begin(crash.recorder, HISTORY_DEATH, 0, client);
				(void)kill(pid, SIGKILL);
			}
		} else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP) {
			signal = WSTOPSIG(status);
		}
		(void)ptrace(PTRACE_SYSCALL, thread, NULL, (void *)signal);
	}
	if (death != NULL)
		recorder_end(death, 0);
	return stops;
}

uint32_t crash_at_calls(uint32_t most, uint32_t already, uint32_t *all)
{
	uint32_t stops = run_to(0), kills = 0;

	if (stops == UINT32_MAX)
		return 0;
	*all = stops;
	/* Each of them in its turn, in an order that jumps about. */
	for (uint32_t i = already; kills < most; i++)
		kills += run_to(1 + i * 97 % stops) > i * 97 % stops;
	return kills;
}

/* ---- stopped ------------------------------------------------------------------------------------
 */

#define SHORT (200 * WEIR_MS)

static void hold_and_sample(uint32_t client)
{
	mine = open_store();
	for (;;) {
		struct weir_lease *lease = acquire(client, 0, 1, SHORT, weir_after(WEIR_SECOND),
						   HISTORY_STOPPED);

		for (int i = 0; lease != NULL && i < 30; i++) {
			weir_time now =
				weir_now(); /* before the question: it may be stopped here */
			struct weir_lease_info info;
			struct history_op *op;

			if (!weir_lease_held(lease))
				break;
			weir_lease_get(lease, &info);
			op = recorder_begin(crash.recorder, HISTORY_HELD, 0, client);
			if (op == NULL)
				break;
			op->inv = now;
			op->token = recorder_token(info.token);
			recorder_end(op, 0);
			if (i % 10 == 9 && on_token(client, 0, HISTORY_RENEW, lease, SHORT) < 0)
				break;
			sleep_for(5 * WEIR_MS);
		}
		if (lease != NULL)
			(void)on_token(client, 0, HISTORY_RELEASE, lease, 0);
		weir_lease_unref(lease);
	}
}

uint32_t crash_by_stopping(uint32_t rounds)
{
	enum { CROWD = 3 };
	pid_t pids[CROWD];
	uint32_t ids[CROWD];

	for (uint32_t i = 0; i < CROWD; i++)
		pids[i] = start(hold_and_sample, ids[i] = crash.next_client++);
	for (uint32_t n = 0; n < rounds; n++) {
		uint32_t i = rng_below(&crash.rng, CROWD);

		sleep_for(rng_below(&crash.rng, 100) * WEIR_MS);
		(void)kill(pids[i], SIGSTOP);
		sleep_for(SHORT + rng_below(&crash.rng, 300) * WEIR_MS);
		(void)kill(pids[i], SIGCONT);
	}
	sleep_for(100 * WEIR_MS);
	for (uint32_t i = 0; i < CROWD; i++)
		kill_client(pids[i], ids[i]);
	return rounds;
}

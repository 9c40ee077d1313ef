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

static struct acts mine;

static void begin(uint32_t client)
{
	mine = crash_acts(client);
}

static struct weir_lease *acquire(uint32_t name, uint32_t weight, weir_time ttl, weir_time deadline,
				  uint8_t flags)
{
	return acts_acquire(
		&mine, name,
		(struct weir_request){ .weight = weight, .ttl = ttl, .deadline = deadline }, flags);
}

static int on_token(uint32_t name, enum history_kind kind, struct weir_lease *lease, weir_time ttl)
{
	return acts_on_token(&mine, name, kind, lease, ttl);
}

/* ---- at random ----------------------------------------------------------------------------------
 */

enum { CLIENTS = 6 };

static void work(uint32_t client)
{
	begin(client);
	for (;;) {
		uint32_t name = rng_below(&crash.rng, crash.names);
		/* A refusal can be judged where nobody is in the queue: that is so in the last. */
		uint32_t what = name + 1 < crash.names ? rng_below(&crash.rng, 8) : 0;
		weir_time deadline = what == 0 ? 0 : weir_after(what * 100 * WEIR_MS);
		struct weir_lease *lease = acquire(name, 1 + rng_below(&crash.rng, 2), TTL,
						   deadline, 0);

		if (rng_one_in(&crash.rng, 6))
			acts_look(&mine, name);
		if (lease == NULL)
			continue;
		if (rng_one_in(&crash.rng, 4))
			(void)on_token(name, HISTORY_RENEW, lease, TTL);
		if (rng_one_in(&crash.rng, 2))
			sleep_for(rng_below(&crash.rng, 500) * WEIR_US);
		if (on_token(name, HISTORY_RELEASE, lease, 0) < 0)
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
	begin(client);
	lease = acquire(0, 1, TTL, weir_after(20 * WEIR_SECOND), 0);
	if (lease == NULL)
		die("acquire");
	(void)on_token(0, HISTORY_RENEW, lease, TTL);
	acts_look(&mine, 0);
	(void)on_token(0, HISTORY_RELEASE, lease, 0);
	weir_lease_unref(lease);
	weir_store_close(mine.store);
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
	begin(client);
	for (;;) {
		struct weir_lease *lease = acquire(0, 1, SHORT, weir_after(WEIR_SECOND),
						   HISTORY_STOPPED);

		for (int i = 0; lease != NULL && i < 30; i++) {
			if (!acts_sample(&mine, 0, lease))
				break;
			if (i % 10 == 9 && on_token(0, HISTORY_RENEW, lease, SHORT) < 0)
				break;
			sleep_for(5 * WEIR_MS);
		}
		if (lease != NULL)
			(void)on_token(0, HISTORY_RELEASE, lease, 0);
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

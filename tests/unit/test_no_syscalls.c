/* sem: no system call while nobody waits (P7).
 *
 * Each workload runs in a child process in which every system call but the one that ends it is
 * deadly: a seccomp filter sees to that, and the first test shows that it does. */
#include "support/async.h"
#include "support/sanitizers.h"
#include "support/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 1000000, NO_JAIL = 100 };

static bool enter_jail(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(*rules), rules };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The wait status of a child that ran `work`, which says whether all went well. */
static int run_in_jail(bool (*work)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		/* Not _exit(), before which AddressSanitizer makes a call of its own. */
		int code = !enter_jail() ? NO_JAIL : work() ? 0 : 1;

		(void)syscall(SYS_exit_group, code);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void assert_needs_no_system_call(bool (*work)(void))
{
	int status = run_in_jail(work);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool make_a_system_call(void)
{
	(void)syscall(SYS_getppid);
	return true;
}

TEST(the_jail_is_a_jail)
{
	int status = run_in_jail(make_a_system_call);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

/* Both kinds of semaphore, from 3 permits on. */
static struct weir_sem plain = WEIR_SEM_INIT(3);
static struct weir_sem_counted counted;

#define ON_BOTH(each)                                               \
	do {                                                        \
		struct weir_sem *both[] = { &plain, &counted.sem }; \
		if (weir_sem_init_counted(&counted, 3) < 0)         \
			return false;                               \
		for (int b = 0; b < 2; b++) {                       \
			struct weir_sem *sem = both[b];             \
			for (int i = 0; i < PAIRS; i++) {           \
				if (!(each))                        \
					return false;               \
			}                                           \
		}                                                   \
		return true;                                        \
	} while (0)

static bool acquire_pairs(void)
{
	ON_BOTH(weir_sem_acquire(sem, 1) == 0 && weir_sem_release(sem, 1) == 0);
}

static bool try_pairs(void)
{
	ON_BOTH(weir_sem_try_acquire(sem, 1) == 0 && weir_sem_release(sem, 1) == 0);
}

static bool until_pairs(void)
{
	ON_BOTH(weir_sem_acquire_until(sem, 1, WEIR_NEVER) == 0 &&
		weir_sem_acquire_until(sem, 1, 0) == 0 && weir_sem_release(sem, 2) == 0);
}

static bool weighted_pairs(void)
{
	ON_BOTH(weir_sem_acquire(sem, 3) == 0 && weir_sem_release(sem, 2) == 0 &&
		weir_sem_acquire(sem, 2) == 0 && weir_sem_release(sem, 3) == 0);
}

static bool failed_tries(void)
{
	ON_BOTH(weir_sem_acquire(sem, 3) == 0 && weir_sem_try_acquire(sem, 1) == -EAGAIN &&
		weir_sem_release(sem, 3) == 0);
}

static bool async_pairs(void)
{
	struct async waiter = { 0 };

	ON_BOTH(async_acquire(&waiter, sem, 1) == 0 && weir_sem_release(sem, 1) == 0);
}

/* Async waiters take no part in any sleeping: even with a queue nothing is called. */
static bool async_hand_offs(void)
{
	struct async waiter = { 0 };

	ON_BOTH(weir_sem_acquire(sem, 3) == 0 && async_acquire(&waiter, sem, 1) == 1 &&
		weir_sem_release(sem, 3) == 0 && weir_sem_release(sem, 1) == 0);
}

static bool holds(void)
{
	uint64_t entered = 0;

	for (int i = 0; i < PAIRS; i++) {
		WEIR_HOLD(&plain, 2)
			entered++;
	}
	return entered == PAIRS;
}

static bool wrong_uses(void)
{
	ON_BOTH(weir_sem_release(sem, 1) == -EOVERFLOW && weir_sem_acquire(sem, 0) == -EINVAL &&
		weir_sem_acquire(sem, 4) == -E2BIG);
}

#define TEST_WORK(work)                            \
	TEST(work##_need_none_P7)                  \
	{                                          \
		assert_needs_no_system_call(work); \
	}

TEST_WORK(acquire_pairs)
TEST_WORK(try_pairs)
TEST_WORK(until_pairs)
TEST_WORK(weighted_pairs)
TEST_WORK(failed_tries)
TEST_WORK(async_pairs)
TEST_WORK(async_hand_offs)
TEST_WORK(holds)
TEST_WORK(wrong_uses)

static bool do_nothing(void)
{
	return true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_jail_is_a_jail),
		cmocka_unit_test(acquire_pairs_need_none_P7),
		cmocka_unit_test(try_pairs_need_none_P7),
		cmocka_unit_test(until_pairs_need_none_P7),
		cmocka_unit_test(weighted_pairs_need_none_P7),
		cmocka_unit_test(failed_tries_need_none_P7),
		cmocka_unit_test(async_pairs_need_none_P7),
		cmocka_unit_test(async_hand_offs_need_none_P7),
		cmocka_unit_test(holds_need_none_P7),
		cmocka_unit_test(wrong_uses_need_none_P7),
	};
	int status;

	if (UNDER_TSAN) {
		(void)puts("skipped: ThreadSanitizer's runtime makes system calls of its own");
		return 77;
	}
	status = run_in_jail(do_nothing);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_JAIL) {
		(void)puts("skipped: seccomp filters are not available here");
		return 77;
	}
	return RUN_TESTS(tests);
}

/* base: whether a processor is to spare. What has been learnt is the process's own, so that each
 * test asks in a child process. */
#include "base/cpu.h"
#include "support/acquirer.h"
#include "support/unit.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_UNTIL_NOTICED = 256 };

/* Binds the calling thread to the `which`-th of the processors it may use, from 0. */
static bool pin(int which)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	(void)sched_getaffinity(0, sizeof(all), &all);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all) && which-- == 0) {
			CPU_SET(cpu, &one);
			return sched_setaffinity(0, sizeof(one), &one) == 0;
		}
	}
	return false;
}

static int usable_cpus(void)
{
	cpu_set_t all;

	(void)sched_getaffinity(0, sizeof(all), &all);
	return CPU_COUNT(&all);
}

/* What `ask` answers in a process of its own. */
static bool in_a_child(bool (*ask)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(ask() ? 1 : 0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 1;
}

static bool ask_on_one(void)
{
	return pin(0) && weir__cpu_to_spare();
}

TEST(one_cpu_is_none_to_spare_CHECKLIST_27)
{
	assert_false(in_a_child(ask_on_one));
}

TEST(several_cpus_are_one_to_spare)
{
	assert_int_equal(in_a_child(weir__cpu_to_spare), usable_cpus() > 1);
}

static void *ask_on_another(void *ret)
{
	*(bool *)ret = pin(1) && weir__cpu_to_spare();
	return NULL;
}

/* Both threads are bound, but not to the same processor: each may spin while the other runs. */
static bool ask_on_one_each(void)
{
	bool answer_of_the_first = true;

	(void)pthread_join(start_thread(ask_on_another, &answer_of_the_first), NULL);
	return !answer_of_the_first && pin(0) && weir__cpu_to_spare();
}

TEST(threads_on_different_cpus_have_one_to_spare)
{
	if (usable_cpus() < 2)
		skip();
	assert_true(in_a_child(ask_on_one_each));
}

static bool ask_after_the_binding_is_lifted(void)
{
	cpu_set_t all;

	(void)sched_getaffinity(0, sizeof(all), &all);
	if (!pin(0) || weir__cpu_to_spare())
		return false;
	(void)sched_setaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CALLS_UNTIL_NOTICED; i++)
		(void)weir__cpu_to_spare();
	return weir__cpu_to_spare();
}

TEST(a_change_of_affinity_is_noticed)
{
	if (usable_cpus() < 2)
		skip();
	assert_true(in_a_child(ask_after_the_binding_is_lifted));
}

TEST(errno_is_left_alone)
{
	errno = 12345;
	for (int i = 0; i <= CALLS_UNTIL_NOTICED; i++)
		(void)weir__cpu_to_spare();
	weir__cpu_yield();
	assert_int_equal(errno, 12345);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_cpu_is_none_to_spare_CHECKLIST_27),
		cmocka_unit_test(several_cpus_are_one_to_spare),
		cmocka_unit_test(threads_on_different_cpus_have_one_to_spare),
		cmocka_unit_test(a_change_of_affinity_is_noticed),
		cmocka_unit_test(errno_is_left_alone),
	};

	return RUN_TESTS(tests);
}

/* Tasks without a test framework, for processors that are only emulated: see run.sh.
 *
 * What differs between processors is the switch: registers that must survive it, whole and
 * floating, alignment, and how a new task begins. The rest is a sample of everything. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

#define CHECK(condition)                                                              \
	do {                                                                          \
		if (!(condition)) {                                                   \
			(void)fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			return -EPROTO;                                               \
		}                                                                     \
	} while (0)

enum { TASKS = 50, TURNS = 200 };

static struct weir_sem slots = WEIR_SEM_INIT(3);
static int inside;

/* More live values than there are registers, so that the callee's are all in use over a switch. */
static int keeps_registers(void *arg, intptr_t *value)
{
	long whole[24];
	double floating[24];
	_Alignas(16) char aligned[16];

	for (int i = 0; i < 24; i++) {
		whole[i] = (long)(intptr_t)arg * 1000 + i;
		floating[i] = (double)whole[i] / 7;
	}
	for (int turn = 0; turn < TURNS; turn++) {
		CHECK(weir_yield() == 0);
		CHECK((uintptr_t)aligned % 16 == 0);
#pragma GCC unroll 24
		for (int i = 0; i < 24; i++) {
			whole[i] += i;
			floating[i] += 0.5;
		}
	}
	for (int i = 0; i < 24; i++) {
		long begin = (long)(intptr_t)arg * 1000 + i;

		CHECK(whole[i] == begin + (long)TURNS * i);
		CHECK(floating[i] > (double)begin / 7 + TURNS / 2 - 1e-6 &&
		      floating[i] < (double)begin / 7 + TURNS / 2 + 1e-6);
	}
	*value = (intptr_t)arg * 2;
	return 0;
}

static int passes(void *arg, intptr_t *value)
{
	int error;

	(void)arg;
	WEIR_HOLD(&slots, 1, &error) {
		CHECK(++inside <= 3);
		error = weir_sleep(WEIR_MS);
		inside--;
	}
	*value = 1;
	return error;
}

static int sleeps(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	return weir_sleep(3600 * WEIR_SECOND);
}

static void *complete(void *promise)
{
	(void)weir_complete(promise, 7);
	return NULL;
}

static int gather(weir_task_fn *fn, intptr_t *values)
{
	struct weir_future *tasks[TASKS];
	int error;

	for (intptr_t i = 0; i < TASKS; i++) {
		tasks[i] = weir_spawn(fn, (void *)i);
		CHECK(tasks[i]);
	}
	error = weir_gather(tasks, TASKS, WEIR_NEVER, values);
	for (int i = 0; i < TASKS; i++)
		weir_future_unref(tasks[i]);
	return error;
}

static int root(void *arg, intptr_t *value)
{
	struct weir_future *promise = weir_promise();
	struct weir_future *sleeper = weir_spawn(sleeps, NULL);
	intptr_t values[TASKS];
	pthread_t thread;

	(void)arg;
	CHECK(weir_self() && promise && sleeper);
	CHECK(gather(keeps_registers, values) == 0);
	for (int i = 0; i < TASKS; i++)
		CHECK(values[i] == 2 * i);
	CHECK(gather(passes, values) == 0);
	CHECK(weir_cancel(sleeper) == 0);
	CHECK(weir_wait(sleeper, WEIR_NEVER, NULL) == -ECANCELED);
	CHECK(pthread_create(&thread, NULL, complete, promise) == 0);
	CHECK(weir_wait(promise, WEIR_NEVER, value) == 0 && *value == 7);
	CHECK(pthread_join(thread, NULL) == 0);
	weir_future_unref(promise);
	weir_future_unref(sleeper);
	return weir_sched_dump(stdout);
}

/* The emulator says yes to any advice and does nothing, so light guards must be refused for there
 * to be a guard at all. */
int __real_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice)
{
	enum { GUARD_INSTALL = 102 };

	if (advice == GUARD_INSTALL) {
		errno = EINVAL;
		return -1;
	}
	return __real_madvise(address, length, advice);
}

static int dig(int depth)
{
	volatile char frame[512];

	frame[0] = (char)depth;
	return depth == 0 ? 0 : dig(depth - 1) + frame[0];
}

static int digs(void *arg, intptr_t *value)
{
	(void)arg;
	(void)weir_task_name("digger");
	*value = dig(1000000);
	return 0;
}

int main(int argc, char **argv)
{
	intptr_t value = 0;
	struct weir_run_config config = { .value = &value };
	int error;

	if (argc > 1 && strcmp(argv[1], "overflow") == 0)
		return weir_run(digs, NULL, NULL);
	error = weir_run(root, NULL, &config);
	if (error < 0 || value != 7)
		(void)fprintf(stderr, "failed: %s\n", weir_strerror(error));
	return error < 0 || value != 7;
}

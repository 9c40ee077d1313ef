/* task_threads: threads and tasks wait for the same semaphore, in one order.
 *
 * One thread runs a scheduler with many tasks, others are plain threads. None of them knows which
 * kind the others are. In the end a thread completes a promise that a task waits for. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <weir/weir.h>

enum { PERMITS = 2, TASKS = 8, THREADS = 3, TURNS = 20 };

static struct weir_sem slots = WEIR_SEM_INIT(PERMITS);
static atomic_int inside;
static atomic_int too_many;
static atomic_int turns;

/* The same for a task and for a thread: weir_sleep lets other tasks run, or sleeps. */
static int take_turns(void)
{
	int error = 0;

	for (int i = 0; i < TURNS && error == 0; i++) {
		WEIR_HOLD(&slots, 1, &error) {
			if (atomic_fetch_add(&inside, 1) >= PERMITS)
				atomic_fetch_add(&too_many, 1);
			error = weir_sleep(50 * WEIR_US);
			atomic_fetch_sub(&inside, 1);
			atomic_fetch_add(&turns, 1);
		}
	}
	return error;
}

static int task(void *arg, intptr_t *value)
{
	(void)arg;
	(void)value;
	return take_turns();
}

static void *thread(void *done)
{
	int error = take_turns();

	if (error == 0)
		weir_complete(done, TURNS);
	else
		weir_fail(done, error);
	weir_future_unref(done);
	return NULL;
}

static int root(void *arg, intptr_t *value)
{
	struct weir_future *all[TASKS + THREADS];
	pthread_t threads[THREADS];
	int error;

	(void)arg;
	(void)value;
	for (int i = 0; i < TASKS; i++)
		all[i] = weir_spawn(task, NULL);
	for (int i = 0; i < THREADS; i++) {
		all[TASKS + i] = weir_promise();
		if (pthread_create(&threads[i], NULL, thread, weir_future_ref(all[TASKS + i])) != 0)
			return -EAGAIN;
	}
	/* A task and the promise of a thread are both futures. */
	error = weir_gather(all, TASKS + THREADS, WEIR_NEVER, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < TASKS + THREADS; i++)
		weir_future_unref(all[i]);
	return error;
}

int main(void)
{
	int error = weir_run(root, NULL, NULL);

	printf("%d turns, %d too many inside\n", turns, too_many);
	return error == 0 && turns == (TASKS + THREADS) * TURNS && too_many == 0 ? 0 : 1;
}

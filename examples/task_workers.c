/* task_workers: ten tasks, never more than three at work, all in one thread.
 *
 * Waiting for a permit, sleeping and gathering let the other tasks run. The results come in the
 * order of the workers, not in that in which they finished. */
#include <stdio.h>
#include <weir/weir.h>

enum { AT_A_TIME = 3, WORKERS = 10 };

static struct weir_sem slots = WEIR_SEM_INIT(AT_A_TIME);
static int working;
static int most;

static int worker(void *arg, intptr_t *value)
{
	int error;

	WEIR_HOLD(&slots, 1, &error) {
		/* Plain variables: tasks of one thread never run at the same time. */
		if (++working > most)
			most = working;
		error = weir_sleep(2 * WEIR_MS);
		*value = (intptr_t)arg * 2;
		working--;
	}
	return error;
}

static int rate_limited_work(void *arg, intptr_t *value)
{
	struct weir_future *tasks[WORKERS];
	intptr_t results[WORKERS];
	int error;

	(void)arg;
	for (intptr_t i = 0; i < WORKERS; i++)
		tasks[i] = weir_spawn(worker, (void *)i);
	error = weir_gather(tasks, WORKERS, WEIR_NEVER, results);
	for (int i = 0; i < WORKERS; i++) {
		if (error == 0)
			*value += results[i];
		weir_future_unref(tasks[i]);
	}
	return error;
}

int main(void)
{
	intptr_t sum = 0;
	int error = weir_run(rate_limited_work, NULL, &(struct weir_run_config){ .value = &sum });

	if (error < 0) {
		fprintf(stderr, "%s\n", weir_strerror(error));
		return 1;
	}
	printf("%d workers, at most %d at a time, sum %d\n", WORKERS, most, (int)sum);
	return sum == WORKERS * (WORKERS - 1) && most == AT_A_TIME ? 0 : 1;
}

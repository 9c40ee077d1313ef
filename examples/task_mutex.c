/* task_mutex: a semaphore of one permit is a mutex, for tasks too.
 *
 * Tasks of one thread need none around plain computing, for nothing interrupts them. They need one
 * around whatever waits in the middle: here each deposit reads, waits and writes. */
#include <stdio.h>
#include <weir/weir.h>

enum { TASKS = 4, DEPOSITS = 25 };

static struct weir_sem lock = WEIR_SEM_INIT(1);
static int balance;

static int critical_section(void *arg, intptr_t *value)
{
	int error = 0;

	(void)arg;
	(void)value;
	for (int i = 0; i < DEPOSITS && error == 0; i++) {
		WEIR_HOLD(&lock, 1, &error) {
			int before = balance;

			error = weir_yield(); /* the others run, but not in here */
			balance = before + 1;
		}
	}
	return error;
}

static int mutex_example(void *arg, intptr_t *value)
{
	struct weir_future *tasks[TASKS];
	int error;

	(void)arg;
	(void)value;
	for (int i = 0; i < TASKS; i++)
		tasks[i] = weir_spawn(critical_section, NULL);
	error = weir_gather(tasks, TASKS, WEIR_NEVER, NULL);
	for (int i = 0; i < TASKS; i++)
		weir_future_unref(tasks[i]);
	return error;
}

int main(void)
{
	int error = weir_run(mutex_example, NULL, NULL);

	printf("balance %d of %d\n", balance, TASKS * DEPOSITS);
	return error == 0 && balance == TASKS * DEPOSITS ? 0 : 1;
}

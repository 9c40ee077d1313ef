/* support: threads that wait for a semaphore. */
#include "support/acquirer.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_t start_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, body, argument);

	if (error) {
		(void)fprintf(stderr, "cannot start a thread: %s\n", strerror(error));
		exit(1);
	}
	return thread;
}

static uint32_t waiters(const struct weir_sem *sem)
{
	struct weir_sem_stats stats;

	weir_sem_stats(sem, &stats);
	return stats.waiting;
}

void wait_for_waiters(const struct weir_sem *sem, uint32_t count)
{
	while (waiters(sem) != count)
		(void)sched_yield();
}

static void *acquirer_body(void *argument)
{
	struct acquirer *acquirer = argument;

	acquirer->result = weir_sem_acquire_until(acquirer->sem, acquirer->n, acquirer->deadline);
	if (acquirer->result == 0 && acquirer->turns)
		acquirer->turn = __atomic_add_fetch(acquirer->turns, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

void acquirer_start(struct acquirer *acquirer)
{
	acquirer->turn = 0;
	acquirer->thread = start_thread(acquirer_body, acquirer);
}

void acquirer_queue(struct acquirer *acquirer)
{
	uint32_t before = waiters(acquirer->sem);

	acquirer_start(acquirer);
	wait_for_waiters(acquirer->sem, before + 1);
}

int acquirer_join(struct acquirer *acquirer)
{
	(void)pthread_join(acquirer->thread, NULL);
	return acquirer->result;
}

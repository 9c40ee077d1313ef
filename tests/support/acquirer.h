/* support: threads that wait for a semaphore.
 *
 * A test has to know that a thread is in the queue before it goes on. The semaphore itself says so:
 * acquirer_queue() returns when its count of waiters has risen. No test sleeps and hopes. */
#ifndef TESTS_SUPPORT_ACQUIRER_H
#define TESTS_SUPPORT_ACQUIRER_H

#include <pthread.h>
#include <weir/sem.h>

struct acquirer {
	struct weir_sem *sem;
	uint32_t n;
	weir_time deadline;
	uint32_t *turns; /* NULL, or a counter that all who are to be put in order share */
	uint32_t turn; /* after the join: the how-manieth to be granted, from 1; 0 if not granted */
	int result;
	pthread_t thread;
};

/* Starts a thread that acquires. The caller has filled in `sem`, `n` and `deadline`. */
void acquirer_start(struct acquirer *acquirer);

/* The same, and returns when it is in the queue. Nobody else may come or go meanwhile. */
void acquirer_queue(struct acquirer *acquirer);

/* Returns what the acquire has returned. The permits stay taken: the caller may release them. */
int acquirer_join(struct acquirer *acquirer);

/* Returns when `count` waiters are in the queue. */
void wait_for_waiters(const struct weir_sem *sem, uint32_t count);

/* Starts a thread or ends the program. */
pthread_t start_thread(void *(*body)(void *), void *argument);

#endif

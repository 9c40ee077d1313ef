/* support: threads that meet again and again.
 *
 * Starting a thread takes far longer than the races that stress programs are after. So a crew is
 * started once, and each crew_run() sends all of its threads into a function at nearly the same
 * time. */
#ifndef TESTS_SUPPORT_CREW_H
#define TESTS_SUPPORT_CREW_H

#include <pthread.h>
#include <stdint.h>

/* `number` tells the threads apart, from 0. */
typedef void crew_job(void *argument, uint32_t number);

enum { CREW_MOST = 16 };

struct crew {
	uint32_t size;
	uint32_t started; /* how many have taken their number */
	uint32_t round;   /* what the threads wait for: the last one they have not run */
	uint32_t at_work;
	crew_job *job; /* NULL: go home */
	void *argument;
	pthread_t threads[CREW_MOST];
};

void crew_start(struct crew *crew, uint32_t size);

/* Runs job(argument, 0), job(argument, 1) ... side by side, and returns when all have returned. */
void crew_run(struct crew *crew, crew_job *job, void *argument);

void crew_stop(struct crew *crew);

#endif

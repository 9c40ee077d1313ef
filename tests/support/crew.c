/* support: threads that meet again and again. */
#include "support/crew.h"

#include "support/acquirer.h"

#include <sched.h>

static void *crew_body(void *argument)
{
	struct crew *crew = argument;
	uint32_t number = __atomic_fetch_add(&crew->started, 1, __ATOMIC_RELAXED);

	for (uint32_t round = 1;; round++) {
		crew_job *job;

		while (__atomic_load_n(&crew->round, __ATOMIC_ACQUIRE) != round)
			(void)sched_yield();
		job = crew->job;
		if (job)
			job(crew->argument, number);
		(void)__atomic_sub_fetch(&crew->at_work, 1, __ATOMIC_RELEASE);
		if (!job)
			return NULL;
	}
}

void crew_start(struct crew *crew, uint32_t size)
{
	*crew = (struct crew){ .size = size };
	for (uint32_t i = 0; i < size; i++)
		crew->threads[i] = start_thread(crew_body, crew);
}

void crew_run(struct crew *crew, crew_job *job, void *argument)
{
	crew->job = job;
	crew->argument = argument;
	crew->at_work = crew->size;
	__atomic_store_n(&crew->round, crew->round + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&crew->at_work, __ATOMIC_ACQUIRE) > 0)
		(void)sched_yield();
}

void crew_stop(struct crew *crew)
{
	crew_run(crew, NULL, NULL);
	for (uint32_t i = 0; i < crew->size; i++)
		(void)pthread_join(crew->threads[i], NULL);
}

/* workers: a thread for each job, but never more than three at a time.
 *
 * The permit is taken by the one who starts a thread and given back by the thread itself: the two
 * need not be the same. In the end, taking all permits at once waits for the last job. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <weir/weir.h>

enum { AT_A_TIME = 3, JOBS = 40 };

static struct weir_sem slots = WEIR_SEM_INIT(AT_A_TIME);
static atomic_int running;
static atomic_int most;
static int results[JOBS];

static void *job(void *arg)
{
	int *result = arg;
	int now = atomic_fetch_add(&running, 1) + 1;
	int seen = atomic_load(&most);

	while (seen < now && !atomic_compare_exchange_weak(&most, &seen, now))
		;
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	*result = (int)(result - results) * 2;
	atomic_fetch_sub(&running, 1);

	weir_sem_release(&slots, 1);
	return NULL;
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < JOBS; i++) {
		pthread_t thread;

		if (weir_sem_acquire(&slots, 1) < 0 ||
		    pthread_create(&thread, NULL, job, &results[i]) != 0)
			return 1;
		pthread_detach(thread);
	}

	/* When all permits are ours, every job is done, and what it wrote is ours to read. */
	if (weir_sem_acquire(&slots, AT_A_TIME) < 0)
		return 1;
	for (int i = 0; i < JOBS; i++)
		sum += results[i];
	printf("%d jobs, at most %d at a time, sum %ld\n", JOBS, atomic_load(&most), sum);
	return sum == (long)JOBS * (JOBS - 1) && atomic_load(&most) <= AT_A_TIME ? 0 : 1;
}

/* resize: changing the limit while it is in use.
 *
 * Six workers pass through the semaphore again and again. Meanwhile the limit is lowered, set to 0
 * (paused) and raised. Nobody is thrown out by a shrink: what is held above the limit is owed, and
 * the next releases pay it. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <weir/weir.h>

enum { WORKERS = 6, SAMPLES = 20 };

static struct weir_sem gate = WEIR_SEM_INIT(4);
static atomic_int inside;
static atomic_long rounds;

static void nap(void)
{
	struct timespec time = { .tv_nsec = 1000000 };

	nanosleep(&time, NULL);
}

static void *worker(void *arg)
{
	int error;

	(void)arg;
	do {
		WEIR_HOLD(&gate, 1, &error) {
			atomic_fetch_add(&inside, 1);
			nap();
			atomic_fetch_add(&rounds, 1);
			atomic_fetch_sub(&inside, 1);
		}
	} while (error == 0);
	return NULL;
}

/* Sets the limit, waits until the debt is paid, and watches for a while. */
static bool limit_to(uint32_t limit)
{
	struct weir_sem_stats stats;
	int most = 0;

	if (weir_sem_resize(&gate, limit) < 0)
		return false;
	weir_sem_stats(&gate, &stats);
	printf("limit %u: held %u, owed %u", stats.limit, stats.held, stats.owed);
	while (stats.owed > 0) {
		nap();
		weir_sem_stats(&gate, &stats);
	}
	for (int i = 0; i < SAMPLES; i++) {
		int now = atomic_load(&inside);

		most = now > most ? now : most;
		nap();
	}
	printf(", then at most %d inside\n", most);
	return most <= (int)limit;
}

int main(void)
{
	pthread_t threads[WORKERS];
	bool right;
	long before;

	for (int i = 0; i < WORKERS; i++) {
		if (pthread_create(&threads[i], NULL, worker, NULL) != 0)
			return 1;
	}
	right = limit_to(4) && limit_to(1);

	/* Paused: whoever is inside leaves, nobody enters and nobody fails. */
	right = right && limit_to(0);
	before = atomic_load(&rounds);
	right = right && limit_to(0) && atomic_load(&rounds) == before;

	/* Raised: those who waited all the time go on. */
	right = right && limit_to(WORKERS);
	while (right && atomic_load(&rounds) == before)
		nap();

	/* More than the limit could never be granted, and is refused at once. */
	right = right && weir_sem_try_acquire(&gate, WORKERS + 1) == -E2BIG;

	weir_sem_close(&gate);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld rounds, %s\n", atomic_load(&rounds), right ? "all as promised" : "WRONG");
	return right ? 0 : 1;
}

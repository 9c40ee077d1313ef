/* mutex: a semaphore of one permit is a fair mutex.
 *
 * Four threads add to one plain counter. WEIR_HOLD gives the permit back on every way out of the
 * block, the early return included. */
#include <pthread.h>
#include <stdio.h>
#include <weir/weir.h>

enum { THREADS = 4, ROUNDS = 10000 };

static struct {
	struct weir_sem lock;
	long value;
} counter = { .lock = WEIR_SEM_INIT(1) };

static bool add_one(long ceiling)
{
	WEIR_HOLD(&counter.lock, 1) {
		if (counter.value >= ceiling)
			return false;
		counter.value++;
	}
	return true;
}

static void *adder(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		add_one((long)THREADS * ROUNDS - 1);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct weir_sem_stats stats;

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, adder, NULL) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	/* One addition of all was refused, and its permit came back all the same. */
	weir_sem_stats(&counter.lock, &stats);
	printf("counted to %ld, %u of %u permits free, %llu waits\n", counter.value, stats.free,
	       stats.limit, (unsigned long long)stats.granted_after_wait);
	return counter.value == (long)THREADS * ROUNDS - 1 && stats.free == 1 ? 0 : 1;
}

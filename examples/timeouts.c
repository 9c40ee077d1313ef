/* timeouts: one deadline for a request that needs two semaphores.
 *
 * Deadlines are absolute, so the same one is passed on and the whole never takes longer than it,
 * however many steps there are. What was taken before a failure is given back. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <weir/weir.h>

static struct weir_sem door = WEIR_SEM_INIT(2);
static struct weir_sem desk = WEIR_SEM_INIT(1);

/* 0: both are ours. An error: neither is. */
static int enter(weir_time deadline)
{
	int error = weir_sem_acquire_until(&door, 1, deadline);

	if (error < 0)
		return error;
	error = weir_sem_acquire_until(&desk, 1, deadline);
	if (error < 0)
		weir_sem_release(&door, 1);
	return error;
}

static void leave(void)
{
	weir_sem_release(&desk, 1);
	weir_sem_release(&door, 1);
}

static void *visitor(void *arg)
{
	weir_time deadline = weir_after(50 * WEIR_MS);
	bool *right = arg;
	int error = enter(deadline);
	weir_time now = weir_now();

	printf("visitor: %s, %lld us after the deadline\n", weir_strerror(error),
	       (long long)((now - deadline) / WEIR_US));
	*right = error == -ETIMEDOUT && now >= deadline;
	return NULL;
}

int main(void)
{
	struct weir_sem_stats stats;
	bool right = false;
	pthread_t thread;

	/* While we sit at the desk, a visitor waits for it and gives up. */
	if (enter(WEIR_NEVER) < 0 || pthread_create(&thread, NULL, visitor, &right) != 0)
		return 1;
	pthread_join(thread, NULL);
	leave();

	/* Nothing was lost on the way. A deadline that has passed does not refuse what is free. */
	if (!right || enter(weir_now()) < 0)
		return 1;
	leave();
	weir_sem_stats(&door, &stats);
	printf("door: %u of %u free\n", stats.free, stats.limit);
	return stats.free == 2 && stats.timed_out == 0 ? 0 : 1;
}

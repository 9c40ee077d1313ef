/* events: an event loop that waits for permits without blocking.
 *
 * One thread runs an epoll loop for a hundred requests. At most three of them may use the backend
 * at a time, which is two threads behind a pipe. A request that must wait leaves its node in the
 * queue. When a backend thread releases a permit, the wake function runs there, and all it does is
 * to post the request to the loop through an eventfd. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <weir/weir.h>

enum { REQUESTS = 100, AT_A_TIME = 3, BACKENDS = 2, HUNG_UP = 50 };

struct request {
	struct weir_waiter waiter; /* all zero is a fresh one */
	struct request *next;
	enum { WAITING, GRANTED, DONE } state;
};

static struct weir_sem permits = WEIR_SEM_INIT(AT_A_TIME);
static struct request requests[REQUESTS];
static int to_backend[2];

/* The loop's letter box: anybody pushes, the loop takes all. */
static _Atomic(struct request *) letters;
static int bell;

static void post(struct request *request)
{
	uint64_t one = 1;

	request->next = atomic_load(&letters);
	while (!atomic_compare_exchange_weak(&letters, &request->next, request))
		;
	/* It cannot fail: a bell that has been rung 2^64 - 2 times is out of reach. */
	(void)!write(bell, &one, sizeof(one));
}

static void on_grant(struct weir_waiter *waiter, int result)
{
	struct request *request =
		(struct request *)(void *)((char *)waiter - offsetof(struct request, waiter));

	/* Only a close or a shrink would end the wait with an error, and here is neither. */
	if (result == 0) {
		request->state = GRANTED;
		post(request);
	}
}

static void *backend(void *arg)
{
	struct request *request;

	(void)arg;
	while (read(to_backend[0], &request, sizeof(request)) == sizeof(request)) {
		request->state = DONE;
		weir_sem_release(&permits, 1);
		post(request);
	}
	return NULL;
}

static bool send_to_backend(struct request *request)
{
	return write(to_backend[1], &request, sizeof(request)) == sizeof(request);
}

/* Queues all requests. None is served yet, for the backend does not run. */
static bool submit(void)
{
	for (int i = 0; i < REQUESTS; i++) {
		int result = weir_sem_acquire_async(&permits, 1, &requests[i].waiter, on_grant);

		if (result < 0 || (result == 0 && !send_to_backend(&requests[i])))
			return false;
	}
	return true;
}

/* Runs until `expected` requests are done. A loop with more to do has its sockets and timers in the
 * same epoll set. */
static bool run_loop(int poll, int expected)
{
	int done = 0;

	while (done < expected) {
		struct epoll_event event;
		struct request *request;
		uint64_t rung;

		if (epoll_wait(poll, &event, 1, -1) != 1 ||
		    read(bell, &rung, sizeof(rung)) != sizeof(rung))
			continue;
		for (request = atomic_exchange(&letters, NULL); request;) {
			struct request *next = request->next;

			if (request->state == DONE)
				done++;
			else if (!send_to_backend(request))
				return false;
			request = next;
		}
	}
	return true;
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int poll = epoll_create1(EPOLL_CLOEXEC);
	struct weir_sem_stats stats;
	pthread_t threads[BACKENDS];
	bool right;

	bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (poll < 0 || bell < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, bell, &event) < 0 ||
	    pipe(to_backend) < 0 || !submit())
		return 1;

	/* A client hangs up: its node leaves the middle of the queue, and is ours again. */
	right = weir_sem_cancel(&permits, &requests[HUNG_UP].waiter) == 0;

	for (int i = 0; i < BACKENDS; i++) {
		if (pthread_create(&threads[i], NULL, backend, NULL) != 0)
			return 1;
	}
	right = run_loop(poll, REQUESTS - 1) && right;
	close(to_backend[1]);
	for (int i = 0; i < BACKENDS; i++)
		pthread_join(threads[i], NULL);

	weir_sem_stats(&permits, &stats);
	printf("%llu requests waited and were served, %u cancelled, %u of %u permits free\n",
	       (unsigned long long)stats.granted_after_wait, stats.cancelled, stats.free,
	       stats.limit);
	right = right && stats.granted_after_wait == REQUESTS - AT_A_TIME - 1 &&
		stats.free == AT_A_TIME && requests[HUNG_UP].state == WAITING;
	return right ? 0 : 1;
}

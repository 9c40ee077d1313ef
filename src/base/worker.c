/* base: pthreads. */
#include "base/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <weir/base.h>

#include "base/alloc.h"

_Static_assert(sizeof(pthread_t) == sizeof(uintptr_t), "a handle is a pthread_t");

struct start {
	void (*run)(void *arg);
	void *arg;
	char name[16];
};

static void *begin(void *argument)
{
	struct start start = *(struct start *)argument;

	weir__free(argument);
	(void)pthread_setname_np(pthread_self(), start.name);
	start.run(start.arg);
	return NULL;
}

int weir__worker_start(struct weir__worker *worker, const char *name, void (*run)(void *arg),
		       void *arg)
{
	struct start *start = weir__alloc(sizeof(*start));
	pthread_t handle;
	sigset_t all;
	sigset_t before;
	int saved = errno;
	int error;

	if (start == NULL)
		return -ENOMEM;
	*start = (struct start){ .run = run, .arg = arg };
	strncpy(start->name, name, sizeof(start->name) - 1);
	/* A new thread inherits the mask, so there is no moment at which it could be interrupted.
	 */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&handle, NULL, begin, start);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	if (error != 0) {
		weir__free(start);
		return -error;
	}
	worker->handle = (uintptr_t)handle;
	return 0;
}

void weir__worker_join(struct weir__worker *worker)
{
	(void)pthread_join((pthread_t)worker->handle, NULL);
}

bool weir__worker_is_self(const struct weir__worker *worker)
{
	return pthread_equal((pthread_t)worker->handle, pthread_self()) != 0;
}

void weir__errand_begin(struct weir__errand *errand)
{
	errand->saved_errno = errno;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &errand->cancel_state);
}

void weir__errand_end(const struct weir__errand *errand)
{
	(void)pthread_setcancelstate(errand->cancel_state, NULL);
	errno = errand->saved_errno;
}

static uint32_t forks;

static void count_fork(void)
{
	WEIR__POKE(&forks, forks + 1);
}

__attribute__((constructor)) static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, count_fork);
}

uint32_t weir__forks(void)
{
	return WEIR__PEEK(&forks);
}

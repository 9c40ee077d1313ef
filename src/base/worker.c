/* base: pthreads. */
#include "base/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
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
		/* With us, that one says that a permit is not free. */
		return error == EAGAIN ? -EUSERS : -error;
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

/* ---- errands --------------------------------------------------------------------------------- */

static WEIR__TLS uintptr_t stack_floor;
static WEIR__TLS uintptr_t stack_top; /* 0: not known yet */

/* The first thread's stack grows, down to its limit. The random bytes that the kernel gives to each
 * program are at its beginning. To ask for its attributes would be to read all of /proc/self/maps.
 */
static void find_first_stack(void)
{
	struct rlimit limit = { .rlim_cur = 0 };

	(void)getrlimit(RLIMIT_STACK, &limit);
	stack_top = getauxval(AT_RANDOM);
	stack_floor = limit.rlim_cur < stack_top ? stack_top - limit.rlim_cur : 0;
}

static void find_stack(void)
{
	pthread_attr_t attributes;
	void *lowest = NULL;
	size_t size = 0;
	size_t guard = 0;

	if (syscall(SYS_gettid) == getpid()) {
		find_first_stack();
		return;
	}
	stack_top = 1; /* below everything */
	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	if (pthread_attr_getstack(&attributes, &lowest, &size) == 0 &&
	    pthread_attr_getguardsize(&attributes, &guard) == 0) {
		stack_floor = (uintptr_t)lowest + guard;
		stack_top = (uintptr_t)lowest + size;
	}
	(void)pthread_attr_destroy(&attributes);
}

bool weir__errand_has_room(size_t bytes)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (stack_top == 0)
		find_stack();
	return here < stack_top && here >= stack_floor && here - stack_floor >= bytes;
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

/* ---- forks ----------------------------------------------------------------------------------- */

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

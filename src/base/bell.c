/* base: eventfd and poll.
 *
 * All of it would be cancellation points, and whoever is ended at one leaves a message for which no
 * bell rings, or tasks that nobody runs: so pthread_cancel waits. */
#include "base/bell.h"

#include "base/wake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

int weir__bell_init(struct weir__bell *bell)
{
	int saved = errno;
	int result = 0;

	bell->fd = eventfd(0, EFD_CLOEXEC);
	if (bell->fd < 0)
		result = -errno;
	errno = saved;
	return result;
}

void weir__bell_done(struct weir__bell *bell)
{
	int cancel_state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	(void)close(bell->fd);
	(void)pthread_setcancelstate(cancel_state, NULL);
}

void weir__bell_ring(struct weir__bell *bell)
{
	const uint64_t one = 1;
	int saved = errno;
	int cancel_state;

	weir__wake_begins();
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	while (write(bell->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	(void)pthread_setcancelstate(cancel_state, NULL);
	errno = saved;
}

uint64_t weir__bell_wait(struct weir__bell *bell, weir_time deadline)
{
	struct pollfd poll = { .fd = bell->fd, .events = POLLIN };
	weir_time rest = deadline == WEIR_NEVER ? 0 : deadline - weir_now();
	struct timespec timeout = { .tv_sec = rest / WEIR_SECOND, .tv_nsec = rest % WEIR_SECOND };
	uint64_t rings = 0;
	int saved = errno;
	int cancel_state;

	if (rest < 0)
		timeout = (struct timespec){ 0 };
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (ppoll(&poll, 1, deadline == WEIR_NEVER ? NULL : &timeout, NULL) <= 0 ||
	    read(bell->fd, &rings, sizeof(rings)) < 0)
		rings = 0;
	(void)pthread_setcancelstate(cancel_state, NULL);
	errno = saved;
	return rings;
}

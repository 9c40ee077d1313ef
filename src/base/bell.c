/* base: eventfd and poll. */
#include "base/bell.h"

#include <errno.h>
#include <poll.h>
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
	(void)close(bell->fd);
}

void weir__bell_ring(struct weir__bell *bell)
{
	const uint64_t one = 1;
	int saved = errno;

	while (write(bell->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = saved;
}

uint64_t weir__bell_wait(struct weir__bell *bell, weir_time deadline)
{
	struct pollfd poll = { .fd = bell->fd, .events = POLLIN };
	weir_time rest = deadline == WEIR_NEVER ? 0 : deadline - weir_now();
	struct timespec timeout = { .tv_sec = rest / WEIR_SECOND, .tv_nsec = rest % WEIR_SECOND };
	uint64_t rings = 0;
	int saved = errno;

	if (rest < 0)
		timeout = (struct timespec){ 0 };
	if (ppoll(&poll, 1, deadline == WEIR_NEVER ? NULL : &timeout, NULL) <= 0 ||
	    read(bell->fd, &rings, sizeof(rings)) < 0)
		rings = 0;
	errno = saved;
	return rings;
}

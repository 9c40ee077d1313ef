/* base: epoll, eventfd and timerfd.
 *
 * epoll's own timeout would not count the time in which the machine is suspended; a timer on
 * CLOCK_BOOTTIME does. */
#include "base/poller.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS = 16 };

static int open_all(struct weir__poller *poller)
{
	struct epoll_event bell = { .events = EPOLLIN, .data.ptr = NULL };
	struct epoll_event timer = { .events = EPOLLIN, .data.ptr = NULL };

	poller->epoll = epoll_create1(EPOLL_CLOEXEC);
	poller->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	poller->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (poller->epoll < 0 || poller->bell < 0 || poller->timer < 0 ||
	    epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->bell, &bell) < 0 ||
	    epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->timer, &timer) < 0)
		return -errno;
	return 0;
}

int weir__poller_init(struct weir__poller *poller)
{
	int saved = errno;
	int result;

	*poller = (struct weir__poller){ .timer_at = WEIR_NEVER };
	result = open_all(poller);
	if (result < 0)
		weir__poller_done(poller);
	errno = saved;
	return result;
}

void weir__poller_done(struct weir__poller *poller)
{
	const int fds[] = { poller->epoll, poller->bell, poller->timer };
	int saved = errno;

	for (int i = 0; i < 3; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
	errno = saved;
}

int weir__poller_add(struct weir__poller *poller, int fd, uint32_t events, void *data)
{
	struct epoll_event event = { .events = events, .data.ptr = data };
	int saved = errno;
	int result = epoll_ctl(poller->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;

	errno = saved;
	return result;
}

void weir__poller_remove(struct weir__poller *poller, int fd)
{
	int saved = errno;

	(void)epoll_ctl(poller->epoll, EPOLL_CTL_DEL, fd, NULL);
	errno = saved;
}

void weir__poller_ring(struct weir__poller *poller)
{
	const uint64_t one = 1;
	int saved = errno;

	while (write(poller->bell, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	errno = saved;
}

static void set_timer(struct weir__poller *poller, weir_time boottime)
{
	struct itimerspec at = { 0 };

	if (boottime == poller->timer_at)
		return;
	if (boottime != WEIR_NEVER)
		at.it_value = (struct timespec){ .tv_sec = boottime / WEIR_SECOND,
						 .tv_nsec = boottime % WEIR_SECOND };
	(void)timerfd_settime(poller->timer, TFD_TIMER_ABSTIME, &at, NULL);
	poller->timer_at = boottime;
}

int weir__poller_wait(struct weir__poller *poller, weir_time boottime,
		      struct weir__poll_event *events, int size)
{
	struct epoll_event found[EVENTS];
	int saved = errno;
	int count = 0;
	int n;

	if (boottime > 0)
		set_timer(poller, boottime);
	n = epoll_wait(poller->epoll, found, size < EVENTS ? size : EVENTS, boottime > 0 ? -1 : 0);
	for (int i = 0; i < n; i++) {
		uint64_t rings;

		if (found[i].data.ptr != NULL) {
			events[count++] = (struct weir__poll_event){ .data = found[i].data.ptr,
								     .events = found[i].events };
		} else if (read(poller->bell, &rings, sizeof(rings)) < 0 &&
			   read(poller->timer, &rings, sizeof(rings)) > 0) {
			poller->timer_at = WEIR_NEVER;
		}
	}
	errno = saved;
	return count;
}

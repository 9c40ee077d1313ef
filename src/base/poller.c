/* base: epoll, eventfd and timerfd.
 *
 * epoll's own timeout does not count the time in which the machine is suspended; a timer on
 * CLOCK_BOOTTIME does, and can be set while somebody waits. */
#include "base/poller.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/boottime.h"

enum { EVENTS = 16 };

static int open_all(struct weir__poller *poller, bool timed)
{
	struct epoll_event own = { .events = EPOLLIN, .data.ptr = poller };

	poller->epoll = epoll_create1(EPOLL_CLOEXEC);
	poller->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (poller->epoll < 0 || poller->bell < 0 ||
	    epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->bell, &own) < 0)
		return -errno;
	if (!timed)
		return 0;
	poller->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (poller->timer < 0 || epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->timer, &own) < 0)
		return -errno;
	return 0;
}

int weir__poller_init(struct weir__poller *poller, bool timed)
{
	int saved = errno;
	int result;

	*poller = (struct weir__poller){ .timer = -1, .timer_at = WEIR_NEVER };
	result = open_all(poller, timed);
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

int weir__poller_add_other(struct weir__poller *poller, const struct weir__poller *other,
			   void *data)
{
	return weir__poller_add(poller, other->epoll, EPOLLIN, data);
}

void weir__poller_hear_other(struct weir__poller *poller, const struct weir__poller *other,
			     void *data, bool hear)
{
	struct epoll_event event = { .events = hear ? EPOLLIN : 0U, .data.ptr = data };
	int saved = errno;

	(void)epoll_ctl(poller->epoll, EPOLL_CTL_MOD, other->epoll, &event);
	errno = saved;
}

void weir__poller_ring(struct weir__poller *poller)
{
	const uint64_t one = 1;
	int saved = errno;
	int cancel_state;

	/* Others wait for what the caller has left, and for its locks. */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	while (write(poller->bell, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	(void)pthread_setcancelstate(cancel_state, NULL);
	errno = saved;
}

void weir__poller_set_timer(struct weir__poller *poller, weir_time boottime)
{
	struct itimerspec at = { 0 };
	int saved = errno;

	/* One that has rung is not set any more. */
	if (boottime == poller->timer_at && boottime > weir__boottime())
		return;
	/* Nothing at all would stop the timer; a time that has passed rings it. */
	if (boottime < 1)
		at.it_value.tv_nsec = 1;
	else if (boottime != WEIR_NEVER)
		at.it_value = (struct timespec){ .tv_sec = boottime / WEIR_SECOND,
						 .tv_nsec = boottime % WEIR_SECOND };
	(void)timerfd_settime(poller->timer, TFD_TIMER_ABSTIME, &at, NULL);
	poller->timer_at = boottime;
	errno = saved;
}

/* Milliseconds for epoll: never too few. */
static int time_left(weir_time deadline)
{
	weir_time left;

	if (deadline == WEIR_NEVER)
		return -1;
	left = deadline > 0 ? (deadline - weir_now() + WEIR_MS - 1) / WEIR_MS : 0;
	return left <= 0 ? 0 : left < INT_MAX ? (int)left : INT_MAX;
}

int weir__poller_wait(struct weir__poller *poller, weir_time deadline,
		      struct weir__poll_event *events, int size)
{
	struct epoll_event found[EVENTS];
	int saved = errno;
	int count = 0;
	int n = epoll_wait(poller->epoll, found, size < EVENTS ? size : EVENTS,
			   time_left(deadline));

	for (int i = 0; i < n; i++) {
		uint64_t number;

		if (found[i].data.ptr != poller)
			events[count++] = (struct weir__poll_event){ .data = found[i].data.ptr,
								     .events = found[i].events };
		else if (read(poller->bell, &number, sizeof(number)) < 0)
			(void)!read(poller->timer, &number, sizeof(number));
	}
	errno = saved;
	return count;
}

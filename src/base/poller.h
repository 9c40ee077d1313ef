/* base: waiting for descriptors, for a bell and for a time, all at once.
 *
 * One thread waits; any thread rings. */
#ifndef WEIR_BASE_POLLER_H
#define WEIR_BASE_POLLER_H

#include <weir/base.h>

struct weir__poller {
	int epoll;
	int bell;
	int timer;
	weir_time timer_at; /* what the timer is set to; WEIR_NEVER: nothing */
};

/* What happened to a descriptor: what it was added with, and events as for epoll. */
struct weir__poll_event {
	void *data;
	uint32_t events;
};

/* 0 or a negative errno. */
int weir__poller_init(struct weir__poller *poller);
void weir__poller_done(struct weir__poller *poller);

/* `data` must not be NULL. 0 or a negative errno. */
int weir__poller_add(struct weir__poller *poller, int fd, uint32_t events, void *data);
void weir__poller_remove(struct weir__poller *poller, int fd);

/* From any thread, also before the wait begins. */
void weir__poller_ring(struct weir__poller *poller);

/* Waits for a ring, for descriptors, or until `boottime` (0: only looks). Returns how many
 * descriptors have something to say, up to `size`; a ring and the time count as none. */
int weir__poller_wait(struct weir__poller *poller, weir_time boottime,
		      struct weir__poll_event *events, int size);

#endif

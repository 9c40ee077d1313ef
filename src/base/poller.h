/* base: waiting for descriptors, for a bell and for a time, all at once.
 *
 * One thread waits; any thread rings. A poller may watch another one: who waits for the one is told
 * that the other has something to say. */
#ifndef WEIR_BASE_POLLER_H
#define WEIR_BASE_POLLER_H

#include <stdbool.h>
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

/* Whether it has a timer. 0 or a negative errno. */
int weir__poller_init(struct weir__poller *poller, bool timed);
void weir__poller_done(struct weir__poller *poller);

/* `data` must not be NULL. 0 or a negative errno. */
int weir__poller_add(struct weir__poller *poller, int fd, uint32_t events, void *data);
void weir__poller_remove(struct weir__poller *poller, int fd);

/* Watches another poller, as `data`; whether it is to be told of that one's news. */
int weir__poller_add_other(struct weir__poller *poller, const struct weir__poller *other,
			   void *data);
void weir__poller_hear_other(struct weir__poller *poller, const struct weir__poller *other,
			     void *data, bool hear);

/* From any thread, also before the wait begins. */
void weir__poller_ring(struct weir__poller *poller);

/* When the wait is to end, on CLOCK_BOOTTIME; also of one that is under way. WEIR_NEVER: it is not.
 * One thread at a time. */
void weir__poller_set_timer(struct weir__poller *poller, weir_time boottime);

/* Waits for a ring, for descriptors, for the timer, and until `deadline`, which is on the monotonic
 * clock (0: only looks). Returns how many descriptors have something to say, up to `size`; all else
 * counts as none. */
int weir__poller_wait(struct weir__poller *poller, weir_time deadline,
		      struct weir__poll_event *events, int size);

#endif

/* base: a thread of the library's own, and forks. */
#ifndef WEIR_BASE_WORKER_H
#define WEIR_BASE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir__worker {
	uintptr_t handle;
};

/* Starts a thread with all signals blocked, so that a program's handlers never run in it. `name` is
 * for people, up to 15 bytes. 0; -EUSERS when there are too many; or another negative errno. */
int weir__worker_start(struct weir__worker *worker, const char *name, void (*run)(void *arg),
		       void *arg);
void weir__worker_join(struct weir__worker *worker);
bool weir__worker_is_self(const struct weir__worker *worker);

/* What a thread of the program's does in the place of one of ours: it cannot be cancelled meanwhile
 * (pthread_cancel), for others rely on its getting done, and its errno stays. */
struct weir__errand {
	int cancel_state;
	int saved_errno;
};

/* Whether the calling thread's stack has so many bytes left. False as well on a stack that is not
 * the thread's own. */
bool weir__errand_has_room(size_t bytes);
void weir__errand_begin(struct weir__errand *errand);
void weir__errand_end(const struct weir__errand *errand);

/* How often this process is a fork's child, counted from the program's start: what differs between
 * two calls was separated by a fork. One load. */
uint32_t weir__forks(void);

#endif

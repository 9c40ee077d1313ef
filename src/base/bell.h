/* base: a bell that any thread rings and one listens for, by a file descriptor. Nothing here is a
 * cancellation point. */
#ifndef WEIR_BASE_BELL_H
#define WEIR_BASE_BELL_H

#include <weir/base.h>

struct weir__bell {
	int fd;
};

/* 0 or a negative errno. */
int weir__bell_init(struct weir__bell *bell);
void weir__bell_done(struct weir__bell *bell);

void weir__bell_ring(struct weir__bell *bell);

/* Waits for a ring, until `deadline` at the longest, and returns how often it has rung since the
 * last time: 0 when it did not, or when a signal came first. */
uint64_t weir__bell_wait(struct weir__bell *bell, weir_time deadline);

#endif

/* task: where the records of tasks are kept.
 *
 * Side by side, and apart from the stacks: a task that has not started has no stack yet, and what
 * is done with very many tasks, one after the other, walks through memory in order. What was needed
 * at the same time once is kept until the scheduler goes. A pool belongs to one scheduler and is
 * not synchronised. */
#ifndef WEIR_TASK_RECORD_H
#define WEIR_TASK_RECORD_H

#include <stddef.h>

struct weir__task;
struct weir__chunk;

/* All zero is an empty pool. */
struct weir__records {
	struct weir__task *idle; /* the newest first, linked by `newer` */
	struct weir__chunk *chunks;
	size_t last; /* how many records the newest chunk has */
};

/* A record, of which only `future` is set: one that nobody has a handle of, or NULL; it is put back
 * with another. NULL: no memory. */
struct weir__task *weir__record_get(struct weir__records *records);
void weir__record_put(struct weir__records *records, struct weir__task *task);

/* All have been put back. */
void weir__records_done(struct weir__records *records);

#endif

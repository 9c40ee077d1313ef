/* model: the oracles. They look at the semaphores after every step and hold each change of the
 * state to account: who made it, in which operation, and whether that operation was entitled to it.
 *
 * So P2 is not a sum that happens to come out right: a change of the number of permits held must be
 * exactly what the operation of the thread that made the step takes or gives, or the weights of the
 * waiters that it has just taken from the head of the queue, and each operation and each waiter can
 * be paid once. P1, P3, P4 and P5 are checked at the same places. P6 is memory.h's. */
#ifndef MODEL_ORACLE_H
#define MODEL_ORACLE_H

#include "model/engine.h"

/* A semaphore to watch from now on. */
void oracle_adopt(int sem, struct weir_sem *at);

/* After a step, and whenever an operation begins or ends: accounts for what `thread` changed. */
void oracle_observe(struct thread *thread);

/* An operation of the calling thread: begins, takes its first step, ends. Returns the result. */
void oracle_begin(enum op_kind kind, int sem, uint32_t n, weir_time deadline,
		  struct weir_waiter *node);
void oracle_start(struct thread *thread);
int oracle_end(int result);

/* The calling task was told that it is cancelled. */
void oracle_told_cancel(void);

/* The wake function of an async waiter was called. */
void oracle_told(struct weir_waiter *node, int result);

/* A thread goes to sleep, or wakes whoever sleeps there. */
void oracle_sleep(struct thread *thread, const uint32_t *word, weir_time deadline);
void oracle_wake(struct thread *thread, const uint32_t *word);

/* A thread spins. */
void oracle_spin(struct thread *thread);

/* A thread rings a bell, and so wakes a scheduler. */
void oracle_ring(struct thread *thread, struct bell *bell);

/* After a step: takes note of the markers in the inboxes of schedulers. */
void oracle_watch_bells(void);

/* Memory is about to be freed. */
void oracle_gone(const void *block, size_t size);

/* The execution has ended and nobody was frozen on the way: P2 at rest. */
void oracle_rest(void);

/* For the files that implement the above: the wait of a node, NULL when it has none; its end;
 * whether a node was told; what is new in a queue, and whether anything is; what an operation may
 * plead. */
struct wait *oracle_find(const struct weir_waiter *node);
void oracle_forget(struct wait *wait);
bool *oracle_told_flag(const struct weir_waiter *node);
bool oracle_watch_queue(struct ghost *ghost, struct thread *thread);
void oracle_plead(const struct ghost *ghost, struct op *op);

#endif

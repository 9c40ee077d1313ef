/* model: the words in which the programs to explore are written.
 *
 * Each program shares one semaphore (number 0, or a second one by the functions that end in _of), a
 * few async waiters, called slots, and some 32-bit words. The functions are those of weir/sem.h;
 * they tell the oracles what the program does and return what the library returned. */
#ifndef MODEL_MODELS_H
#define MODEL_MODELS_H

#include "model/engine.h"

#include <errno.h>

int m_acquire_of(int sem, uint32_t n);
int m_acquire(uint32_t n);
int m_acquire_until(uint32_t n, weir_time delay);
int m_try(uint32_t n);
int m_release_of(int sem, uint32_t n);
int m_release(uint32_t n);
int m_resize(uint32_t permits);
void m_close(void);
void m_unref(void);

/* limit, free, held and owed must fit together. */
void m_stats(void);

/* How many wait. */
uint32_t m_waiting(void);

/* Waits with a slot; `woken` is called when the wait is over. */
int m_async_of(int sem, int slot, uint32_t n, void (*woken)(int slot, int result));
int m_async(int slot, uint32_t n, void (*woken)(int slot, int result));
int m_cancel(int slot);
void m_free_slot(int slot);

/* Gives the memory of the semaphore away, as its last user may. */
void m_destroy(void);

/* What a task does; and a thread's function that runs a scheduler whose root that is. */
#define TASK(name)                                                \
	static inline int name(__attribute__((unused)) void *arg, \
			       __attribute__((unused)) intptr_t *value)
#define RUN(name, root)               \
	static inline void name(void) \
	{                             \
		m_run(root);          \
	}

/* Runs a scheduler in the calling thread until `root`, which must not fail, has returned and all
 * its tasks have ended. */
void m_run(weir_task_fn *root);

/* Futures have numbers. From a task: starts another one, whose argument is the number. In prepare
 * functions: a promise with so many handles. */
void m_spawn(int i, weir_task_fn *fn);
void m_promise(int i, int handles);
int m_complete(int i, intptr_t value);
int m_fail(int i, int error);
void m_drop(int i);
void m_cancel_task(int i);

/* Waiting for one future, or for those from 0 to n - 1. */
int m_wait(int i, weir_time delay, intptr_t *value);
int m_gather(int n, weir_time delay, intptr_t *values);
int m_race(int n, weir_time delay, size_t *winner);
int m_sleep(weir_time delay);
int m_yield(void);

/* Gives another thread a handle of future i (at most 3). That one either gets it, and must drop it,
 * or has come too early and gets nothing. */
void m_hand_over(int i);
bool m_take_over(int i);

/* Acquires and releases. */
void m_pass(uint32_t n);

/* From now on the calling thread waits as a task does, and its waits may be cancelled. */
void m_be_task(void);

/* In prepare functions: make a semaphore. */
void m_make(int sem, uint32_t permits);
void m_make_counted(uint32_t permits);
void m_make_on_heap(uint32_t permits, uint32_t flags);
void m_make_slots(int count);

/* One of the shared words, for WEIR__LOAD and its kin. */
uint32_t *m_word(int i);

/* Fails unless `right`. */
void m_check(bool right, const char *what);

struct model_list {
	const struct model *models;
	int count;
};

/* Every model there is, in groups; the list ends with NULL. */
extern const struct model_list *const model_lists[];
extern const struct model_list basic_models, weight_models, giving_up_models, async_models,
	life_models, task_models, future_models, sched_models;

#endif

/* model: running a program of a few threads once, step by step.
 *
 * A step is one access through the seam and the plain code up to the next one. Between two steps
 * the engine lists what could happen next, the search chooses, and the oracles look at the result.
 */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "model/world.h"

#include <setjmp.h>
#include <stdio.h>

/* What surroundings a program meets, besides the choice of who goes on. */
enum {
	ENV_TSO = 1,    /* stores wait in a buffer for each thread, as on x86 */
	ENV_FREEZE = 2, /* one thread stops for ever, anywhere */
};

/* A program to explore. */
struct model {
	const char *name;
	const char *promise; /* what it checks */
	uint32_t permits;    /* of the semaphore that every thread uses; 0: `prepare` makes one */
	uint32_t held;       /* permits the program has from the start */
	void (*prepare)(void);
	void (*threads[MAX_THREADS])(void);
	void (*finally)(void);
	void (*handler)(void); /* a signal handler that comes once, anywhere in thread 0 */
	uint8_t surprises;     /* how many sleeps end for no reason, or by a signal */
	uint8_t cancellations; /* how many waits of tasks are cancelled */
	bool spare_cpu;        /* whether waiters may spin */
	bool endless_spins;    /* whether spinning may go on until another thread writes */
};

enum move_kind {
	MOVE_RUN,
	MOVE_TIMEOUT,
	MOVE_WAKE, /* for no reason */
	MOVE_INTERRUPT,
	MOVE_CANCEL,
	MOVE_INSIST, /* a spinning thread stops watching others */
	MOVE_FLUSH,
	MOVE_SIGNAL,
	MOVE_FREEZE,
};

struct move {
	uint8_t kind;
	uint8_t thread;
};

enum { MAX_MOVES = MAX_THREADS * 8, MAX_STEPS = 20000 };

/* What a step touched, so that the search knows which steps commute. */
struct footprint {
	const char *address;
	uint8_t size;
	bool writes;
	bool visible;    /* an oracle took note of it */
	bool everything; /* do not even try to tell */
};

/* Everything about the run that is no part of the program's state. */
struct engine {
	const struct model *model;
	unsigned environment;
	int threads;
	struct thread *current; /* NULL outside of all threads */
	struct thread *last;    /* the last one that was chosen to run */
	char *main_sp;
	char *lowest[MAX_STRANDS];  /* how deep each stack has been in use */
	struct step step;           /* the one under way ... */
	struct footprint footprint; /* ... what it touches ... */
	uint64_t before;            /* ... the value that was there ... */
	struct op op;               /* ... and the operation it belongs to, when traced */
	bool executing;
	bool priming;
	bool local; /* the step under way is that of a waking thread */
	bool failed;
	bool stores;    /* in any execution of the search: some that could wait in a buffer */
	uint32_t steps; /* in this execution */
	uint64_t all_steps;
	FILE *trace; /* NULL but when replaying */
	char failure[256];
	sigjmp_buf escape;
};

extern struct engine engine;

/* The variables of WEIR__GLOBAL. */
extern char __start_weir_global[];
extern char __stop_weir_global[];

void engine_init(void);

/* Runs the program once, as the search chooses. engine.failed tells. */
void engine_execute(const struct model *model, unsigned environment);

/* Takes note of a broken promise; the execution ends with the step. The first one counts. */
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

/* A yield point: returns when the calling thread may take this step. */
void engine_step(enum step_kind kind, const void *address, unsigned size, const char *where);

/* The step has been taken: whoever spins may see it. */
void step_published(struct thread *thread);

/* Sleeps until engine_wake(), or until one of the moves ends it; how it ended. */
int engine_sleep(const void *word, weir_time deadline, bool cancellable);
void engine_wake(struct thread *thread, int result);

/* Makes the oldest store, or all stores, of a thread visible. */
void engine_flush(struct thread *thread);
void engine_drain(struct thread *thread);

/* Lists all that may happen next, the thread that ran last first; their number. `costly` gets a bit
 * for each move that takes the processor from a thread which could go on. */
int moves_list(struct move *moves, uint32_t *costly);

/* Makes a move other than MOVE_RUN happen. */
void move_happens(const struct move *move);

/* Makes the semaphores and all else that the threads of a model share. */
void model_prepare(const struct model *model);

/* Whether two steps may be exchanged. */
bool footprints_commute(const struct footprint *a, const struct footprint *b);

static inline int thread_index(const struct thread *thread)
{
	return (int)(thread - world.threads);
}

/* What runs in a thread: the thread itself or one of its tasks. */
static inline struct strand *thread_strand(const struct thread *thread)
{
	return &world.strands[thread->strand];
}

/* The innermost operation that it is in; NULL for none. */
static inline struct op *thread_op(const struct thread *thread)
{
	struct strand *strand = thread_strand(thread);

	return strand->depth > 0 ? &strand->ops[strand->depth - 1] : NULL;
}

/* The thread that a strand belongs to. */
static inline int strand_thread(int strand)
{
	return strand < MAX_THREADS ? strand : (strand - MAX_THREADS) / MAX_TASKS;
}

#endif

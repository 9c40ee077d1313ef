/* model: the state of a modelled program, all of it but the stacks.
 *
 * It is cleared before each execution and is what the search compares when it asks whether it has
 * been somewhere before. So nothing that only measures (steps, times, the choices made) belongs
 * here, and nothing that the program or an oracle decides by may be kept elsewhere. */
#ifndef MODEL_WORLD_H
#define MODEL_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/sem.h>
#include <weir/task.h>

enum {
	MAX_THREADS = 4,
	MAX_TASKS = 4, /* at a time, of the scheduler in one thread */
	MAX_STRANDS = MAX_THREADS * (1 + MAX_TASKS),
	MAX_NESTING = 4, /* operations in wake functions and handlers, inside others */
	MAX_SEMS = 2,
	MAX_STORES = 4,
	TLS_SIZE = 104,
	GRANULE = 64,
	ARENA_GRANULES = 40,
	MAX_SLOTS = 4,                       /* async waiters */
	MAX_WAITS = MAX_STRANDS + MAX_SLOTS, /* one for each, at its own place */
	MAX_FUTURES = 8,
};

enum op_kind {
	OP_ACQUIRE,
	OP_TRY,
	OP_ASYNC,
	OP_CANCEL,
	OP_RELEASE,
	OP_RESIZE,
	OP_CLOSE,
	OP_UNREF,
	OP_OTHER,
};

/* What a failed operation may plead, if it was so at some moment while it ran. */
enum {
	WAS_FULL = 1,
	WAS_TOO_SMALL = 2,
	WAS_CLOSED = 4,
	WAS_EMPTY = 8,
	WAS_IN_USE = 16,  /* its node was waiting */
	WAS_DECIDED = 32, /* its node was told how its wait ended, or is about to be */
	WAS_IDLE = 64,    /* its node was neither */
};

/* A call of the program into the semaphore. */
struct op {
	struct weir_waiter *node; /* the one it waits with, or cancels */
	weir_time deadline;
	uint32_t n;
	uint8_t kind;
	uint8_t sem;
	uint8_t excuses;
	uint8_t to_wake;    /* strands whose wait it has ended and may still wake, once each */
	bool started;       /* has done a first step */
	bool done;          /* has had its effect: taken, given, taken out */
	bool joined;        /* its node was seen in the queue */
	bool closed_before; /* a close had returned when it began */
};

enum wait_state {
	WAIT_NONE,
	WAIT_QUEUED,
	WAIT_PULLED,  /* out of the queue, and the lock is still held */
	WAIT_GRANTED, /* its permits are counted in the word */
	WAIT_REFUSED,
	WAIT_LEFT,
	WAIT_PASSED_ON, /* granted, but its owner was cancelled and released the permits */
};

/* A request that was seen in a queue. */
struct wait {
	struct weir_waiter *at;
	uint32_t n;
	int32_t result; /* of a refused one */
	uint8_t state;
	uint8_t sem;
	int8_t strand; /* whose stack it is on; -1 for an async one */
	bool overtook; /* left the queue while somebody before it stayed there */
};

/* What the oracles know of a semaphore. */
struct ghost {
	struct weir_sem *sem; /* NULL: there is none, or its memory has gone */
	uint64_t word;
	uint32_t setup;
	uint32_t out;     /* permits the program was told it holds, less those it gave back */
	uint32_t peak;    /* of a counted one: most permits held ... */
	uint32_t at_once; /* ... and requests granted without a wait */
	uint32_t after_wait;
	uint32_t timed_out;
	uint32_t cancelled;
	int8_t lock_strand; /* who has the lock: a strand and the depth of its operation */
	uint8_t lock_depth;
	uint8_t length;
	int8_t queue[MAX_WAITS];
	bool closed; /* a close has returned */
};

enum thread_status { THREAD_READY, THREAD_SLEEPING, THREAD_SPINNING, THREAD_DONE };

enum step_kind {
	STEP_LOAD,
	STEP_STORE,
	STEP_UPDATE,
	STEP_FUTEX_WAIT,
	STEP_FUTEX_WAKE,
	STEP_BELL_WAIT,
	STEP_BELL_READ,
	STEP_BELL_RING,
};

/* The step that a thread takes when it is next run. */
struct step {
	const void *address;
	const char *where;
	uint32_t kind;
	uint32_t size;
};

struct store {
	void *address;
	uint64_t value;
	uint8_t size;
};

/* What has a stack: a thread by itself, or one of the tasks that its scheduler runs. The first ones
 * are the threads', the others belong to the threads in turn, MAX_TASKS to each. */
struct strand {
	char *sp; /* while it does not run */
	void (*entry)(void *arg);
	void *arg;
	uint8_t depth;
	uint8_t cancels; /* asked for, and not told yet */
	bool live;
	struct op ops[MAX_NESTING];
};

/* The bell of the scheduler in a thread. */
struct bell {
	struct weir__bell *at; /* NULL: there is none */
	uint8_t rings;         /* not heard yet */
	uint8_t due;           /* rings that are due: markers in the inbox that others replaced */
	bool marked;           /* the marker is in the inbox */
};

struct thread {
	struct step next;
	const void *sleeps_on;
	weir_time deadline;
	int32_t woken_with;
	uint8_t status;
	uint8_t strand; /* the one that runs */
	uint8_t stores;
	bool cancellable; /* its sleep may be ended with -ECANCELED */
	bool insists;     /* spins on, undisturbed, until it does something else */
	bool spins;       /* is in a loop of looking and WEIR__RELAX ... */
	bool missed;      /* ... and somebody wrote in its present turn */
	bool interrupted; /* the signal handler runs before its next step */
	bool waking;      /* has only to find out why; nobody can tell when it does */
	bool frozen;
	bool telling; /* is in a wake function */
	bool closing; /* the root of its scheduler has returned */
	char tls[TLS_SIZE];
	weir_task_fn *root;
	struct store buffer[MAX_STORES];
};

enum { GRANULE_UNUSED, GRANULE_LIVE, GRANULE_FREED };

struct world {
	weir_time clock;
	uint8_t surprises;     /* spurious and interrupted sleeps left */
	uint8_t cancellations; /* left */
	uint8_t signals;       /* left */
	uint8_t freezes;       /* left */
	uint8_t granules;      /* of the arena, given out */
	uint8_t freed;
	uint8_t granule[ARENA_GRANULES];
	uint8_t block[ARENA_GRANULES]; /* length of the block that starts here */
	struct weir_waiter *slots[MAX_SLOTS];
	bool told[MAX_SLOTS]; /* the wake function was called since the slot last began to wait */
	void (*woken[MAX_SLOTS])(int slot, int result);
	uint32_t *words;
	struct weir_future *futures[MAX_FUTURES];
	uint8_t future_strands[MAX_FUTURES]; /* of a task's that has begun: its strand; else 0 */
	uint8_t future_cancels[MAX_FUTURES]; /* asked for before it had one */
	uint8_t allocated;                   /* blocks that the library has not freed */
	struct bell bells[MAX_THREADS];
	struct ghost ghosts[MAX_SEMS];
	struct wait waits[MAX_WAITS];
	uint64_t arena[ARENA_GRANULES * GRANULE / 8] __attribute__((aligned(GRANULE)));
	struct thread threads[MAX_THREADS];
	struct strand strands[MAX_STRANDS];
};

extern struct world world;

#endif

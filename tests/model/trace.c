/* model: writing an execution down. */
#include "model/trace.h"

#include "model/memory.h"
#include "sem/batch.h"
#include "sem/heap.h"
#include "sem/word.h"
#include "task/future.h"

#include <stddef.h>
#include <string.h>

static const char *const op_names[] = {
	[OP_ACQUIRE] = "acquire", [OP_TRY] = "try",         [OP_ASYNC] = "async",
	[OP_CANCEL] = "cancel",   [OP_RELEASE] = "release", [OP_RESIZE] = "resize",
	[OP_CLOSE] = "close",     [OP_UNREF] = "unref",     [OP_OTHER] = "other",
};

static const char *const step_names[] = {
	[STEP_LOAD] = "load",       [STEP_STORE] = "store",     [STEP_UPDATE] = "update",
	[STEP_FUTEX_WAIT] = "wait", [STEP_FUTEX_WAKE] = "wake", [STEP_BELL_WAIT] = "listen",
	[STEP_BELL_READ] = "hear",  [STEP_BELL_RING] = "ring",
};

static const char *const event_names[] = {
	[MOVE_TIMEOUT] = "its deadline passes",
	[MOVE_WAKE] = "wakes for no reason",
	[MOVE_INTERRUPT] = "its sleep is interrupted",
	[MOVE_CANCEL] = "is cancelled",
	[MOVE_INSIST] = "spins until it gives up",
	[MOVE_FLUSH] = "its oldest store becomes visible",
	[MOVE_SIGNAL] = "a signal handler runs",
	[MOVE_FREEZE] = "freezes for ever",
};

static void name_sem(char *text, size_t size, int i, size_t offset)
{
	static const struct {
		size_t offset;
		const char *name;
	} fields[] = {
		{ offsetof(struct weir_sem, word), "word" },
		{ offsetof(struct weir_sem, setup), "setup" },
		{ offsetof(struct weir__sem_heap, handles), "handles" },
		{ offsetof(struct weir__sem_heap, pins), "pins" },
	};

	for (size_t k = 0; k < sizeof(fields) / sizeof(*fields); k++) {
		if (fields[k].offset == offset) {
			(void)snprintf(text, size, "sem%d.%s", i, fields[k].name);
			return;
		}
	}
	(void)snprintf(text, size, "sem%d+%zu", i, offset);
}

/* How much of the memory at a semaphore is the semaphore's. */
static size_t size_of_sem(const struct ghost *ghost)
{
	if (ghost->setup & SETUP_HEAP)
		return sizeof(struct weir__sem_heap);
	return ghost->setup & SETUP_COUNTED ? sizeof(struct weir_sem_counted) :
					      sizeof(struct weir_sem);
}

static bool name_future(char *text, size_t size, const void *address)
{
	static const struct {
		size_t offset;
		const char *name;
	} fields[] = {
		{ offsetof(struct weir_future, refs), "refs" },
		{ offsetof(struct weir_future, ended), "ended" },
		{ offsetof(struct weir_future, lock), "lock" },
	};

	for (int i = 0; i < MAX_FUTURES; i++) {
		size_t offset = (size_t)((uintptr_t)address - (uintptr_t)world.futures[i]);

		if (!world.futures[i] || offset >= sizeof(struct weir_future))
			continue;
		(void)snprintf(text, size, "future%d+%zu", i, offset);
		for (size_t k = 0; k < sizeof(fields) / sizeof(*fields); k++) {
			if (fields[k].offset == offset)
				(void)snprintf(text, size, "future%d.%s", i, fields[k].name);
		}
		return true;
	}
	return false;
}

static bool name_scheduler(char *text, size_t size, const void *address)
{
	for (int i = 0; i < MAX_THREADS; i++) {
		size_t offset = (size_t)((uintptr_t)address - (uintptr_t)world.bells[i].at +
					 offsetof(struct weir__sched, bell));

		if (!world.bells[i].at || offset >= sizeof(struct weir__sched))
			continue;
		if (offset == offsetof(struct weir__sched, inbox))
			(void)snprintf(text, size, "T%d's inbox", i);
		else if (offset == offsetof(struct weir__sched, bell))
			(void)snprintf(text, size, "T%d's bell", i);
		else
			(void)snprintf(text, size, "scheduler%d+%zu", i, offset);
		return true;
	}
	return false;
}

static bool name_wait(char *text, size_t size, const void *address)
{
	for (int i = 0; i < MAX_WAITS; i++) {
		const struct wait *wait = &world.waits[i];
		size_t offset = (size_t)((uintptr_t)address - (uintptr_t)wait->at);

		if (wait->state == WAIT_NONE || offset >= sizeof(struct weir__parked))
			continue;
		if (wait->strand >= 0 && offset == offsetof(struct weir__parked, parking.word))
			(void)snprintf(text, size, "T%d's parking", strand_thread(wait->strand));
		else
			(void)snprintf(text, size, "waiter%d+%zu", i, offset);
		return true;
	}
	return false;
}

static void name_address(char *text, size_t size, const void *address)
{
	int stack = memory_stack_of(address);

	for (int i = MAX_SEMS - 1; i >= 0; i--) {
		size_t offset = (size_t)((uintptr_t)address - (uintptr_t)world.ghosts[i].sem);

		if (world.ghosts[i].sem && offset < size_of_sem(&world.ghosts[i])) {
			name_sem(text, size, i, offset);
			return;
		}
	}
	for (int i = 0; i < MAX_SLOTS; i++) {
		size_t offset = (size_t)((uintptr_t)address - (uintptr_t)world.slots[i]);

		if (world.slots[i] && offset < sizeof(struct weir_waiter)) {
			(void)snprintf(text, size, "slot%d+%zu", i, offset);
			return;
		}
	}
	if (name_wait(text, size, address) || name_future(text, size, address) ||
	    name_scheduler(text, size, address))
		return;
	if (stack >= 0)
		(void)snprintf(text, size, "T%d's stack-%zu", strand_thread(stack),
			       (size_t)(memory_stack_top(stack) - (const char *)address));
	else
		(void)snprintf(text, size, "arena+%zu",
			       (size_t)((uintptr_t)address - (uintptr_t)world.arena));
}

static void print_word(uint64_t word)
{
	if (word & WEIR__SEM_SLOW)
		fprintf(engine.trace, "[slow held %llu%s%s]", (unsigned long long)word_held(word),
			word & WEIR__SEM_LOCK ? " LOCK" : "",
			word & WEIR__SEM_SLEEP ? " SLEEP" : "");
	else
		fprintf(engine.trace, "[free %llu held %llu]", (unsigned long long)(word >> 32),
			(unsigned long long)word_held(word));
}

static void print_value(uint64_t value, const struct step *step)
{
	bool is_word = false;

	for (int i = 0; i < MAX_SEMS; i++)
		is_word |= world.ghosts[i].sem && &world.ghosts[i].sem->word == step->address;
	if (is_word)
		print_word(value);
	else if (step->size == sizeof(void *))
		fprintf(engine.trace, "%#llx", (unsigned long long)value);
	else
		fprintf(engine.trace, "%llu", (unsigned long long)value);
}

void trace_step(const struct thread *thread)
{
	const struct step *step = &engine.step;
	uint64_t after = 0;
	char what[32] = "";
	char task[8] = "";
	char address[32];

	if (engine.op.started)
		(void)snprintf(what, sizeof(what), "%s(%u)", op_names[engine.op.kind], engine.op.n);
	name_address(address, sizeof(address), step->address);
	memcpy(&after, step->address, step->size);
	if (thread->strand >= MAX_THREADS)
		(void)snprintf(task, sizeof(task), ".%d",
			       (thread->strand - MAX_THREADS) % MAX_TASKS);
	fprintf(engine.trace, "%4u  T%d%-2s %-12s %-26s %-6s %-16s ", engine.steps,
		thread_index(thread), task, what, step->where, step_names[step->kind], address);
	print_value(engine.before, step);
	if (after != engine.before) {
		fprintf(engine.trace, " -> ");
		print_value(after, step);
	}
	if (thread->status == THREAD_SLEEPING)
		fprintf(engine.trace, "  sleeps");
	else if (thread->status == THREAD_SPINNING)
		fprintf(engine.trace, "  spins");
	else if (thread->status == THREAD_DONE)
		fprintf(engine.trace, "  ends");
	fprintf(engine.trace, "\n");
}

void trace_event(const struct move *move)
{
	fprintf(engine.trace, "      T%d %s\n", move->thread, event_names[move->kind]);
}

/* model: the threads' side of a step: the seam, store buffers, sleeping, signals. */
#include "model/seam.h"

#include "model/context.h"
#include "model/engine.h"
#include "model/memory.h"
#include "model/oracle.h"
#include "model/search.h"

#include <string.h>

bool footprints_commute(const struct footprint *a, const struct footprint *b)
{
	if (a->everything || b->everything || (a->visible && b->visible))
		return false;
	return (!a->writes && !b->writes) || a->address + a->size <= b->address ||
	       b->address + b->size <= a->address;
}

static uint64_t value_at(const void *address, unsigned size)
{
	uint64_t value = 0;

	memcpy(&value, address, size);
	return value;
}

/* A value has changed: whoever watches may look again. */
static void stir_spinners(const struct thread *writer)
{
	for (int i = 0; i < engine.threads; i++) {
		struct thread *thread = &world.threads[i];

		if (thread == writer)
			continue;
		if (thread->status == THREAD_SPINNING)
			thread->status = THREAD_READY;
		else
			thread->missed = thread->spins;
	}
}

void step_published(struct thread *thread)
{
	const struct footprint *footprint = &engine.footprint;

	if (footprint->writes && value_at(footprint->address, footprint->size) != engine.before)
		stir_spinners(thread);
}

void engine_flush(struct thread *thread)
{
	struct store *oldest = &thread->buffer[0];

	memcpy(oldest->address, &oldest->value, oldest->size);
	stir_spinners(thread);
	thread->stores--;
	memmove(oldest, oldest + 1, thread->stores * sizeof(*oldest));
	memset(&thread->buffer[thread->stores], 0, sizeof(*oldest));
}

void engine_drain(struct thread *thread)
{
	while (thread->stores > 0)
		engine_flush(thread);
}

static void deliver_signals(struct thread *thread)
{
	while (thread->interrupted) {
		thread->interrupted = false;
		engine.model->handler();
	}
}

/* A thread that insists runs through its spinning undisturbed. */
static bool spins_on(struct thread *thread, enum step_kind kind)
{
	if (thread->insists && kind == STEP_LOAD && ++engine.steps > MAX_STEPS)
		fail("livelock: T%d spins and nobody writes", thread_index(thread));
	return thread->insists && kind == STEP_LOAD && !engine.failed;
}

static void touch(const void *p, unsigned size, const char *where)
{
	const char *fault = memory_fault(p, size);

	if (fault) {
		fail("P6: T%d touched %s in %s()", thread_index(engine.current), fault, where);
		context_yield();
	}
}

/* These are kept out of the frame that stays on the stack while others run: what they would leave
 * in it makes equal states look different. */
__attribute__((noinline)) static void announce(enum step_kind kind, const void *address,
					       unsigned size, const char *where)
{
	struct thread *thread = engine.current;

	thread->insists = false;
	deliver_signals(thread);
	if (kind != STEP_LOAD)
		thread->spins = thread->missed = false;
	thread->next = (struct step){ address, where, kind, size };
}

__attribute__((noinline)) static void begin(struct thread *thread)
{
	const struct step *step = &thread->next;

	engine.step = *step;
	engine.footprint = (struct footprint){
		.address = step->address,
		.size = (uint8_t)step->size,
		.writes = step->kind != STEP_LOAD,
	};
	oracle_start(thread);
	if (engine.trace)
		engine.op = thread_op(thread) ? *thread_op(thread) :
						(struct op){ .started = false };
	if (step->kind != STEP_FUTEX_WAKE)
		touch(step->address, step->size, step->where);
	if (step->kind != STEP_LOAD && step->kind != STEP_STORE)
		engine_drain(thread);
	engine.before = value_at(step->address, step->size);
}

void engine_step(enum step_kind kind, const void *address, unsigned size, const char *where)
{
	if (!engine.current || spins_on(engine.current, kind))
		return;
	memory_scrub();
	do {
		announce(kind, address, size, where);
		context_yield();
	} while (engine.current->interrupted);
	begin(engine.current);
	memory_scrub();
}

int engine_sleep(const void *word, weir_time deadline, bool cancellable)
{
	struct thread *thread = engine.current;
	int result;

	thread->status = THREAD_SLEEPING;
	thread->sleeps_on = word;
	thread->deadline = deadline;
	thread->cancellable = cancellable;
	context_yield();
	deliver_signals(thread);
	result = thread->woken_with;
	thread->woken_with = 0;
	return result;
}

void engine_wake(struct thread *thread, int result)
{
	thread->status = THREAD_READY;
	thread->sleeps_on = NULL;
	thread->deadline = 0;
	thread->cancellable = false;
	thread->woken_with = result;
	thread->waking = true;
}

const void *seam_load(const void *p, unsigned size, const char *where)
{
	const struct thread *thread;

	engine_step(STEP_LOAD, p, size, where);
	thread = engine.current;
	for (int i = thread ? thread->stores - 1 : -1; i >= 0; i--) {
		if (thread->buffer[i].address == p)
			return &thread->buffer[i].value;
	}
	return p;
}

void *seam_store(void *p, unsigned size, int order, const char *where)
{
	struct thread *thread;
	struct store *store;

	engine_step(STEP_STORE, p, size, where);
	thread = engine.current;
	engine.stores |= order != __ATOMIC_SEQ_CST;
	if (!thread || !(engine.environment & ENV_TSO))
		return p;
	if (order == __ATOMIC_SEQ_CST) {
		engine_drain(thread);
		return p;
	}
	if (thread->stores == MAX_STORES)
		engine_flush(thread);
	store = &thread->buffer[thread->stores++];
	store->address = p;
	store->size = (uint8_t)size;
	return &store->value;
}

void *seam_update(void *p, unsigned size, const char *where)
{
	engine_step(STEP_UPDATE, p, size, where);
	return p;
}

void seam_peek(const void *p, unsigned size, const char *where)
{
	if (memory_is_shared(p))
		engine_step(STEP_LOAD, p, size, where);
}

void seam_poke(const void *p, unsigned size, const char *where)
{
	seam_interrupt();
	if (engine.current)
		touch(p, size, where);
}

void seam_interrupt(void)
{
	struct thread *thread = engine.current;

	if (world.signals == 0 || thread != &world.threads[0] || engine.priming ||
	    search_pick(2) == 0)
		return;
	world.signals--;
	engine.model->handler();
}

/* The next turn can only be worth it when somebody has written since the last one began. */
void seam_relax(void)
{
	struct thread *thread = engine.current;

	if (!thread || thread->insists)
		return;
	oracle_spin(thread);
	if (thread->spins && !thread->missed)
		thread->status = THREAD_SPINNING;
	thread->spins = true;
	thread->missed = false;
}

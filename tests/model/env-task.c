/* model: the world below tasks: what base/bell.c, task/stack.c, task/record.c and task/switch_* do
 * in production. Records of tasks are blocks like any other. There are no signals here, so nobody
 * explains a fault, and no stack is measured.
 *
 * A task is a strand of the thread that its scheduler runs in: its stack is one of a few that each
 * thread has, and a switch to it is one between stacks of the same thread, of which the engine
 * learns nothing but where each stack was left. */
#include "base/alloc.h"
#include "base/bell.h"
#include "base/fault.h"
#include "base/thread.h"
#include "model/context.h"
#include "model/engine.h"
#include "model/memory.h"
#include "model/oracle.h"
#include "task/depth.h"
#include "task/overflow.h"
#include "task/sched.h"
#include "task/stack.h"
#include "task/switch.h"

/* No program waits that long: it is a scheduler that looks around now and then. Time never gets
 * there, so that a wake-up which only such a look would make good for is a lost one. Sleeps that
 * end for no reason take its place. */
static const weir_time far = WEIR_MS;

static struct bell *bell_of(const struct weir__bell *bell)
{
	return &world.bells[bell->fd];
}

int weir__bell_init(struct weir__bell *bell)
{
	bell->fd = thread_index(engine.current);
	*bell_of(bell) = (struct bell){ .at = bell };
	return 0;
}

void weir__bell_done(struct weir__bell *bell)
{
	if (bell_of(bell)->due > 0 || bell_of(bell)->rings > 0)
		fail("P6: T%d's scheduler goes while somebody is about to ring its bell", bell->fd);
	*bell_of(bell) = (struct bell){ .at = NULL };
}

void weir__bell_ring(struct weir__bell *bell)
{
	struct thread *listener;

	engine_step(STEP_BELL_RING, bell, sizeof(bell->fd), __func__);
	if (bell_of(bell)->at != bell) {
		fail("P6: T%d rings a bell that is gone", thread_index(engine.current));
		return;
	}
	oracle_ring(engine.current, bell_of(bell));
	bell_of(bell)->rings++;
	listener = &world.threads[bell->fd];
	if (listener->status == THREAD_SLEEPING && listener->sleeps_on == bell)
		engine_wake(listener, 0);
}

uint64_t weir__bell_wait(struct weir__bell *bell, weir_time deadline)
{
	struct bell *state = bell_of(bell);
	uint64_t rings;

	engine_step(STEP_BELL_WAIT, bell, sizeof(bell->fd), __func__);
	if (state->rings == 0) {
		if (deadline <= world.clock)
			return 0;
		(void)engine_sleep(bell, deadline - world.clock < far ? deadline : WEIR_NEVER,
				   false);
		if (state->rings == 0)
			return 0;
		/* Woken and reading are two calls. */
		engine_step(STEP_BELL_READ, bell, sizeof(bell->fd), __func__);
	}
	rings = state->rings;
	state->rings = 0;
	return rings;
}

int weir__stacks_init(struct weir__stacks *stacks, size_t size, size_t warm_most)
{
	(void)size;
	/* All of one colour, so that there is less to compare. */
	*stacks = (struct weir__stacks){ .size = THREAD_STACK, .warm_most = warm_most };
	return 0;
}

void weir__stacks_done(struct weir__stacks *stacks)
{
	int first = MAX_THREADS + thread_index(engine.current) * MAX_TASKS;

	(void)stacks;
	for (int i = first; i < first + MAX_TASKS; i++) {
		if (world.strands[i].live)
			fail("P6: T%d's scheduler goes before its tasks",
			     thread_index(engine.current));
	}
}

bool weir__stack_promise(struct weir__stacks *stacks)
{
	(void)stacks;
	return true;
}

/* The lowest that is free, so that equal states have equal addresses. */
void *weir__stack_get(struct weir__stacks *stacks)
{
	int first = MAX_THREADS + thread_index(engine.current) * MAX_TASKS;

	(void)stacks;
	for (int i = first; i < first + MAX_TASKS; i++) {
		if (!world.strands[i].live) {
			world.strands[i].live = true;
			return memory_stack_top(i);
		}
	}
	fail("the model needs more tasks than there are");
	return NULL;
}

void weir__stack_put(struct weir__stacks *stacks, void *end)
{
	int i = memory_stack_of((char *)end - 1);

	(void)stacks;
	if (!world.strands[i].live)
		fail("P6: a stack was given back twice");
	world.strands[i] = (struct strand){ .live = false };
	memory_bury_all(i);
}

void weir__stack_expect(const struct weir__stacks *stacks)
{
	(void)stacks;
}

/* Each by itself, so that one that has ended is known to be gone. */
struct weir__task *weir__record_get(struct weir__records *records)
{
	(void)records;
	return weir__alloc(sizeof(struct weir__task));
}

void weir__record_put(struct weir__records *records, struct weir__task *task)
{
	(void)records;
	weir__free(task->future);
	weir__free(task);
}

void weir__records_done(struct weir__records *records)
{
	(void)records;
}

/* The one that was left for the strand that runs now. */
static struct strand *left;

static void arrive(void)
{
	memory_bury((int)(left - world.strands));
}

static void begin(void)
{
	const struct strand *strand = thread_strand(engine.current);

	arrive();
	strand->entry(strand->arg);
}

weir__context weir__context_new(void *stack, size_t size, void (*entry)(void *), void *arg)
{
	int i = memory_stack_of(stack);
	struct strand *strand = &world.strands[i];

	strand->entry = entry;
	strand->arg = arg;
	for (int f = 0; f < MAX_FUTURES; f++) {
		if (world.futures[f] != ((const struct weir__task *)arg)->future)
			continue;
		world.future_strands[f] = (uint8_t)i;
		strand->cancels = world.future_cancels[f];
	}
	strand->sp = context_new((char *)stack + size, size, begin);
	memory_bury(i);
	return strand;
}

int weir__context_switch(weir__context *from, weir__context to, int result)
{
	static int said;
	struct strand *self = thread_strand(engine.current);
	struct strand *next = to;

	/* What the last step did is this strand's, and the next one is another's. */
	oracle_observe(engine.current);
	*from = self;
	memory_check_stack((int)(next - world.strands));
	engine.current->strand = (uint8_t)(next - world.strands);
	left = self;
	said = result;
	memory_scrub();
	context_enter(next->sp, &self->sp);
	arrive();
	return said;
}

/* ---- what a model does without --------------------------------------------------------------- */

int *weir__thread_errno(void)
{
	static int nobody_fails;

	return &nobody_fails;
}

uint32_t weir__thread_id(void)
{
	return (uint32_t)thread_index(engine.current) + 1;
}

void weir__faults_watch(struct weir__fault_watch *watch, weir__fault_fn *explain)
{
	(void)watch;
	(void)explain;
}

void weir__faults_unwatch(struct weir__fault_watch *watch)
{
	(void)watch;
}

bool weir__overflow_explain(const void *address)
{
	(void)address;
	return false;
}

void weir__depth_look(struct weir__task *task, bool ended)
{
	(void)task;
	(void)ended;
}

int weir__depth_uses(struct weir__sched *sched, struct weir_stack_use *uses, size_t n)
{
	(void)sched;
	(void)uses;
	(void)n;
	return 0;
}

void weir__depth_print(FILE *stream, struct weir__sched *sched)
{
	(void)stream;
	(void)sched;
}

void weir__depth_done(struct weir__sched *sched)
{
	(void)sched;
}

/* model: one execution of a program. */
#include "model/engine.h"

#include "model/context.h"
#include "model/memory.h"
#include "model/oracle.h"
#include "model/search.h"
#include "model/trace.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct world world;
struct engine engine;
char *engine_stack;

/* The variables of WEIR__TLS: the section holds those of the current thread. */
extern char __start_weir_tls[];
extern char __stop_weir_tls[];
static char tls_initially[TLS_SIZE];

static size_t tls_size(void)
{
	return (size_t)(__stop_weir_tls - __start_weir_tls);
}

void engine_init(void)
{
	static char stack[ENGINE_STACK] __attribute__((aligned(64)));

	engine_stack = stack + sizeof(stack);
	memory_init();
	if (tls_size() > TLS_SIZE)
		abort();
	memcpy(tls_initially, __start_weir_tls, tls_size());
}

static void reset_globals(void)
{
	memset(__start_weir_global, 0, (size_t)(__stop_weir_global - __start_weir_global));
}

void fail(const char *format, ...)
{
	va_list arguments;

	if (engine.failed)
		return;
	engine.failed = true;
	va_start(arguments, format);
	(void)vsnprintf(engine.failure, sizeof(engine.failure), format, arguments);
	va_end(arguments);
}

/* A thread has stopped at its next yield point, or for good. */
static void finish_step(struct thread *thread)
{
	engine.all_steps++;
	if (++engine.steps > MAX_STEPS)
		fail("no end after %d steps", MAX_STEPS);
	memory_bury(thread->strand);
	if (engine.priming)
		return;
	oracle_observe(thread);
	oracle_watch_bells();
	memory_check_arena();
	if (engine.local)
		return;
	if (engine.trace)
		trace_step(thread);
	step_published(thread);
	search_stepped(thread_index(thread), &engine.footprint);
}

/* Nothing can happen any more. */
static void finish_execution(void)
{
	bool frozen = false;

	for (int i = 0; i < engine.threads; i++) {
		memory_check_stack(world.threads[i].strand);
		frozen |= world.threads[i].frozen;
	}
	/* A thread that froze may have kept the lock or a permit, so others may wait for ever. */
	if (frozen)
		return;
	for (int i = 0; i < engine.threads; i++) {
		if (world.threads[i].status == THREAD_SPINNING)
			fail("livelock: T%d spins and nobody writes", i);
		if (world.threads[i].status == THREAD_SLEEPING)
			fail("deadlock: T%d sleeps and nobody is left to wake it", i);
	}
	if (engine.failed)
		return;
	oracle_rest();
	if (engine.model->finally)
		engine.model->finally();
}

static char *resume(struct thread *thread)
{
	if (thread != engine.current) {
		memory_check_stack(thread->strand);
		memcpy(__start_weir_tls, thread->tls, tls_size());
		engine.current = thread;
	}
	engine.local = thread->waking;
	thread->waking = false;
	return thread_strand(thread)->sp;
}

static struct thread *find_waking(void)
{
	for (int i = 0; i < engine.threads; i++) {
		if (world.threads[i].waking && !world.threads[i].frozen)
			return &world.threads[i];
	}
	return NULL;
}

/* Lets things happen until a thread is to run; its stack pointer, or main's when it is over. */
static char *go_on(void)
{
	while (!engine.failed) {
		struct move moves[MAX_MOVES];
		uint32_t costly;
		struct thread *waking = find_waking();
		int index;
		int count;

		if (waking)
			return resume(waking);
		count = moves_list(moves, &costly);
		if (count == 0) {
			finish_execution();
			break;
		}
		index = search_choose(moves, count, costly);
		if (index < 0)
			break;
		if (moves[index].kind == MOVE_RUN) {
			engine.last = &world.threads[moves[index].thread];
			return resume(engine.last);
		}
		if (engine.trace)
			trace_event(&moves[index]);
		move_happens(&moves[index]);
	}
	engine.current = NULL;
	return engine.main_sp;
}

char *engine_decide(char *sp)
{
	struct thread *thread = engine.current;

	thread_strand(thread)->sp = sp;
	memcpy(thread->tls, __start_weir_tls, tls_size());
	finish_step(thread);
	return engine.priming ? engine.main_sp : go_on();
}

static void thread_main(void)
{
	struct thread *thread = engine.current;

	engine.model->threads[thread_index(thread)]();
	/* What it would need to go on is of no interest any more. */
	thread->status = THREAD_DONE;
	thread->next = (struct step){ 0 };
	thread_strand(thread)->live = false;
	memset(__start_weir_tls, 0, tls_size());
	for (;;)
		context_yield();
}

/* Brings every thread to its first step: until there it has done nothing that others could see. */
static void prime(void)
{
	engine.priming = true;
	for (int i = 0; i < engine.threads; i++) {
		struct strand *strand = &world.strands[i];

		memcpy(__start_weir_tls, tls_initially, tls_size());
		strand->sp = context_new(memory_stack_top(i), THREAD_STACK, thread_main);
		strand->live = true;
		engine.current = &world.threads[i];
		engine.current->strand = (uint8_t)i;
		context_enter(strand->sp, &engine.main_sp);
	}
	engine.priming = false;
	engine.current = NULL;
	engine.main_sp = NULL;
}

void engine_execute(const struct model *model, unsigned environment)
{
	char *sp;

	memset(&world, 0, sizeof(world));
	engine.model = model;
	engine.environment = environment;
	engine.threads = 0;
	while (engine.threads < MAX_THREADS && model->threads[engine.threads])
		engine.threads++;
	engine.current = NULL;
	engine.last = NULL;
	engine.steps = 0;
	engine.failed = false;
	world.clock = 1;
	world.surprises = model->surprises;
	world.cancellations = model->cancellations;
	world.signals = model->handler ? 1 : 0;
	world.freezes = environment & ENV_FREEZE ? 1 : 0;
	memory_reset();
	reset_globals();
	/* Back here when the program crashed. */
	if (sigsetjmp(engine.escape, 0) == 0) {
		engine.executing = true;
		model_prepare(model);
		prime();
		sp = go_on();
		if (sp)
			context_enter(sp, &engine.main_sp);
	}
	engine.executing = false;
	engine.current = NULL;
}

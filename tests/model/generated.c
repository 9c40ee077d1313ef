/* model: programs made up from a number.
 *
 * They are made so that they always come to an end: whoever holds a permit gives it back before it
 * waits, a limit of 0 is raised again by the thread that set it, and what is held from the start is
 * released first. What their calls may return is for the oracles to judge.
 *
 * A thread makes its calls one after the other; or it runs a scheduler, and each call but the first
 * is made by a task of its own. Or it waits as a task would, without a scheduler, which costs far
 * fewer steps. */
#include "model/generated.h"

#include "model/models.h"
#include "model/random.h"

#include <string.h>

enum { MAX_CALLS = 3 };

enum call_kind { PASS, PASS_UNTIL, PASS_BY_TRY, ASYNC, ASYNC_CANCEL, RESIZE, PAUSE, CLOSE, STATS };

static const char *const call_names[] = {
	[PASS] = "pass",
	[PASS_UNTIL] = "pass_until",
	[PASS_BY_TRY] = "pass_by_try",
	[ASYNC] = "async",
	[ASYNC_CANCEL] = "async_cancel",
	[RESIZE] = "resize",
	[PAUSE] = "pause",
	[CLOSE] = "close",
	[STATS] = "stats",
};

struct call {
	enum call_kind kind;
	uint32_t n;
};

static struct {
	struct model model;
	struct call calls[MAX_THREADS][MAX_CALLS];
	bool task[MAX_THREADS];
	bool scheduler[MAX_THREADS];
	bool cancels[MAX_THREADS]; /* and cancels its first task */
	int threads;
	uint64_t number;
} program;

static void then_release(int slot, int result)
{
	const struct call *call = &program.calls[slot][0];

	while (call->kind != ASYNC && call->kind != ASYNC_CANCEL)
		call++;
	if (result == 0)
		(void)m_release(call->n);
}

static void wait_async(int thread, uint32_t n)
{
	int result = m_async(thread, n, then_release);

	if (result == 0)
		then_release(thread, 0);
}

static void do_call(int thread, const struct call *call)
{
	switch (call->kind) {
	case PASS:
		if (m_acquire(call->n) == 0)
			(void)m_release(call->n);
		break;
	case PASS_UNTIL:
		if (m_acquire_until(call->n, 10) == 0)
			(void)m_release(call->n);
		break;
	case PASS_BY_TRY:
		if (m_try(call->n) == 0)
			(void)m_release(call->n);
		break;
	case ASYNC:
		wait_async(thread, call->n);
		break;
	case ASYNC_CANCEL:
		wait_async(thread, call->n);
		(void)m_cancel(thread);
		break;
	case RESIZE:
		(void)m_resize(call->n);
		break;
	case PAUSE:
		(void)m_resize(0);
		(void)m_resize(call->n);
		break;
	case CLOSE:
		m_close();
		break;
	case STATS:
		m_stats();
		break;
	}
}

static const struct call *call_of(int thread, int i)
{
	return i < MAX_CALLS && program.calls[thread][i].n > 0 ? &program.calls[thread][i] : NULL;
}

/* Futures: MAX_CALLS - 1 for each thread. */
static int run_task(void *arg, intptr_t *value)
{
	int future = (int)(intptr_t)arg;
	int thread = future / (MAX_CALLS - 1);

	(void)value;
	do_call(thread, call_of(thread, 1 + future % (MAX_CALLS - 1)));
	return 0;
}

static int run_root(void *arg, intptr_t *value)
{
	int thread = thread_index(engine.current);
	int first = thread * (MAX_CALLS - 1);

	(void)arg;
	(void)value;
	for (int i = 1; call_of(thread, i); i++)
		m_spawn(first + i - 1, run_task);
	do_call(thread, call_of(thread, 0));
	if (program.cancels[thread] && call_of(thread, 1))
		m_cancel_task(first);
	for (int i = 1; call_of(thread, i); i++) {
		(void)m_wait(first + i - 1, WEIR_NEVER, NULL);
		m_drop(first + i - 1);
	}
	return 0;
}

static void run_thread(int thread)
{
	if (program.task[thread])
		m_be_task();
	if (thread == 0) {
		for (uint32_t i = 0; i < program.model.held; i++)
			(void)m_release(1);
	}
	if (program.scheduler[thread]) {
		m_run(run_root);
		return;
	}
	for (int i = 0; call_of(thread, i); i++)
		do_call(thread, call_of(thread, i));
}

static void run_0(void)
{
	run_thread(0);
}

static void run_1(void)
{
	run_thread(1);
}

static void run_2(void)
{
	run_thread(2);
}

static void run_3(void)
{
	run_thread(3);
}

static void prepare(void)
{
	m_make_slots(program.threads);
}

/* Common calls come up more often. A thread has one slot, and so at most one async wait. */
static void make_call(struct call *call, bool *has_slot)
{
	static const enum call_kind kinds[] = {
		PASS,  PASS,         PASS,   PASS_UNTIL, PASS_UNTIL, PASS_BY_TRY, ASYNC,
		ASYNC, ASYNC_CANCEL, RESIZE, PAUSE,      CLOSE,      STATS,
	};

	do {
		call->kind = kinds[random_below(sizeof(kinds) / sizeof(*kinds))];
	} while (*has_slot && (call->kind == ASYNC || call->kind == ASYNC_CANCEL));
	*has_slot |= call->kind == ASYNC || call->kind == ASYNC_CANCEL;
	call->n = 1 + random_below(random_below(2) ? program.model.permits + 1 : 1);
}

const struct model *generated_model(uint64_t number, unsigned *ret_environment)
{
	static const unsigned environments[] = { 0, 0, 0, ENV_FREEZE, ENV_TSO };
	struct model *model = &program.model;

	memset(&program, 0, sizeof(program));
	program.number = number;
	random_begin(number, 0, 0);
	program.threads = 2 + (int)random_below(MAX_THREADS - 1);
	*model = (struct model){
		.name = "generated",
		.permits = 1 + random_below(3),
		.prepare = prepare,
		.threads = { run_0, run_1, run_2, run_3 },
		.surprises = (uint8_t)random_below(2),
		.cancellations = (uint8_t)random_below(2),
		.spare_cpu = random_below(4) == 0,
	};
	model->held = random_below(model->permits + 1);
	for (int i = program.threads; i < MAX_THREADS; i++)
		model->threads[i] = NULL;
	for (int i = 0; i < program.threads; i++) {
		int calls = 1 + (int)random_below(program.threads > 2 ? 2 : MAX_CALLS);
		bool has_slot = false;

		program.task[i] = model->cancellations > 0 && random_below(2) == 0;
		program.scheduler[i] = !program.task[i] && random_below(4) == 0;
		program.cancels[i] = program.scheduler[i] && random_below(2) == 0;
		for (int k = 0; k < calls; k++)
			make_call(&program.calls[i][k], &has_slot);
	}
	*ret_environment = environments[random_below(sizeof(environments) / sizeof(*environments))];
	return model;
}

uint64_t generated_number(void)
{
	return program.number;
}

void generated_print(FILE *file)
{
	fprintf(file,
		"%u permits, %u held and released by T0 at first; %u surprises, %u "
		"cancellations%s\n",
		program.model.permits, program.model.held, program.model.surprises,
		program.model.cancellations, program.model.spare_cpu ? ", waiters spin" : "");
	for (int i = 0; i < program.threads; i++) {
		fprintf(file, "    T%d%s%s:", i,
			program.scheduler[i] ? " (a scheduler" :
			program.task[i]      ? " (a task)" :
					       "",
			program.cancels[i]   ? " that cancels its first task)" :
			program.scheduler[i] ? ")" :
					       "");
		for (int k = 0; call_of(i, k); k++)
			fprintf(file, " %s(%u)", call_names[call_of(i, k)->kind], call_of(i, k)->n);
		fprintf(file, "\n");
	}
}

/* model: programs made up from a number.
 *
 * They are made so that they always come to an end: whoever holds a permit gives it back before it
 * waits, a limit of 0 is raised again by the thread that set it, and what is held from the start is
 * released first. What their calls may return is for the oracles to judge. */
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

static void run_thread(int thread)
{
	if (program.task[thread])
		m_be_task();
	if (thread == 0) {
		for (uint32_t i = 0; i < program.model.held; i++)
			(void)m_release(1);
	}
	for (int i = 0; i < MAX_CALLS && program.calls[thread][i].n > 0; i++)
		do_call(thread, &program.calls[thread][i]);
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
		fprintf(file, "    T%d%s:", i, program.task[i] ? " (a task)" : "");
		for (int k = 0; k < MAX_CALLS && program.calls[i][k].n > 0; k++)
			fprintf(file, " %s(%u)", call_names[program.calls[i][k].kind],
				program.calls[i][k].n);
		fprintf(file, "\n");
	}
}

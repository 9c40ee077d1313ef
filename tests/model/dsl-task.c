/* model: the words of models.h that are about tasks and futures. */
#include "model/context.h"
#include "model/memory.h"
#include "model/models.h"
#include "model/oracle.h"
#include "task/future.h"

static void begin(void)
{
	oracle_begin(OP_OTHER, 0, 0, WEIR_NEVER, NULL);
}

static int end(int result)
{
	result = oracle_end(result);
	if (engine.failed)
		context_yield();
	memory_scrub();
	return result;
}

static int run_root(void *arg, intptr_t *value)
{
	struct thread *thread = engine.current;
	int result = thread->root(arg, value);

	thread->closing = true;
	return result;
}

void m_run(weir_task_fn *root)
{
	struct thread *thread = engine.current;

	thread->root = root;
	m_check(weir_run(run_root, NULL, NULL) == 0, "a run failed");
	thread->root = NULL;
	thread->closing = false;
	memory_scrub();
}

void m_spawn(int i, weir_task_fn *fn)
{
	struct weir_future *future = weir_spawn(fn, (void *)(intptr_t)i);

	m_check(future, "a task was not started");
	world.futures[i] = future;
	world.future_strands[i] = 0;
	world.future_cancels[i] = 0;
}

void m_promise(int i, int handles)
{
	world.futures[i] = weir_promise();
	while (--handles > 0)
		(void)weir_future_ref(world.futures[i]);
}

int m_complete(int i, intptr_t value)
{
	begin();
	return end(weir_complete(world.futures[i], value));
}

int m_fail(int i, int error)
{
	begin();
	return end(weir_fail(world.futures[i], error));
}

void m_drop(int i)
{
	weir_future_unref(world.futures[i]);
}

void m_cancel_task(int i)
{
	begin();
	if (world.futures[i]->is_task && world.future_strands[i] > 0)
		world.strands[world.future_strands[i]].cancels++;
	else if (world.futures[i]->is_task)
		world.future_cancels[i]++;
	m_check(end(weir_cancel(world.futures[i])) == 0, "a cancel failed");
}

/* A wait that failed has a reason of its own, or it is the result of what it waited for. */
static int end_wait(int result, weir_time deadline, bool is_result)
{
	const struct strand *strand = thread_strand(engine.current);

	if (result == -ETIMEDOUT && !is_result)
		m_check(world.clock >= deadline, "P9: a wait timed out early");
	if (result == -ECANCELED && !is_result) {
		m_check(strand->cancels > 0 || engine.current->closing,
			"P8: a task was told of a cancel that nobody asked for");
		oracle_told_cancel();
	}
	return end(result);
}

int m_wait(int i, weir_time delay, intptr_t *value)
{
	struct weir_future *future = world.futures[i];
	weir_time deadline = weir_after(delay);
	int result;

	begin();
	result = weir_wait(future, deadline, value);
	m_check(result != 0 || future->ended, "a wait ended before the future");
	return end_wait(result, deadline, future->ended && future->error == result);
}

int m_gather(int n, weir_time delay, intptr_t *values)
{
	weir_time deadline = weir_after(delay);
	bool is_result = false;
	int result;

	begin();
	result = weir_gather(world.futures, (size_t)n, deadline, values);
	for (int i = 0; i < n; i++) {
		const struct weir_future *future = world.futures[i];

		m_check(result != 0 || (future->ended && future->error == 0),
			"gathered before all had ended well");
		is_result |= future->ended && future->error == result;
	}
	return end_wait(result, deadline, is_result);
}

int m_race(int n, weir_time delay, size_t *winner)
{
	weir_time deadline = weir_after(delay);
	intptr_t value = 0;
	bool is_result = false;
	int result;

	begin();
	*winner = (size_t)n;
	result = weir_race(world.futures, (size_t)n, deadline, winner, &value);
	is_result = *winner < (size_t)n;
	return end_wait(result, deadline, is_result);
}

int m_sleep(weir_time delay)
{
	begin();
	return end_wait(weir_sleep(delay), 0, false);
}

int m_yield(void)
{
	begin();
	return end_wait(weir_yield(), 0, false);
}

/* Word i + 4 says which of the two has come. */
enum { NOBODY, GIVEN, GONE };

void m_hand_over(int i)
{
	(void)weir_future_ref(world.futures[i]);
	if (WEIR__XCHG(m_word(i + 4), GIVEN, __ATOMIC_ACQ_REL) == GONE)
		m_drop(i);
}

bool m_take_over(int i)
{
	return WEIR__XCHG(m_word(i + 4), GONE, __ATOMIC_ACQ_REL) == GIVEN;
}

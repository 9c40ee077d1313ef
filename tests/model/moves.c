/* model: what may happen next. */
#include "model/engine.h"
#include "model/oracle.h"

#include <errno.h>

static bool can_run(const struct thread *thread)
{
	return thread->status == THREAD_READY && !thread->frozen;
}

static void add(struct move *moves, int *count, enum move_kind kind, int thread)
{
	moves[(*count)++] = (struct move){ (uint8_t)kind, (uint8_t)thread };
}

/* What else may happen to a thread, besides that it runs. */
static void list_events(struct move *moves, int *count, int i)
{
	const struct thread *thread = &world.threads[i];
	bool asleep = thread->status == THREAD_SLEEPING;

	if (thread->stores > 0)
		add(moves, count, MOVE_FLUSH, i);
	if (thread->frozen || thread->status == THREAD_DONE)
		return;
	if (asleep && thread->deadline != WEIR_NEVER)
		add(moves, count, MOVE_TIMEOUT, i);
	if (asleep && world.surprises > 0) {
		add(moves, count, MOVE_WAKE, i);
		add(moves, count, MOVE_INTERRUPT, i);
	}
	if (asleep && thread->cancellable && world.cancellations > 0)
		add(moves, count, MOVE_CANCEL, i);
	if (thread->status == THREAD_SPINNING && !engine.model->endless_spins)
		add(moves, count, MOVE_INSIST, i);
	if (i == 0 && world.signals > 0)
		add(moves, count, MOVE_SIGNAL, i);
	if (world.freezes > 0)
		add(moves, count, MOVE_FREEZE, i);
}

int moves_list(struct move *moves, uint32_t *costly)
{
	int last = engine.last ? thread_index(engine.last) : -1;
	bool preempts = last >= 0 && can_run(engine.last);
	int count = 0;

	*costly = 0;
	if (preempts)
		add(moves, &count, MOVE_RUN, last);
	for (int i = 0; i < engine.threads; i++) {
		if (i == last || !can_run(&world.threads[i]))
			continue;
		if (preempts)
			*costly |= UINT32_C(1) << count;
		add(moves, &count, MOVE_RUN, i);
	}
	for (int i = 0; i < engine.threads; i++)
		list_events(moves, &count, i);
	return count;
}

static void signal_comes(struct thread *thread)
{
	world.signals--;
	thread->interrupted = true;
	if (thread->status == THREAD_SLEEPING)
		engine_wake(thread, -EINTR);
	thread->status = THREAD_READY;
	thread->waking = true;
}

void move_happens(const struct move *move)
{
	struct thread *thread = &world.threads[move->thread];

	switch (move->kind) {
	case MOVE_TIMEOUT:
		if (world.clock < thread->deadline)
			world.clock = thread->deadline;
		engine_wake(thread, -ETIMEDOUT);
		break;
	case MOVE_WAKE:
	case MOVE_INTERRUPT:
		world.surprises--;
		engine_wake(thread, move->kind == MOVE_WAKE ? 0 : -EINTR);
		break;
	case MOVE_CANCEL:
		world.cancellations--;
		engine_wake(thread, -ECANCELED);
		break;
	case MOVE_INSIST:
		thread->insists = true;
		thread->status = THREAD_READY;
		break;
	case MOVE_FLUSH:
		engine_flush(thread);
		oracle_observe(thread);
		break;
	case MOVE_SIGNAL:
		signal_comes(thread);
		break;
	case MOVE_FREEZE:
		world.freezes--;
		thread->frozen = true;
		break;
	}
}

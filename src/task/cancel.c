/* task: cancelling, from any thread. */
#include "task/future.h"
#include "task/sched.h"

#include <errno.h>

/* In the thread of the task's scheduler. */
static void cancel_task(struct weir__task *task)
{
	task->cancelled = true;
	task->was_cancelled = true;
	task->odd = true;
	/* Told now if it waits and may be disturbed, otherwise when it next would wait. */
	if (task->started && task->shields == 0 && !task->stubborn)
		(void)weir__task_disturb(task, 0);
}

static void deliver_cancel(struct weir__message *message)
{
	struct weir_future *future =
		(struct weir_future *)(void *)((char *)message -
					       offsetof(struct weir_future, cancel));

	weir__lock(&future->lock);
	future->cancel_sent = false;
	weir__unlock(&future->lock);
	/* Only this thread ends its tasks, so the task stays while we look. */
	if (future->task)
		cancel_task(future->task);
	weir_future_unref(future);
}

int weir_cancel(struct weir_future *future)
{
	struct weir__sched *sched;

	if (!future)
		return -EINVAL;
	if (!future->is_task) {
		(void)weir__promise_end(future, -ECANCELED, 0);
		return 0;
	}
	weir__lock(&future->lock);
	if (future->task) {
		sched = future->task->sched;
		if (sched == weir__sched_here()) {
			cancel_task(future->task);
		} else if (!future->cancel_sent) {
			/* While we hold the lock the task cannot end, nor its scheduler. */
			future->cancel_sent = true;
			future->cancel.deliver = deliver_cancel;
			weir__inbox_post(sched, &weir_future_ref(future)->cancel);
		}
	}
	weir__unlock(&future->lock);
	return 0;
}

bool weir_cancelled(void)
{
	const struct weir__task *self = weir__task_here();

	return self && self->was_cancelled;
}

/* task: the life of a scheduler and of a task. */
#include "base/alloc.h"
#include "base/hot.h"
#include "base/print.h"
#include "base/thread.h"
#include "task/depth.h"
#include "task/future.h"
#include "task/overflow.h"
#include "task/sched.h"

#include <errno.h>

enum { STACK_SIZE = 58 * 1024, STACK_CACHE = 1024 };

static struct weir__task *task_new(struct weir__sched *sched, weir_task_fn *fn, void *arg,
				   void *site)
{
	struct weir__task *task = weir__sched_room(sched) ? weir__record_get(&sched->records) :
							    NULL;

	if (!task)
		return NULL;
	if (task->future)
		weir__future_renew(task->future, task);
	else
		task->future = weir__future_new(task);
	if (!task->future || !weir__stack_promise(&sched->stacks)) {
		weir__record_put(&sched->records, task);
		return NULL;
	}
	/* One by one: the members at the end are not touched before they are used. */
	task->stack = NULL;
	task->sched = sched;
	task->parking = NULL;
	task->outcome = 0;
	task->shields = 0;
	task->cancelled = sched->closing;
	task->was_cancelled = sched->closing;
	task->stubborn = false;
	task->started = false;
	task->timed = false;
	task->listed = false;
	task->odd = true;
	task->its_errno = 0;
	task->fn = fn;
	task->arg = arg;
	task->older = sched->newest;
	task->newer = NULL;
	task->id = ++sched->spawned;
	task->site = site;
	task->name[0] = '\0';
	if (sched->newest)
		sched->newest->newer = task;
	sched->newest = task;
	sched->task_count++;
	ready_add(&task->sched->ready, task);
	return task;
}

struct weir_future *weir_spawn(weir_task_fn *fn, void *arg)
{
	struct weir__task *self = weir__task_here();
	struct weir__task *task =
		self && fn ? task_new(self->sched, fn, arg, __builtin_return_address(0)) : NULL;

	return task ? task->future : NULL;
}

struct weir_future *weir_self(void)
{
	struct weir__task *self = weir__task_here();

	return self ? self->future : NULL;
}

static void cancel_all(struct weir__sched *sched)
{
	sched->closing = true;
	for (struct weir__task *task = weir__sched_oldest(sched); task; task = task->newer)
		(void)weir_cancel(task->future);
}

/* A number for people; the first is 1. */
static uint64_t next_who(void)
{
	static WEIR__GLOBAL uint32_t runs;
	uint32_t number = WEIR__ADD(&runs, 1, __ATOMIC_RELAXED) - 1;

	return (uint64_t)(number % WEIR__WHO_HOMES + 1) << WEIR__WHO_HOME_SHIFT;
}

/* After the root: whatever is left is cancelled, in the order in which it was started, and run
 * until it has unwound. */
static int run(weir_task_fn *root, void *arg, const struct weir_run_config *config, void *site)
{
	static const struct weir_run_config defaults;
	struct weir__sched sched = { .parker = weir__task_parker,
				     .config = config ? config : &defaults,
				     .thread_errno = weir__thread_errno(),
				     .on_valgrind = fiber_on_valgrind() };
	struct weir_future *future;
	struct weir__task *task;
	int error;

	config = sched.config;
	if (!root || weir__sched_here() || config->clock > WEIR_CLOCK_VIRTUAL)
		return -EINVAL;
	if (config->poller && (!config->poller->wait || config->clock == WEIR_CLOCK_VIRTUAL))
		return -EINVAL;
	if (config->stalled ? config->stall_after <= 0 || config->clock == WEIR_CLOCK_VIRTUAL :
			      config->stall_after != 0)
		return -EINVAL;
	error = weir__stacks_init(&sched.stacks,
				  config->stack_size ? config->stack_size : STACK_SIZE,
				  config->stack_cache ? config->stack_cache : STACK_CACHE);
	if (error < 0)
		return error;
	error = weir__bell_init(&sched.bell);
	if (error < 0)
		return error;
	task = task_new(&sched, root, arg, site);
	if (!task) {
		weir__bell_done(&sched.bell);
		weir__records_done(&sched.records);
		weir__stacks_done(&sched.stacks);
		weir__free(sched.ready.ring);
		return -ENOMEM;
	}
	if (!config->no_fault_handler)
		weir__faults_watch(&sched.watch, weir__overflow_explain);
	sched.who = next_who();
	sched.is_virtual = config->clock == WEIR_CLOCK_VIRTUAL;
	sched.virtual_now = weir_now();
	future = task->future;

	weir__sched_run(&sched, future);
	if (config->leftover)
		*config->leftover = sched.task_count;
	cancel_all(&sched);
	weir__sched_run(&sched, NULL);

	weir__sched_settle(&sched);
	weir__faults_unwatch(&sched.watch);
	weir__depth_done(&sched);
	weir__bell_done(&sched.bell);
	weir__records_done(&sched.records);
	weir__stacks_done(&sched.stacks);
	weir__free(sched.ready.ring);
	error = future->error;
	if (error == 0 && config->value)
		*config->value = future->value;
	weir_future_unref(future);
	return error;
}

int weir_run(weir_task_fn *root, void *arg, const struct weir_run_config *config)
{
	int *thread_errno = weir__thread_errno();
	int saved = *thread_errno;
	int result = run(root, arg, config, __builtin_return_address(0));

	*thread_errno = saved;
	return result;
}

int weir_shield(bool on)
{
	struct weir__task *self = weir__task_here();

	if (!self || (!on && self->shields == 0))
		return -EINVAL;
	if (on)
		self->shields++;
	else
		self->shields--;
	return 0;
}

static void describe_sleep(const void *object, char *text, size_t size)
{
	(void)object;
	weir__format(text, size, "the end of its sleep");
}

static void describe_endless_sleep(const void *object, char *text, size_t size)
{
	(void)object;
	weir__format(text, size, "the end of a sleep without end");
}

static const struct weir__kind sleep_kind = { .describe = describe_sleep };
static const struct weir__kind endless_sleep_kind = { .describe = describe_endless_sleep };

int weir_sleep_until(weir_time time)
{
	struct weir__parking parking;
	int result;

	weir__parking_init(&parking);
	parking.kind = time == WEIR_NEVER ? &endless_sleep_kind : &sleep_kind;
	result = weir__park(&parking, time, WEIR__SLEEP);
	return result == -ETIMEDOUT ? 0 : result;
}

int weir_sleep(weir_time duration)
{
	return duration < 0 ? -EINVAL : weir_sleep_until(weir_after(duration));
}

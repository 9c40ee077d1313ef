/* task: switching between tasks, and how a task parks. */
#include "task/sched.h"

#include "base/alloc.h"
#include "base/hot.h"
#include "task/depth.h"
#include "task/future.h"

#include <errno.h>

/* Tasks that are ready run this often before the loop looks at timers and other threads, and so do
 * those that were watched for; each of the two is counted for itself. */
enum { TURNS_A_ROUND = 64 };

/* With more tasks than MANY a cache does not hold them all. Then what a task needs is fetched while
 * those before it run: AHEAD places before its turn so many LINES of its stack, from where it was
 * left, and its record as long before that, for that knows where. */
enum { MANY = 256, AHEAD = 3, LINES = 5, ROOM_LEAST = 8 };

static WEIR__TLS struct weir__sched *here;

void weir__sched_install(struct weir__sched *sched)
{
	here = sched;
	weir__park_ticks_set(sched ? &sched->ticks : NULL);
	if (sched)
		sched->park_self = weir__parker_self();
	else
		weir__parker_set(NULL, NULL);
}

struct weir__sched *weir__sched_here(void)
{
	return here;
}

struct weir__task *weir__task_here(void)
{
	return here ? here->current : NULL;
}

static WEIR__COLD bool more_room(struct weir__ready *ready)
{
	size_t room = ready->ring ? 2 * (ready->mask + 1) : ROOM_LEAST;
	struct weir__task **ring = weir__alloc(room * sizeof(*ring));
	struct weir__task **old;

	if (!ring)
		return false;
	ready_enter(ready);
	for (size_t i = ready->first; i != ready->next; i++)
		ring[i & (room - 1)] = ready->ring[i & ready->mask];
	old = ready->ring;
	ready->ring = ring;
	ready->mask = room - 1;
	ready_leave(ready);
	weir__free(old);
	return true;
}

bool weir__sched_room(struct weir__sched *sched)
{
	bool enough = sched->ready.ring && sched->task_count <= sched->ready.mask;

	return WEIR__LIKELY(enough) || more_room(&sched->ready);
}

static inline void expect_stack(const struct weir__task *task)
{
	if (task->stack)
		expect_lines(task->fiber.context, LINES);
}

/* The same of a task that waits, and its record, by where its parking is on its stack: to look into
 * the record would mean to wait for it. Of the lines between, the one who unparks has two. */
static inline void expect_around(const struct weir__parking *parking)
{
	const char *watched = (const char *)&parking->word;

	expect_lines(watched - 2 * 64, 1);
	expect_lines(watched + 64, 2);
	expect_lines(parking->self, 1);
}

/* The first that is ready, or NULL; and NULL when a `round` is over, for then the loop is to look
 * at the world before it takes that one. */
static inline struct weir__task *take_ready(struct weir__sched *sched, bool round)
{
	struct weir__ready *ready = &sched->ready;
	size_t first = ready->first;
	size_t count = WEIR__PEEK(&ready->next) - first;
	struct weir__task *task;

	if (WEIR__UNLIKELY(count == 0) || (round && WEIR__UNLIKELY(first % TURNS_A_ROUND == 0)))
		return NULL;
	ready->first = first + 1;
	if (WEIR__UNLIKELY(count > 2 * AHEAD) && sched->task_count > MANY) {
		expect_lines(ready->ring[(first + 2 * AHEAD) & ready->mask], 2);
		expect_stack(ready->ring[(first + AHEAD) & ready->mask]);
	}
	task = ready->ring[first & ready->mask];
	if (!task)
		__builtin_unreachable();
	return task;
}

static WEIR__COLD void stop_checking(const struct weir__fiber *fiber)
{
	fiber_deregister(fiber);
}

/* Gives back what a task has had that has ended; it could not do so itself, so it is done when the
 * next one ends or begins, or by the loop. Not inline, for a task that ends never leaves its
 * frames, and an instrumented one would stay marked.
 */
WEIR__HOT __attribute__((noinline)) static void bury(struct weir__sched *sched)
{
	struct weir__task *task = sched->ended;

	sched->ended = NULL;
	if (WEIR__UNLIKELY(sched->on_valgrind))
		stop_checking(&task->fiber);
	fiber_done(&task->fiber);
	if (WEIR__UNLIKELY(sched->config->measure_stacks))
		weir__depth_look(task, true);
	if (WEIR__UNLIKELY(!stack_put(&sched->stacks, task->stack)))
		weir__stack_put(&sched->stacks, task->stack);
	weir__record_put(&sched->records, task);
}

static void task_main(void *arg);

/* Gives a task that is about to run for the first time its stack. */
static inline void begin_on(struct weir__task *task, char *end)
{
	const struct weir__stacks *stacks = &task->sched->stacks;

	task->stack = end;
	fiber_init(&task->fiber, end - stacks->size, stacks->size - stack_colour(stacks, end),
		   task_main, task);
}

/* The same where no stack is warm, or where valgrind is to know of it. */
static WEIR__COLD void begin_oddly(struct weir__task *task)
{
	struct weir__stacks *stacks = &task->sched->stacks;

	begin_on(task, weir__stack_get(stacks));
	if (task->sched->on_valgrind)
		fiber_register(&task->fiber, task->stack - stacks->size,
			       stacks->size - stack_colour(stacks, task->stack));
}

static inline void begin(struct weir__sched *sched, struct weir__task *task)
{
	if (WEIR__UNLIKELY(sched->stacks.warm_count == 0 || sched->on_valgrind))
		begin_oddly(task);
	else
		begin_on(task, stack_get(&sched->stacks));
}

static inline bool takes_cancel(const struct weir__task *task)
{
	return WEIR__UNLIKELY(task->cancelled) && task->shields == 0;
}

bool weir__task_told(struct weir__task *task)
{
	bool told = takes_cancel(task);

	if (told)
		task->cancelled = task->sched->closing;
	return told;
}

/* `task` is about to run. All that is to be done about it is done by the one before, so that
 * nothing is left between the switch and the caller of the library. */
static inline void arrive(struct weir__sched *sched, struct weir__task *task)
{
	sched->current = task;
	*sched->park_self = task;
	*sched->thread_errno = task->its_errno;
	task->parking = NULL;
}

/* The same of one that has no stack yet, or whose wait ended other than by unpark. Returns how. A
 * grant that came together with a cancel is not kept: the caller passes it on. */
static inline int arrive_oddly(struct weir__sched *sched, struct weir__task *task)
{
	int outcome = task->outcome;

	if (!task->stack)
		begin(sched, task);
	arrive(sched, task);
	task->outcome = 0;
	if (task->started && !task->stubborn && weir__task_told(task))
		outcome = -ECANCELED;
	task->odd = task->cancelled;
	return outcome;
}

/* Goes on with `task` instead of `self`; NULL is the loop. */
static inline int go(struct weir__sched *sched, struct weir__task *self, struct weir__task *task,
		     bool last)
{
	struct weir__fiber *from = self ? &self->fiber : &sched->loop;
	int result = 0;

	fiber_leave(&sched->left, from);
	if (task) {
		result = arrive_oddly(sched, task);
	} else {
		sched->current = NULL;
	}
	if (!self || !task)
		weir__parker_set(task ? &sched->parker : NULL, task);
	return fiber_switch(from, task ? &task->fiber : &sched->loop, result, last);
}

/* The same where nothing is to be done but that. */
static inline int go_straight(struct weir__sched *sched, struct weir__task *self,
			      struct weir__task *task)
{
	fiber_leave(&sched->left, &self->fiber);
	arrive(sched, task);
	return fiber_switch(&self->fiber, &task->fiber, 0, false);
}

/* The same of one that has not run yet. Nothing here needs a deep frame: with very many tasks that
 * start one after the other it would be one cache line more of each. */
WEIR__HOT static __attribute__((noinline)) int
go_new(struct weir__sched *sched, struct weir__task *self, struct weir__task *task)
{
	begin(sched, task);
	task->odd = task->cancelled;
	return go_straight(sched, self, task);
}

/* From a task, the same; or the task goes on itself. */
static __attribute__((noinline)) int go_oddly(struct weir__sched *sched, struct weir__task *self,
					      struct weir__task *task)
{
	if (task && !task->stack)
		return go_new(sched, self, task);
	if (task && task == self)
		return arrive_oddly(sched, task);
	return go(sched, self, task, false);
}

/* No task is ready: perhaps one is in a moment, and then it may be this very task. Or a round is
 * over, and the loop goes on. */
WEIR__HOT static __attribute__((noinline)) int go_idle(struct weir__sched *sched,
						       struct weir__task *self)
{
	struct weir__task *next = NULL;

	if (ready_empty(&sched->ready) && ++sched->watches % TURNS_A_ROUND != 0) {
		next = weir__sched_watch(sched, self);
		if (!next)
			next = take_ready(sched, true);
	}
	if (!next || next->odd)
		return go_oddly(sched, self, next);
	if (next != self)
		return go_straight(sched, self, next);
	arrive(sched, self);
	return 0;
}

/* Lets others run until `self` is made ready again; returns what its wait ended with. Its errno is
 * its own, whatever the others do meanwhile.
 *
 * Straight to the next task if there is one: one switch instead of two. What is not done every time
 * is done by others who also do the rest, so that no register need be kept for what comes after
 * them: what this costs is how often it goes to memory. */
static inline __attribute__((always_inline)) int switch_away(struct weir__sched *sched,
							     struct weir__task *self)
{
	struct weir__task *next;

	self->its_errno = *sched->thread_errno;
	next = take_ready(sched, true);
	if (WEIR__UNLIKELY(!next))
		return go_idle(sched, self);
	if (WEIR__UNLIKELY(next->odd || next == self))
		return go_oddly(sched, self, next);
	return go_straight(sched, self, next);
}

bool weir__sched_run_one(struct weir__sched *sched)
{
	struct weir__task *task = take_ready(sched, false);

	if (task)
		(void)go(sched, NULL, task, false);
	if (sched->ended)
		bury(sched);
	return task != NULL;
}

/* Replaces one word of a parking by another, if it is there; whether it was. Meanwhile a signal
 * handler that unparks keeps out. */
static bool replace(struct weir__ready *ready, struct weir__parking *parking, uint32_t was,
		    uint32_t is)
{
	bool found;

	ready_enter(ready);
	found = WEIR__PEEK(&parking->word) == was;
	if (found)
		WEIR__POKE(&parking->word, is);
	ready_leave(ready);
	return found;
}

bool weir__task_disturb(struct weir__task *task, int outcome)
{
	struct weir__ready *ready = &task->sched->ready;

	if (!task->parking || !replace(ready, task->parking, WEIR__PARKED, WEIR__EMPTY))
		return false;
	task->outcome = (int16_t)outcome;
	task->odd = true;
	ready_add(ready, task);
	return true;
}

WEIR__HOT int weir_yield(void)
{
	struct weir__sched *sched = here;
	struct weir__task *self = sched ? sched->current : NULL;

	if (WEIR__UNLIKELY(!self))
		return -EINVAL;
	ready_add(&sched->ready, self);
	return switch_away(sched, self);
}

static int stay_until(struct weir__task *task, weir_time deadline)
{
	struct weir__sched *sched = task->sched;
	int result;

	task->timed = true;
	weir__heap_add(&sched->timers, &task->timer, deadline);
	result = switch_away(sched, task);
	if (task->timed)
		weir__heap_remove(&sched->timers, &task->timer);
	task->timed = false;
	return result;
}

/* The second park of a wait that was given up: parked no more, so if it was notified meanwhile,
 * nobody has made it ready. */
static int park_again(struct weir__task *task, struct weir__parking *parking)
{
	task->stubborn = true;
	if (replace(&task->sched->ready, parking, WEIR__EMPTY, WEIR__PARKED)) {
		task->parking = parking;
		(void)switch_away(task->sched, task);
	}
	task->stubborn = false;
	return 0;
}

/* All that is not a plain wait. Parked from the start, the task only switches away: it is made
 * ready once whenever the other side comes, be it before that. So if it does not want to wait after
 * all, it must be the one to replace that, or take the turn that is its due. */
static WEIR__COLD int park_oddly(struct weir__task *task, struct weir__parking *parking,
				 weir_time deadline, enum weir__patience patience)
{
	if (patience == WEIR__MUST)
		return park_again(task, parking);
	if (takes_cancel(task) &&
	    replace(&task->sched->ready, parking, WEIR__PARKED, WEIR__EMPTY)) {
		(void)weir__task_told(task);
		return -ECANCELED;
	}
	task->parking = parking;
	return deadline == WEIR_NEVER ? switch_away(task->sched, task) : stay_until(task, deadline);
}

WEIR__HOT static int task_park(struct weir__parking *parking, weir_time deadline,
			       enum weir__patience patience)
{
	struct weir__sched *sched = sched_of(parking);
	struct weir__task *task = parking->self;

	if (WEIR__UNLIKELY(patience == WEIR__MUST) || WEIR__UNLIKELY(deadline != WEIR_NEVER) ||
	    WEIR__UNLIKELY(task->cancelled))
		return park_oddly(task, parking, deadline, patience);
	task->parking = parking;
	return switch_away(sched, task);
}

/* The parking is there as long as the task has not been notified and made ready. The loop must not
 * find something ready after it has looked, so from a signal handler that interrupted it the way is
 * the inbox, which it looks at last. */
WEIR__HOT static int task_unpark(struct weir__parking *parking)
{
	struct weir__sched *sched = sched_of(parking);
	/* The caller is another task of this scheduler: no other thread, and not the loop. */
	bool among_tasks = weir__parks_as.parker == parking->parker;

	if (WEIR__UNLIKELY(!among_tasks) || WEIR__UNLIKELY(WEIR__PEEK(&sched->ready.busy)))
		return weir__inbox_call(sched, parking);
	if (parking_notify(parking))
		ready_add(&sched->ready, parking->self);
	if (WEIR__UNLIKELY(sched->task_count > MANY))
		expect_around(parking);
	return 0;
}

static uint64_t task_who(const void *self)
{
	const struct weir__task *task = self;

	return task->sched->who | (task->id & WEIR__WHO_IDS);
}

const struct weir__parker weir__task_parker = {
	.park = task_park,
	.unpark = task_unpark,
	.who = task_who,
	.begin = WEIR__PARKED,
};

/* The last thing a task does: ends its future and never returns. Not inline: its frame would be
 * part of the one that every task that waits has below its own. */
__attribute__((noinline, noreturn)) static void end(struct weir__task *task, int error)
{
	struct weir__sched *sched = task->sched;
	struct weir_future *future = task->future;
	struct weir__task *next = NULL;

	if (task->older)
		task->older->newer = task->newer;
	if (task->newer)
		task->newer->older = task->older;
	else
		sched->newest = task->older;
	sched->task_count--;
	if (sched->ended)
		bury(sched);
	task->future = weir__future_end_own(future, error, task->value);
	sched->ended = task;
	/* The loop must see the end of what it waits for before anybody else runs. And where stacks
	 * are measured that is done in the loop, lest it counts as the next task's. */
	if (future != sched->until && !sched->config->measure_stacks)
		next = take_ready(sched, true);
	(void)go(sched, task, next, true);
	__builtin_unreachable();
}

/* The frame that every task has above its own. It is small, so that one that only waits has it on
 * the same cache line: what the task returns is in the record, which its end writes to anyway. */
WEIR__HOT static void task_main(void *arg)
{
	struct weir__task *task = arg;
	int error = -ECANCELED;

	fiber_entered(&task->fiber, task->sched->left);
	if (task->sched->ended)
		bury(task->sched);
	arg = task->arg;
	task->value = 0;
	if (!task->cancelled) {
		task->started = true;
		error = task->fn(arg, &task->value);
	}
	end(task, error);
}

/* task: the scheduler's loop: what happens when no task runs. */
#include "base/clock.h"
#include "base/cpu.h"
#include "task/future.h"
#include "task/sched.h"

#include <errno.h>

/* How long an idle scheduler gives way to other threads before it sleeps: see park/thread.c. */
static const uint32_t yields_most = 256;

/* Without a deadline it sleeps until it is woken, but the last of those who could wake it may go
 * without a word. So it wakes by itself to see whether anybody is left, first after a thread that
 * was just ending must have gone, then less and less often. */
static const weir_time doze_least = 10 * WEIR_MS;
static const weir_time doze_most = 10 * WEIR_SECOND;

/* Sleeps until somebody rings or until `deadline`. */
static void sleep_until(struct weir__sched *sched, weir_time deadline)
{
	struct weir_poller *poller = sched->config->poller;
	struct weir__message *found = NULL;
	uint64_t slept_at = weir__ticks();
	uint64_t rings;

	if (!WEIR__CAS(&sched->inbox, &found, &sched->marker, __ATOMIC_RELAXED))
		return;
	if (poller) {
		poller->wait(poller, sched->bell.fd, deadline);
		deadline = 0;
	}
	rings = weir__bell_wait(&sched->bell, deadline);
	if (rings > 0)
		habit_slept(&sched->yielding, slept_at, yields_most);
	found = WEIR__XCHG(&sched->inbox, NULL, __ATOMIC_ACQUIRE);
	if (found != &sched->marker) {
		sched->rings_due++;
		weir__inbox_deliver(found);
	}
	sched->rings_due -= rings;
}

static void fire_timers(struct weir__sched *sched)
{
	struct weir__heap_node *first = sched->timers.first;
	weir_time now = first ? weir_now() : 0;

	for (; first && first->time <= now; first = sched->timers.first) {
		struct weir__task *task =
			(struct weir__task *)(void *)((char *)first -
						      offsetof(struct weir__task, timer));

		weir__heap_remove(&sched->timers, first);
		task->timed = false;
		(void)weir__task_disturb(task, -ETIMEDOUT);
	}
}

/* When there will be something to do although nobody came: a timer, or a stall to be reported. */
static weir_time next_time(const struct weir__sched *sched)
{
	const struct weir__heap_node *first = sched->timers.first;
	weir_time time = first ? first->time : WEIR_NEVER;

	return sched->stalls_at > 0 && sched->stalls_at < time ? sched->stalls_at : time;
}

static bool yield(struct weir__sched *sched, weir_time until)
{
	uint32_t length = habit_length(&sched->yielding, yields_most);
	uint64_t begun = weir__ticks();
	bool found = false;

	for (uint32_t i = 0; !found && (i < length || habit_goes_on(length, yields_most, begun));
	     i++) {
		if (until != WEIR_NEVER && weir_now() >= until)
			break;
		weir__cpu_yield();
		found = weir__inbox_look(sched);
	}
	habit_learn(&sched->yielding, found, yields_most);
	return found;
}

/* Whether it was just said that the scheduler has stood still for long, which is said once until a
 * task has run. */
static bool stalls(struct weir__sched *sched)
{
	if (!sched->config->stalled)
		return false;
	if (sched->stalls_at == 0)
		sched->stalls_at = weir_after(sched->config->stall_after);
	if (weir_now() < sched->stalls_at)
		return false;
	sched->stalls_at = WEIR_NEVER;
	weir__sched_stalled(sched);
	return true;
}

static void idle(struct weir__sched *sched)
{
	struct weir__heap_node *first = sched->timers.first;
	bool spins = !sched->watched && weir__cpu_to_spare();
	weir_time time;
	weir_time doze;

	sched->watched = false;
	if (sched->is_virtual && first) {
		sched->virtual_now = first->time;
		return;
	}
	if (stalls(sched))
		return;
	time = next_time(sched);
	if (!sched_has_events(sched) && ((spins && weir__inbox_spin(sched)) || yield(sched, time)))
		return;
	if (first) {
		sleep_until(sched, time);
	} else if (sched_has_events(sched) || !weir__sched_stuck(sched)) {
		doze = weir_after(sched->doze);
		sleep_until(sched, time < doze ? time : doze);
		sched->doze = sched->doze < doze_most ? 2 * sched->doze : doze_most;
	}
}

void weir__sched_run(struct weir__sched *sched, const struct weir_future *until)
{
	sched->until = until;
	weir__sched_install(sched);
	fiber_adopt(&sched->loop);
	weir__clock_set(sched->is_virtual ? &sched->virtual_now : NULL);
	while (sched->task_count > 0 && !(until && future_ended(until))) {
		sched->ticks = weir__ticks();
		if (sched_has_events(sched))
			sched->config->poller->wait(sched->config->poller, -1, 0);
		(void)weir__inbox_look(sched);
		fire_timers(sched);
		if (!weir__sched_run_one(sched)) {
			idle(sched);
		} else {
			sched->doze = doze_least;
			sched->stalls_at = 0;
		}
	}
	weir__clock_set(NULL);
	weir__sched_install(NULL);
}

void weir__sched_settle(struct weir__sched *sched)
{
	/* A cancel may have been on its way to a task that has ended. */
	(void)weir__inbox_look(sched);
	while (sched->rings_due > 0)
		sched->rings_due -= weir__bell_wait(&sched->bell, WEIR_NEVER);
}

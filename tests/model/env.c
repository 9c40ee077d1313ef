/* model: the world below libweir: what base/futex.c, clock.c, cpu.c, alloc.c and random.c do in
 * production. What tasks need besides is in env-task.c. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/futex.h"
#include "base/random.h"
#include "model/engine.h"
#include "model/memory.h"
#include "model/oracle.h"
#include "model/search.h"

#include <errno.h>
#include <string.h>

int weir__futex_wait(const uint32_t *word, uint32_t expected, weir_time deadline)
{
	if (deadline < 0)
		return -ETIMEDOUT;
	engine_step(STEP_FUTEX_WAIT, word, sizeof(*word), __func__);
	if (*word != expected)
		return -EAGAIN;
	oracle_sleep(engine.current, word, deadline);
	return engine_sleep(word, deadline, false);
}

void weir__futex_wake(const uint32_t *word, int count)
{
	engine_step(STEP_FUTEX_WAKE, word, sizeof(*word), __func__);
	oracle_wake(engine.current, word);
	for (; count > 0; count--) {
		struct thread *sleepers[MAX_THREADS];
		int found = 0;

		for (int i = 0; i < engine.threads; i++) {
			if (world.threads[i].status == THREAD_SLEEPING &&
			    world.threads[i].sleeps_on == word)
				sleepers[found++] = &world.threads[i];
		}
		if (found == 0)
			return;
		engine_wake(sleepers[search_pick(found)], 0);
	}
}

static WEIR__TLS const weir_time *virtual_time;

void weir__clock_set(const weir_time *virtual_now)
{
	virtual_time = virtual_now;
}

weir_time weir_now(void)
{
	return virtual_time ? *virtual_time : world.clock;
}

weir_time weir_after(weir_time delay)
{
	weir_time now = weir_now();

	if (delay < 0)
		return now;
	return delay > WEIR_NEVER - now ? WEIR_NEVER : now + delay;
}

/* How long waits and wake-ups took is left to other tests: it would only tell equal states apart.
 */
uint64_t weir__ticks(void)
{
	return 1;
}

weir_time weir__ticks_to_time(uint64_t ticks)
{
	return (weir_time)ticks;
}

void weir__wake_begins(void)
{
}

uint64_t weir__wake_ended(uint64_t slept_at)
{
	return slept_at;
}

uint64_t weir__wake_ticks(void)
{
	return 0;
}

bool weir__cpu_to_spare(void)
{
	return engine.model->spare_cpu;
}

/* To others it looks like spinning. Where a program is not to spin, it is over before anybody acts.
 */
void weir__cpu_yield(void)
{
	if (engine.current && !engine.model->spare_cpu)
		engine.current->insists = true;
	seam_relax();
}

/* A thread has gone when its function has returned. */
bool weir__is_only_thread(void)
{
	engine_step(STEP_LOAD, &world.clock, sizeof(world.clock), __func__);
	engine.footprint.everything = true;
	for (int i = 0; i < engine.threads; i++) {
		if (&world.threads[i] != engine.current && world.threads[i].status != THREAD_DONE)
			return false;
	}
	return true;
}

void *weir__alloc(size_t size)
{
	world.allocated++;
	return memory_alloc(size);
}

void *weir__alloc_small(size_t size)
{
	return weir__alloc(size);
}

void weir__free(void *memory)
{
	if (!memory)
		return;
	world.allocated--;
	memory_free(memory);
}

int weir__random(void *bytes, size_t size)
{
	memset(bytes, 0, size);
	return 0;
}

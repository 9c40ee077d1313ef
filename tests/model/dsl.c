/* model: the words of models.h. */
#include "model/models.h"

#include "model/context.h"
#include "model/memory.h"
#include "model/oracle.h"
#include "park/park.h"
#include "sem/word.h"

static struct weir_sem *sem_at(int sem)
{
	return world.ghosts[sem].sem;
}

/* Ends here and now when an oracle has failed, so that nobody walks on through the ruins. */
static int end(int result)
{
	result = oracle_end(result);
	if (engine.failed)
		context_yield();
	memory_scrub();
	return result;
}

int m_acquire_of(int sem, uint32_t n)
{
	oracle_begin(OP_ACQUIRE, sem, n, WEIR_NEVER, NULL);
	return end(weir_sem_acquire(sem_at(sem), n));
}

int m_acquire(uint32_t n)
{
	return m_acquire_of(0, n);
}

int m_acquire_until(uint32_t n, weir_time delay)
{
	weir_time deadline = weir_after(delay);

	oracle_begin(OP_ACQUIRE, 0, n, deadline, NULL);
	return end(weir_sem_acquire_until(sem_at(0), n, deadline));
}

int m_try(uint32_t n)
{
	oracle_begin(OP_TRY, 0, n, 0, NULL);
	return end(weir_sem_try_acquire(sem_at(0), n));
}

int m_release_of(int sem, uint32_t n)
{
	oracle_begin(OP_RELEASE, sem, n, 0, NULL);
	return end(weir_sem_release(sem_at(sem), n));
}

int m_release(uint32_t n)
{
	return m_release_of(0, n);
}

int m_resize(uint32_t permits)
{
	oracle_begin(OP_RESIZE, 0, permits, 0, NULL);
	return end(weir_sem_resize(sem_at(0), permits));
}

void m_close(void)
{
	oracle_begin(OP_CLOSE, 0, 0, 0, NULL);
	weir_sem_close(sem_at(0));
	(void)end(0);
}

void m_unref(void)
{
	oracle_begin(OP_UNREF, 0, 0, 0, NULL);
	weir_sem_unref(sem_at(0));
	(void)end(0);
}

void m_stats(void)
{
	struct weir_sem_stats stats;

	oracle_begin(OP_OTHER, 0, 0, 0, NULL);
	weir_sem_stats(sem_at(0), &stats);
	m_check((uint64_t)stats.free + stats.held == (uint64_t)stats.limit + stats.owed,
		"P2: free + held is not limit + owed");
	(void)end(0);
}

uint32_t m_waiting(void)
{
	return WEIR__PEEK(&sem_at(0)->waiting);
}

static void woken(struct weir_waiter *node, int result)
{
	struct thread *thread = engine.current;
	int slot = 0;

	oracle_told(node, result);
	while (slot < MAX_SLOTS && world.slots[slot] != node)
		slot++;
	m_check(slot < MAX_SLOTS, "a wake function was called for no slot");
	m_check(!thread->telling, "a wake function was called inside another one");
	thread->telling = true;
	world.woken[slot](slot, result);
	thread->telling = false;
}

int m_async_of(int sem, int slot, uint32_t n, void (*then)(int slot, int result))
{
	world.woken[slot] = then;
	oracle_begin(OP_ASYNC, sem, n, 0, world.slots[slot]);
	return end(weir_sem_acquire_async(sem_at(sem), n, world.slots[slot], woken));
}

int m_async(int slot, uint32_t n, void (*then)(int slot, int result))
{
	return m_async_of(0, slot, n, then);
}

int m_cancel(int slot)
{
	oracle_begin(OP_CANCEL, 0, 0, 0, world.slots[slot]);
	return end(weir_sem_cancel(sem_at(0), world.slots[slot]));
}

void m_free_slot(int slot)
{
	memory_free(world.slots[slot]);
}

void m_destroy(void)
{
	memory_free(sem_at(0));
}

void m_pass(uint32_t n)
{
	int result = m_acquire(n);

	m_check(result == 0, "an acquire failed");
	(void)m_release(n);
}

uint32_t *m_word(int i)
{
	return &world.words[i];
}

void m_check(bool right, const char *what)
{
	if (right)
		return;
	fail("%s", what);
	if (engine.current)
		context_yield();
}

/* A task's parker, as a scheduler would bring it: it sleeps in the engine, and may be cancelled. */
static int task_park(struct weir__parking *parking, weir_time deadline,
		     enum weir__patience patience)
{
	bool must = patience == WEIR__MUST;

	for (;;) {
		const uint32_t *word = &parking->word;
		int result = 0;

		engine_step(STEP_FUTEX_WAIT, word, sizeof(*word), __func__);
		if (*word == WEIR__NOTIFIED)
			return 0;
		result = engine_sleep(word, must ? WEIR_NEVER : deadline, !must);
		if (result == -ECANCELED || result == -ETIMEDOUT)
			return result;
	}
}

static int task_unpark(struct weir__parking *parking)
{
	(void)WEIR__XCHG(&parking->word, WEIR__NOTIFIED, __ATOMIC_RELEASE);
	for (int i = 0; i < engine.threads; i++) {
		if (world.threads[i].status == THREAD_SLEEPING &&
		    world.threads[i].sleeps_on == &parking->word)
			engine_wake(&world.threads[i], 0);
	}
	return 0;
}

void m_be_task(void)
{
	static const struct weir__parker parker = { .park = task_park, .unpark = task_unpark };

	weir__parker_set(&parker, NULL);
}

void m_make(int sem, uint32_t permits)
{
	struct weir_sem *at = memory_alloc(sizeof(*at));

	m_check(weir_sem_init(at, permits) == 0, "init failed");
	oracle_adopt(sem, at);
}

void m_make_counted(uint32_t permits)
{
	struct weir_sem_counted *counted = memory_alloc(sizeof(*counted));

	m_check(weir_sem_init_counted(counted, permits) == 0, "init failed");
	oracle_adopt(0, &counted->sem);
}

void m_make_on_heap(uint32_t permits, uint32_t flags)
{
	struct weir_sem *sem = NULL;

	m_check(weir_sem_new(permits, flags, &sem) == 0, "new failed");
	oracle_adopt(0, sem);
}

void m_make_slots(int count)
{
	for (int i = 0; i < count; i++)
		world.slots[i] = memory_alloc(sizeof(struct weir_waiter));
}

void model_prepare(const struct model *model)
{
	world.words = memory_alloc(GRANULE);
	if (model->permits > 0)
		m_make(0, model->permits);
	if (model->prepare)
		model->prepare();
	if (model->held > 0) {
		struct ghost *ghost = &world.ghosts[0];

		m_check(weir_sem_acquire(ghost->sem, model->held) == 0, "acquire failed");
		oracle_adopt(0, ghost->sem);
		ghost->out = model->held;
		if (ghost->setup & SETUP_COUNTED) {
			ghost->peak = model->held;
			ghost->at_once = 1;
		}
	}
}

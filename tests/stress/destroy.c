/* stress: whoever was granted frees the semaphore at once (P6, CHECKLIST 6).
 *
 * A release wakes, and the one it wakes destroys the memory while the release is still returning.
 * Silence is the proof: from the allocator and AddressSanitizer for memory that was freed, from the
 * processor for pages that are gone. */
#include "support/crew.h"
#include "support/stress.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <weir/sem.h>

enum { THREADS = 4, BATCH = 256, SCENES_PER_PART = 4 };

/* One semaphore and how it goes. All but the semaphore lives outside of the memory that goes. */
struct scene {
	struct weir_waiter waiter; /* first: the wake function is handed its address */
	struct weir_sem *sem;
	void (*give_memory_back)(void *memory);
	uint32_t users; /* how many have still to pass through */
};

/* A part in a scene; there are THREADS of them. */
typedef void part_fn(struct scene *scene, uint32_t part, struct rng *rng);

static void *take_heap(void)
{
	return malloc(sizeof(struct weir_sem));
}

static void give_heap(void *memory)
{
	free(memory);
}

static void *take_page(void)
{
	void *page = mmap(NULL, sizeof(struct weir_sem), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

static void give_page(void *memory)
{
	CHECK_EQ(munmap(memory, sizeof(struct weir_sem)), 0);
}

static int acquire_in_one_way(struct weir_sem *sem, uint32_t way)
{
	switch (way) {
	case 0:
		return weir_sem_acquire_until(sem, 1, weir_after(10 * WEIR_US));
	case 1:
		return weir_sem_try_acquire(sem, 1);
	default:
		return weir_sem_acquire(sem, 1);
	}
}

static void acquire_somehow(struct weir_sem *sem, struct rng *rng)
{
	uint32_t way = rng_below(rng, 4);
	int result;

	while ((result = acquire_in_one_way(sem, way)) < 0) {
		CHECK(result == -EAGAIN || result == -ETIMEDOUT);
		(void)sched_yield();
	}
}

/* One releases, one acquires and frees. */
static void hand_over(struct scene *scene, uint32_t part, struct rng *rng)
{
	if (part == 0) {
		CHECK_EQ(weir_sem_release(scene->sem, 1), 0);
	} else if (part == 1) {
		acquire_somehow(scene->sem, rng);
		scene->give_memory_back(scene->sem);
	}
}

/* The semaphore is the lock of the very object it lives in; the last user frees it after unlocking
 * (the pattern of glibc's bug 12674). */
static void count_down_and_free(struct scene *scene, uint32_t part, struct rng *rng)
{
	bool last;

	if (part == 0)
		CHECK_EQ(weir_sem_release(scene->sem, 1), 0);
	acquire_somehow(scene->sem, rng);
	last = --scene->users == 0;
	CHECK_EQ(weir_sem_release(scene->sem, 1), 0);
	if (last)
		scene->give_memory_back(scene->sem);
}

/* The last user does not even unlock. */
static void free_while_held(struct scene *scene, uint32_t part, struct rng *rng)
{
	if (part == 0)
		CHECK_EQ(weir_sem_release(scene->sem, 1), 0);
	acquire_somehow(scene->sem, rng);
	if (--scene->users > 0)
		CHECK_EQ(weir_sem_release(scene->sem, 1), 0);
	else
		scene->give_memory_back(scene->sem);
}

/* One release serves all the others; the last of them to come through frees. */
static void free_by_the_last_granted(struct scene *scene, uint32_t part, struct rng *rng)
{
	if (part == 0) {
		CHECK_EQ(weir_sem_release(scene->sem, THREADS - 1), 0);
		return;
	}
	acquire_somehow(scene->sem, rng);
	if (__atomic_sub_fetch(&scene->users, 1, __ATOMIC_ACQ_REL) == 1)
		scene->give_memory_back(scene->sem);
}

static void free_when_told(struct weir_waiter *waiter, int result)
{
	struct scene *scene = (struct scene *)(void *)waiter;

	CHECK_EQ(result, 0);
	scene->give_memory_back(scene->sem);
}

/* An async waiter frees the semaphore in the middle of the release that granted it. */
static void free_in_a_wake_function(struct scene *scene, uint32_t part, struct rng *rng)
{
	(void)rng;
	if (part == 0) {
		CHECK_EQ(weir_sem_release(scene->sem, 1), 0);
	} else if (part == 1) {
		int result = weir_sem_acquire_async(scene->sem, 1, &scene->waiter, free_when_told);

		CHECK(result == 0 || result == 1);
		if (result == 0)
			scene->give_memory_back(scene->sem);
	}
}

static const struct {
	part_fn *play;
	uint32_t permits;
} patterns[] = {
	{ hand_over, 1 },
	{ count_down_and_free, 1 },
	{ free_while_held, 1 },
	{ free_by_the_last_granted, THREADS - 1 },
	{ free_in_a_wake_function, 1 },
};

enum { PATTERNS = sizeof(patterns) / sizeof(*patterns) };

struct batch {
	part_fn *play;
	struct scene scenes[BATCH];
	struct rng rngs[THREADS];
};

/* The parts go round, so that no thread runs far ahead of the others. */
static void play_all(void *argument, uint32_t number)
{
	struct batch *batch = argument;

	for (uint32_t i = 0; i < BATCH; i++)
		batch->play(&batch->scenes[i], (number + i / SCENES_PER_PART) % THREADS,
			    &batch->rngs[number]);
}

/* Every permit is out when the threads come. */
static struct scene make_scene(uint32_t permits, bool on_a_page)
{
	struct scene scene = {
		.sem = on_a_page ? take_page() : take_heap(),
		.give_memory_back = on_a_page ? give_page : give_heap,
		.users = THREADS,
	};

	CHECK(scene.sem);
	CHECK_EQ(weir_sem_init(scene.sem, permits), 0);
	CHECK_EQ(weir_sem_acquire(scene.sem, permits), 0);
	return scene;
}

int main(int argc, char **argv)
{
	struct crew crew;

	stress_begin(argc, argv, 3);
	crew_start(&crew, THREADS);
	stress_shake();
	while (stress_round()) {
		uint32_t pattern = (uint32_t)(stress_rounds() % PATTERNS);
		bool on_pages = stress_rounds() / PATTERNS % 4 == 0;
		struct batch batch = { .play = patterns[pattern].play };

		for (uint32_t i = 0; i < BATCH; i++)
			batch.scenes[i] = make_scene(patterns[pattern].permits, on_pages);
		for (uint32_t i = 0; i < THREADS; i++)
			batch.rngs[i] = stress_rng(i);
		crew_run(&crew, play_all, &batch);
	}
	crew_stop(&crew);
	(void)printf("%" PRIu64 " semaphores destroyed by whoever was granted\n",
		     BATCH * stress_rounds());
	return 0;
}

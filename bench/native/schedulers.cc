/* bench: how much gets through when tasks of two schedulers, each in a thread of its own, want one
 * permit all the time, and who gets how much of it?
 *
 *     schedulers weir threads=4 permits=1 rounds=80 seconds=0.2 workers=2
 *     schedulers spin threads=2 ...        without a semaphore, one task in each thread
 *     schedulers seldom threads=2 ...      the same, looking less often
 *
 * `threads` tasks are spread over `workers` schedulers and go through the phases of turns.hpp.
 */
#include "turns.hpp"

#include <barrier>
#include <weir/weir.h>

struct hall {
	alignas(64) struct weir_sem sem;
	bench::stage stage;
	uint32_t rounds;
	std::vector<bench::worker> workers;

	void acquire()
	{
		if (weir_sem_acquire(&sem, 1) < 0)
			bench::fail("weir_sem_acquire");
	}

	void release()
	{
		if (weir_sem_release(&sem, 1) < 0)
			bench::fail("weir_sem_release");
	}
};

/* Of 0, 1, 2, 4, 8 and 16 the quickest for two processors that are far from each other. */
enum { RESTS = 8 };

static hall hall;

static int take_turns(void *arg, intptr_t *)
{
	bench::take_turns(hall, hall.stage, hall.rounds, *static_cast<bench::worker *>(arg));
	return 0;
}

struct part {
	uint32_t first;
	uint32_t step;
};

/* Every step-th task, from the first on. */
static int run_part(void *arg, intptr_t *)
{
	const part &part = *static_cast<struct part *>(arg);
	std::vector<struct weir_future *> tasks;

	for (size_t i = part.first; i < hall.workers.size(); i += part.step)
		tasks.push_back(weir_spawn(take_turns, &hall.workers[i]));
	if (weir_gather(tasks.data(), tasks.size(), WEIR_NEVER, nullptr) < 0)
		bench::fail("weir_gather");
	for (struct weir_future *task : tasks)
		weir_future_unref(task);
	return 0;
}

/* The floor of all that is handed from thread to thread in order: a word says whose turn it is.
 * Once nobody is there to hand over, it may be anybody's. Who looks all the time is in the way of
 * the other's step where processors are far from each other, and who rests in between learns of it
 * later where they are near: so there are two floors. */
class token
{
	alignas(64) std::atomic<uint32_t> turn{ 0 };

      public:
	static inline thread_local uint32_t mine, next;
	static inline thread_local uint32_t rests; /* between two looks */

	void acquire()
	{
		while (turn.load(std::memory_order_acquire) != mine && !hall.stage.is(bench::STOP))
			for (uint32_t i = 0; i < rests; i++)
				WEIR__RELAX();
	}

	void release()
	{
		turn.store(next, std::memory_order_release);
	}
};

static void run_tasks(uint32_t i, uint32_t schedulers)
{
	part part = { i, schedulers };

	if (weir_run(run_part, &part, nullptr) < 0)
		bench::fail("weir_run");
}

static class token token;

static void pass_token(uint32_t i, uint32_t threads, uint32_t rests)
{
	token::rests = rests;
	token::mine = i;
	token::next = (i + 1) % threads;
	bench::take_turns(token, hall.stage, hall.rounds, hall.workers[i]);
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	uint32_t count = arguments.count_of("workers", 2);
	bool seldom = arguments.peer() == "seldom";
	bool bare = seldom || arguments.peer() == "spin";
	std::barrier start(std::ptrdiff_t(count) + 1);
	std::vector<std::thread> threads;

	hall.rounds = arguments.count_of("rounds", 80);
	hall.workers.resize(arguments.count_of("threads", 2));
	if (bare && hall.workers.size() != count)
		bench::fail("without a semaphore: one task in each thread");
	if (weir_sem_init(&hall.sem, arguments.count_of("permits", 1)) < 0)
		bench::fail("weir_sem_init");
	bench::print("work_ns", bench::work_ns(hall.rounds));
	for (uint32_t i = 0; i < count; i++)
		threads.emplace_back([&, i] {
			start.arrive_and_wait();
			if (bare)
				pass_token(i, count, seldom ? RESTS : 0);
			else
				run_tasks(i, count);
		});
	start.arrive_and_wait();
	bench::conduct(hall.stage, arguments.number("seconds", 0.2), threads, hall.workers);
	return 0;
}

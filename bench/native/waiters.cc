/* bench: what does a waiter cost when there are very many of them?
 *
 *     waiters weir waiters=1000000 seconds=0.2
 *
 * All of them queue for 3 permits that are taken, and then go through: each one's wake function
 * gives its permit back, which grants the next. Then again, and those in the middle of the queue
 * are cancelled: in the order of the queue, and in a random order, in which the memory of a long
 * queue is mostly not in the cache. Making the nodes and freeing them counts.
 */
#include "bench.hpp"

#include <malloc.h>
#include <memory>
#include <numeric>
#include <weir/sem.h>

static constexpr uint32_t PERMITS = 3;

struct crowd;

struct request {
	struct weir_waiter waiter;
	crowd *owner;
};

struct crowd {
	struct weir_sem sem;
	uint64_t through;
};

static void pass(struct weir_waiter *waiter, int result)
{
	crowd *owner = reinterpret_cast<request *>(waiter)->owner;

	if (result != 0)
		bench::fail("a wait failed");
	owner->through++;
	if (weir_sem_release(&owner->sem, 1) < 0)
		bench::fail("weir_sem_release");
}

static std::unique_ptr<request[]> queue_up(crowd &crowd, uint32_t count)
{
	auto requests = std::make_unique<request[]>(count);

	if (weir_sem_init(&crowd.sem, PERMITS) < 0 || weir_sem_acquire(&crowd.sem, PERMITS) < 0)
		bench::fail("no semaphore");
	crowd.through = 0;
	for (uint32_t i = 0; i < count; i++) {
		requests[i].owner = &crowd;
		if (weir_sem_acquire_async(&crowd.sem, 1, &requests[i].waiter, pass) != 1)
			bench::fail("weir_sem_acquire_async");
	}
	return requests;
}

static double pass_through(uint32_t count)
{
	crowd crowd;
	int64_t start = bench::now_ns();
	auto requests = queue_up(crowd, count);

	weir_sem_release(&crowd.sem, PERMITS);
	if (crowd.through != count)
		bench::fail("somebody was left behind");
	requests.reset();
	return double(bench::now_ns() - start) / count;
}

/* Cancels those at the places given, in that order. */
static double cancel(uint32_t count, const std::vector<uint32_t> &places)
{
	crowd crowd;
	auto requests = queue_up(crowd, count);
	int64_t start = bench::now_ns();

	for (uint32_t place : places)
		if (weir_sem_cancel(&crowd.sem, &requests[place].waiter) != 0)
			bench::fail("weir_sem_cancel");

	double ns = double(bench::now_ns() - start) / double(places.size());

	weir_sem_release(&crowd.sem, PERMITS);
	if (crowd.through + places.size() != count)
		bench::fail("somebody was left behind");
	return ns;
}

/* What the allocator has given out for each. */
static double bytes_of_each(uint32_t count)
{
	auto allocated = [] {
		struct mallinfo2 info = mallinfo2();

		return double(info.uordblks + info.hblkhd);
	};
	crowd crowd;
	double before = allocated();
	auto requests = queue_up(crowd, count);
	double bytes = (allocated() - before) / count;

	weir_sem_release(&crowd.sem, PERMITS);
	return bytes;
}

/* Repeats what takes less than the time given. The middle result. */
template <class Measure> static double repeat(double seconds, Measure measure)
{
	std::vector<double> results;
	int64_t end = bench::now_ns() + bench::seconds_ns(seconds);

	do {
		results.push_back(measure());
	} while (bench::now_ns() < end);
	return bench::median(results);
}

/* A fixed shuffle. */
static void shuffle(std::vector<uint32_t> &places)
{
	uint64_t x = 1;

	for (size_t i = places.size() - 1; i > 0; i--) {
		x = bench::work(x, 1);
		std::swap(places[i], places[(x >> 33) % (i + 1)]);
	}
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	uint32_t count = arguments.count_of("waiters", 1000);
	double seconds = arguments.number("seconds", 0.2);
	std::vector<uint32_t> middle(count - count / 4 * 2);

	std::iota(middle.begin(), middle.end(), count / 4);
	bench::print("bytes", bytes_of_each(count));
	bench::print("through_ns", repeat(seconds, [&] { return pass_through(count); }));
	bench::print("cancel_ns", repeat(seconds / 4, [&] { return cancel(count, middle); }));
	shuffle(middle);
	bench::print("cancel_random_ns",
		     repeat(seconds / 4, [&] { return cancel(count, middle); }));
	return 0;
}

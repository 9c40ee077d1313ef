/* bench: what does a lease of a named semaphore in memory cost, its time to live armed?
 *
 *     leases PEER names=10 seconds=0.2        an acquire and a release, with so many names about
 *     leases PEER handoff=1 seconds=0.2       from one task's release until the next one holds
 *
 * Names are made first and are idle; then pairs go over ten of them, spread evenly (`ns`), and over
 * all of them in a random order (`cold_ns`), which shows what it costs to fetch a name that is in
 * no cache. `bytes` is what the allocator gave out for each name.
 *
 * The peer is what one writes without a library: a mutex, a map of names, an ordered set of
 * deadlines, and an object for each lease.
 */
#include "bench.hpp"

#include <malloc.h>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <unordered_map>
#include <weir/lease.h>
#include <weir/task.h>

static constexpr uint32_t CHUNK = 1000;

class weir_leases
{
	weir_store *store = nullptr;

      public:
	using lease = weir_lease *;

	weir_leases()
	{
		if (weir_store_open("memory:", &store) < 0)
			bench::fail(weir_store_error(nullptr));
	}

	~weir_leases()
	{
		weir_store_close(store);
	}

	lease acquire(const std::string &name)
	{
		struct weir_request request = {};
		lease got;

		request.name = name.c_str();
		request.limit = 1;
		request.deadline = WEIR_NEVER;
		if (weir_acquire(store, &request, &got) < 0)
			bench::fail(weir_store_error(store));
		return got;
	}

	void release(lease held)
	{
		weir_release(held);
		weir_lease_unref(held);
	}
};

class map_leases
{
	struct semaphore {
		uint32_t limit = 1, held = 0;
		uint64_t fence = 0;
	};
	struct held_lease {
		std::string name;
		int64_t deadline;
		uint64_t fence;
	};

	std::mutex mutex;
	std::unordered_map<std::string, semaphore> names;
	std::set<std::pair<int64_t, held_lease *>> deadlines;

      public:
	using lease = held_lease *;

	lease acquire(const std::string &name)
	{
		std::lock_guard guard(mutex);
		semaphore &found = names[name];

		if (found.held == found.limit)
			bench::fail("held");
		found.held++;
		auto *got = new held_lease{ name, bench::now_ns() + INT64_C(30000000000),
					    ++found.fence };
		deadlines.emplace(got->deadline, got);
		return got;
	}

	void release(lease held)
	{
		std::lock_guard guard(mutex);

		deadlines.erase({ held->deadline, held });
		names[held->name].held--;
		delete held;
	}
};

template <class Leases> static void pairs(uint32_t count, double seconds)
{
	Leases leases;
	std::vector<std::string> names, hot;
	size_t before;

	for (uint32_t i = 0; i < count; i++)
		names.push_back("service/name-" + std::to_string(i));
	for (uint32_t i = 0; i < 10; i++)
		hot.push_back(names[(size_t)i * count / 10]);
	before = mallinfo2().uordblks;
	for (const std::string &name : names)
		leases.release(leases.acquire(name));
	bench::print("bytes", double(mallinfo2().uordblks - before) / count);

	auto over = [&](const std::vector<std::string> &some) {
		size_t next = 0;
		auto chunk = [&] {
			for (uint32_t i = 0; i < CHUNK; i++) {
				leases.release(leases.acquire(some[next]));
				next = next + 1 < some.size() ? next + 1 : 0;
			}
		};

		bench::per_operation(seconds / 4, CHUNK, chunk);
		return bench::per_operation(seconds, CHUNK, chunk);
	};

	bench::print("ns", over(hot));
	std::shuffle(names.begin(), names.end(), std::mt19937(1));
	bench::print("cold_ns", over(names));
}

/* Two tasks and one permit: each release hands it to the other, which runs when this one waits. */
struct relay {
	weir_leases leases;
	std::string name = "relay";
	uint64_t handed = 0;
	int64_t until;
};

static int run_relay(void *arg, intptr_t *)
{
	auto *relay = static_cast<struct relay *>(arg);

	while (relay->handed % CHUNK != 0 || bench::now_ns() < relay->until) {
		weir_lease *lease = relay->leases.acquire(relay->name);

		relay->handed++;
		weir_yield();
		relay->leases.release(lease);
	}
	return 0;
}

static int handoff_root(void *arg, intptr_t *)
{
	weir_future *tasks[2] = { weir_spawn(run_relay, arg), weir_spawn(run_relay, arg) };
	int error = weir_gather(tasks, 2, WEIR_NEVER, nullptr);

	weir_future_unref(tasks[0]);
	weir_future_unref(tasks[1]);
	return error;
}

static void handoff(double seconds)
{
	relay relay;
	int64_t start = bench::now_ns();

	relay.until = start + int64_t(seconds * 1e9);
	if (weir_run(handoff_root, &relay, nullptr) < 0)
		bench::fail("the tasks failed");
	bench::print("ns", double(bench::now_ns() - start) / double(relay.handed));
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);
	uint32_t names = arguments.count_of("names", 10);
	double seconds = arguments.number("seconds", 0.2);

	if (arguments.count_of("handoff", 0) != 0)
		handoff(seconds);
	else if (arguments.peer() == "weir")
		pairs<weir_leases>(names, seconds);
	else if (arguments.peer() == "map")
		pairs<map_leases>(names, seconds);
	else
		bench::fail("no such peer");
	return 0;
}

/* bench: what the native programs share: arguments, clock, work, processors, results.
 *
 * Every program is called as `PROGRAM PEER key=value...`, measures for the time it is told to and
 * prints its results as lines of `key value`.
 */
#ifndef BENCH_BENCH_HPP
#define BENCH_BENCH_HPP

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <time.h>
#include <vector>

namespace bench
{

[[noreturn]] inline void fail(const char *message)
{
	fprintf(stderr, "bench: %s\n", message);
	exit(1);
}

class arguments
{
	int count;
	char **values;

      public:
	arguments(int argc, char **argv) : count(argc), values(argv)
	{
		if (argc < 2)
			fail("usage: PROGRAM PEER key=value...");
	}

	std::string peer() const
	{
		return values[1];
	}

	std::string text(const char *key, const char *otherwise) const
	{
		size_t length = strlen(key);

		for (int i = 2; i < count; i++)
			if (strncmp(values[i], key, length) == 0 && values[i][length] == '=')
				return values[i] + length + 1;
		return otherwise;
	}

	double number(const char *key, double otherwise) const
	{
		std::string value = text(key, "");

		return value.empty() ? otherwise : strtod(value.c_str(), nullptr);
	}

	uint32_t count_of(const char *key, uint32_t otherwise) const
	{
		return static_cast<uint32_t>(number(key, otherwise));
	}
};

inline void print(const char *key, double value)
{
	printf("%s %.10g\n", key, value);
}

inline int64_t now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

inline int64_t seconds_ns(double seconds)
{
	return static_cast<int64_t>(seconds * 1e9);
}

/* Makes the compiler believe that the value is used. */
inline void keep(uint64_t value)
{
	__asm__ volatile("" ::"r"(value));
}

/* The work done inside a critical section, the same in every language: a chain of multiplications
 * each of which needs the one before. The shift keeps compilers from folding several rounds into
 * one, as they do with a plain multiply-and-add. */
inline uint64_t work(uint64_t x, uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++)
		x = (x ^ (x >> 29)) * UINT64_C(6364136223846793005);
	return x;
}

inline double median(std::vector<double> values)
{
	auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);

	if (values.empty())
		return 0;
	std::nth_element(values.begin(), middle, values.end());
	return *middle;
}

/* Calls `chunk`, which does `size` operations, until the time is over. The nanoseconds of one
 * operation in the middle one of all chunks: a chunk that was interrupted does not count. */
template <class Chunk> double per_operation(double seconds, uint32_t size, Chunk chunk)
{
	std::vector<double> times;
	int64_t start = now_ns();
	int64_t end = start + seconds_ns(seconds);

	while (start < end) {
		int64_t after;

		chunk();
		after = now_ns();
		times.push_back(static_cast<double>(after - start) / size);
		start = after;
	}
	return median(std::move(times));
}

inline double work_ns(uint32_t rounds)
{
	uint64_t x = 1;

	return per_operation(0.005, 100, [&] {
		for (int i = 0; i < 100; i++) {
			x = work(x, rounds);
			keep(x);
		}
	});
}

/* Ties the calling thread to one processor, or to any when it is negative. */
inline void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(static_cast<unsigned>(cpu), &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0)
		fail("cannot tie a thread to its processor");
}

} // namespace bench

#endif

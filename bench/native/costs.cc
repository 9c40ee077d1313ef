/* bench: what does the semaphore take from the system? Its size, and how often it allocates memory,
 * calls the kernel and wakes a thread.
 *
 *     costs weir seconds=0.2
 *
 * The library is a shared one and goes through the C library for memory and for the kernel, so the
 * definitions here take the places of those functions and count. A count of zero means something
 * only because contention shows some: with `kernel_calls_contended 0` this program is blind.
 */
#include "bench.hpp"

#include <atomic>
#include <cstdarg>
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <weir/sem.h>

static std::atomic<uint64_t> allocations, kernel_calls, wakes;

extern "C" void *__libc_malloc(size_t size);
extern "C" void *__libc_calloc(size_t count, size_t size);

extern "C" void *malloc(size_t size) noexcept
{
	allocations.fetch_add(1, std::memory_order_relaxed);
	return __libc_malloc(size);
}

extern "C" void *calloc(size_t count, size_t size) noexcept
{
	allocations.fetch_add(1, std::memory_order_relaxed);
	return __libc_calloc(count, size);
}

extern "C" int sched_yield() noexcept
{
	static auto real = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "sched_yield"));

	kernel_calls.fetch_add(1, std::memory_order_relaxed);
	return real();
}

extern "C" long syscall(long number, ...) noexcept
{
	static auto real = reinterpret_cast<long (*)(long, ...)>(dlsym(RTLD_NEXT, "syscall"));
	long argument[6];
	va_list list;

	va_start(list, number);
	for (long &each : argument)
		each = va_arg(list, long);
	va_end(list);
	kernel_calls.fetch_add(1, std::memory_order_relaxed);
	if (number == SYS_futex && (argument[1] & FUTEX_CMD_MASK) == FUTEX_WAKE)
		wakes.fetch_add(1, std::memory_order_relaxed);
	return real(number, argument[0], argument[1], argument[2], argument[3], argument[4],
		    argument[5]);
}

static struct weir_sem sem = WEIR_SEM_INIT(1);

static void uncontended()
{
	uint64_t allocated = allocations, called = kernel_calls;

	for (int i = 0; i < 1000000; i++) {
		weir_sem_acquire(&sem, 1);
		weir_sem_release(&sem, 1);
	}
	bench::print("allocations", double(allocations - allocated));
	bench::print("kernel_calls", double(kernel_calls - called));
}

static void contended(double seconds)
{
	std::atomic<bool> over{ false };
	std::vector<std::thread> threads;
	uint64_t called = kernel_calls, woken = wakes;
	struct weir_sem_stats stats;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			while (!over.load(std::memory_order_relaxed)) {
				weir_sem_acquire(&sem, 1);
				bench::keep(bench::work(1, 50));
				weir_sem_release(&sem, 1);
			}
		});

	uint64_t allocated = allocations;

	std::this_thread::sleep_for(std::chrono::nanoseconds(bench::seconds_ns(seconds)));
	bench::print("allocations_contended", double(allocations - allocated));
	over = true;
	for (std::thread &thread : threads)
		thread.join();
	weir_sem_stats(&sem, &stats);
	bench::print("kernel_calls_contended", double(kernel_calls - called));
	bench::print("wakes", double(wakes - woken));
	bench::print("granted_after_wait", double(stats.granted_after_wait));
}

int main(int argc, char **argv)
{
	bench::arguments arguments(argc, argv);

	bench::print("sizeof_sem", sizeof(struct weir_sem));
	bench::print("sizeof_waiter", sizeof(struct weir_waiter));
	uncontended();
	contended(arguments.number("seconds", 0.2));
	return 0;
}

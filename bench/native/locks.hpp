/* bench: the native peers, each as a class with acquire() and release() of one permit. Every one is
 * used the way its own documentation shows.
 */
#ifndef BENCH_LOCKS_HPP
#define BENCH_LOCKS_HPP

#include "bench.hpp"

#include <atomic>
#include <cerrno>
#include <semaphore.h>
#include <semaphore>
#include <weir/sem.h>

#ifdef BENCH_HAVE_MOODYCAMEL
/* Its header for the semaphore does not stand alone: it needs macros of the queue's. */
#include <concurrentqueue/concurrentqueue.h>
#include <concurrentqueue/lightweightsemaphore.h>
#endif

namespace bench
{

/* The floor of a pair: what no semaphore can do without. It does not wait, so it is only of use
 * to a single thread. */
class bare_cas
{
	alignas(64) std::atomic<uint32_t> free;

      public:
	explicit bare_cas(uint32_t permits) : free(permits)
	{
	}

	void acquire()
	{
		uint32_t seen = free.load(std::memory_order_relaxed);

		while (!free.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire,
						   std::memory_order_relaxed))
			;
	}

	void release()
	{
		free.fetch_add(1, std::memory_order_release);
	}
};

class weir
{
	alignas(64) struct weir_sem sem;

      public:
	explicit weir(uint32_t permits)
	{
		if (weir_sem_init(&sem, permits) < 0)
			fail("weir_sem_init");
	}

	void acquire()
	{
		if (weir_sem_acquire(&sem, 1) < 0)
			fail("weir_sem_acquire");
	}

	void release()
	{
		if (weir_sem_release(&sem, 1) < 0)
			fail("weir_sem_release");
	}
};

class posix_sem
{
	alignas(64) sem_t sem;

      public:
	explicit posix_sem(uint32_t permits)
	{
		sem_init(&sem, 0, permits);
	}

	void acquire()
	{
		while (sem_wait(&sem) < 0)
			if (errno != EINTR)
				fail("sem_wait");
	}

	void release()
	{
		sem_post(&sem);
	}
};

class mutex
{
	alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

      public:
	explicit mutex(uint32_t permits)
	{
		if (permits != 1)
			fail("a mutex has one permit");
	}

	void acquire()
	{
		pthread_mutex_lock(&lock);
	}

	void release()
	{
		pthread_mutex_unlock(&lock);
	}
};

class mutex_and_condition
{
	alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t more = PTHREAD_COND_INITIALIZER;
	uint32_t free;

      public:
	explicit mutex_and_condition(uint32_t permits) : free(permits)
	{
	}

	void acquire()
	{
		pthread_mutex_lock(&lock);
		while (free == 0)
			pthread_cond_wait(&more, &lock);
		free--;
		pthread_mutex_unlock(&lock);
	}

	void release()
	{
		pthread_mutex_lock(&lock);
		free++;
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
};

class std_semaphore
{
	alignas(64) std::counting_semaphore<> sem;

      public:
	explicit std_semaphore(uint32_t permits) : sem(permits)
	{
	}

	void acquire()
	{
		sem.acquire();
	}

	void release()
	{
		sem.release();
	}
};

#ifdef BENCH_HAVE_MOODYCAMEL
class moodycamel_semaphore
{
	alignas(64) moodycamel::LightweightSemaphore sem;

      public:
	explicit moodycamel_semaphore(uint32_t permits) : sem(permits)
	{
	}

	void acquire()
	{
		sem.wait();
	}

	void release()
	{
		sem.signal();
	}
};
#endif

/* Calls run.operator()<Lock>() for the peer of that name. False when there is none. */
template <class Run> bool with_lock(const std::string &peer, Run run)
{
	if (peer == "weir")
		run.template operator()<weir>();
	else if (peer == "sem_t")
		run.template operator()<posix_sem>();
	else if (peer == "mutex")
		run.template operator()<mutex>();
	else if (peer == "mutex+cond")
		run.template operator()<mutex_and_condition>();
	else if (peer == "std")
		run.template operator()<std_semaphore>();
#ifdef BENCH_HAVE_MOODYCAMEL
	else if (peer == "moodycamel")
		run.template operator()<moodycamel_semaphore>();
#else
	else if (peer == "moodycamel")
		fail("it was not there when this was configured: meson setup --reconfigure");
#endif
	else
		return false;
	return true;
}

} // namespace bench

#endif

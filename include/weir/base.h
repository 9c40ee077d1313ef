/* weir/base.h - what every weir header shares: time, errors, version.
 *
 * Errors. Functions return 0 or a positive value, or a negative errno; errno itself is left
 * alone: after a call it is what the caller left in it, in a task that waited meanwhile, too.
 * Output arguments come last and are untouched on failure. The library never prints and never
 * aborts on a run-time error. (One exception: when a task's stack overflows, the process is about
 * to die, and a message says which task it was; see weir/task.h.)
 *
 * Time. A weir_time is a number of nanoseconds on CLOCK_MONOTONIC. Deadlines are absolute, are
 * never reported early, and are untouched by steps of the wall clock.
 */
#ifndef WEIR_BASE_H
#define WEIR_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_API __attribute__((visibility("default")))

/* Nanoseconds on CLOCK_MONOTONIC. */
typedef int64_t weir_time;

/* The deadline that never passes. */
#define WEIR_NEVER INT64_MAX

/* Nanoseconds in a microsecond, a millisecond and a second, for arithmetic on weir_time. */
#define WEIR_US INT64_C(1000)
#define WEIR_MS INT64_C(1000000)
#define WEIR_SECOND INT64_C(1000000000)

/* The current time. Callable from anywhere, signal handlers included. */
WEIR_API weir_time weir_now(void);

/* The deadline `delay` nanoseconds from now: WEIR_NEVER when that is beyond the range of weir_time
 * (so weir_after(WEIR_NEVER) is WEIR_NEVER), now when `delay` is negative.
 *
 *     err = weir_sem_acquire_until(&sem, 1, weir_after(250 * WEIR_MS));
 */
WEIR_API weir_time weir_after(weir_time delay);

/* What an error of this library means, as a sentence a user can act on. Takes the negative code as
 * it was returned; 0 is "success"; a code this library never returns gets the C library's word for
 * it. The text is constant and never freed. */
WEIR_API const char *weir_strerror(int error);

/* The version of the library that is linked, "MAJOR.MINOR.PATCH". */
WEIR_API const char *weir_version(void);

#ifdef __cplusplus
}
#endif

/* Everything below is private to weir's own headers and sources.
 *
 * The seam. All memory that threads share is reached through these, by the inline functions of the
 * public headers too. A test build replaces them all at once (WEIR_SEAM_HEADER) and so runs the
 * very same source under a scheduler of its own. */
#ifdef WEIR_SEAM_HEADER
#include WEIR_SEAM_HEADER
#else
#define WEIR__LOAD(p, order) __atomic_load_n((p), (order))
#define WEIR__STORE(p, value, order) __atomic_store_n((p), (value), (order))
#define WEIR__XCHG(p, value, order) __atomic_exchange_n((p), (value), (order))
#define WEIR__ADD(p, value, order) __atomic_add_fetch((p), (value), (order))
#define WEIR__SUB(p, value, order) __atomic_sub_fetch((p), (value), (order))
/* On failure *expected is what was found, read relaxed. */
#define WEIR__CAS(p, expected, value, order) \
	__atomic_compare_exchange_n((p), (expected), (value), false, (order), __ATOMIC_RELAXED)
/* A figure that one thread at a time writes (under a lock) and anybody may read at any time. It
 * orders nothing. */
#define WEIR__PEEK(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define WEIR__POKE(p, value) __atomic_store_n((p), (value), __ATOMIC_RELAXED)
/* One turn of a loop that waits for another thread's store. */
#if defined(__x86_64__) || defined(__i386__)
#define WEIR__RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define WEIR__RELAX() __asm__ volatile("isb" ::: "memory")
#else
#define WEIR__RELAX() __asm__ volatile("" ::: "memory")
#endif
/* A thread's own variable, in C. The initial-exec model makes access one instruction in a shared
 * library, too. */
#define WEIR__TLS _Thread_local __attribute__((tls_model("initial-exec")))
/* The same, where one is declared that another file has. */
#define WEIR__TLS_EXTERN extern WEIR__TLS
/* A variable of the whole program. */
#define WEIR__GLOBAL
#endif

#define WEIR__LIKELY(x) __builtin_expect(!!(x), 1)
#define WEIR__UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif

/* support: counts what passes between the library and its futex calls.
 *
 * The linker puts it there (--wrap), so the library under test is the unchanged one. Waits are
 * counted by how they ended: a test that sends spurious wake-ups or signals knows when one has
 * arrived. */
#ifndef TESTS_SUPPORT_FUTEX_WATCH_H
#define TESTS_SUPPORT_FUTEX_WATCH_H

#include <stddef.h>
#include <stdint.h>

struct futex_watch {
	uint64_t waits; /* begun */
	uint64_t woken;
	uint64_t interrupted;
	uint64_t timed_out;
	uint64_t too_late; /* the word had changed already */
	uint64_t wakes;
	uint64_t wakes_inside; /* of these, on a word inside the memory named below */
	uint64_t waits_inside;
};

/* Starts counting from zero. `memory` is the semaphore whose own words are told apart from those of
 * its waiters; NULL for none. */
void futex_watch_start(const void *memory, size_t size);

/* The counts so far, consistent only while no other thread is at work. */
struct futex_watch futex_watch_read(void);

#endif

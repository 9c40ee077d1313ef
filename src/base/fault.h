/* base: faults of the memory, looked at before they do what they would have done anyway.
 *
 * While somebody watches, SIGSEGV and SIGBUS come to a handler of ours, on a stack of its own. It
 * shows the address to a function that may explain it, and then the fault goes its old way: to the
 * handler that was there before, or to the system, which stops the process at the very instruction
 * and dumps core. */
#ifndef WEIR_BASE_FAULT_H
#define WEIR_BASE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Explains the fault if it can, with nothing but what a signal handler may do; whether it could, so
 * that the process is lost. Runs in the thread that faulted. */
typedef bool weir__fault_fn(const void *address);

/* One thread that watches. */
struct weir__fault_watch {
	bool on;
	void *stack; /* of the handler, if this thread had none */
};

/* Begins to watch, in the calling thread; all who watch at the same time do so with one function.
 * Where the system does not let us, faults are as they were. */
void weir__faults_watch(struct weir__fault_watch *watch, weir__fault_fn *explain);

/* In the same thread. The last one to go puts back what was there before the first, unless somebody
 * else has put a handler on top of ours meanwhile: then ours only passes on. */
void weir__faults_unwatch(struct weir__fault_watch *watch);

/* A message of a signal handler, put together without the C library; what does not fit is cut off.
 */
struct weir__cry {
	char text[768];
	size_t length;
};

void weir__cry_text(struct weir__cry *cry, const char *text);
void weir__cry_number(struct weir__cry *cry, uint64_t number);
/* The place of an instruction, as the file that it is from and how far into it, for addr2line. */
void weir__cry_place(struct weir__cry *cry, const void *place);
/* To the standard error. */
void weir__cry_out(const struct weir__cry *cry);

#endif

/* task: the switch on other processors, by the C library. It saves the signal mask, too, by a
 * system call each time, and so costs a hundred times as much.
 *
 * A context is the address of a ucontext_t: for a new one at the top of its stack, for one that was
 * left in the frame of the switch itself. */
#include "task/switch.h"

#include <stdint.h>
#include <ucontext.h>
#include <weir/base.h>

struct start {
	ucontext_t context;
	void (*entry)(void *);
	void *arg;
};

/* makecontext passes ints, so a pointer goes in two halves. */
static void begin(unsigned high, unsigned low)
{
	struct start *start = (struct start *)(((uintptr_t)high << 16 << 16) | low);

	start->entry(start->arg);
}

weir__context weir__context_new(void *stack, size_t size, void (*entry)(void *), void *arg)
{
	struct start *start = (struct start *)(((uintptr_t)stack + size - sizeof(*start)) &
					       ~(uintptr_t)63);

	(void)getcontext(&start->context);
	start->context.uc_stack.ss_sp = stack;
	start->context.uc_stack.ss_size = (size_t)((char *)start - (char *)stack);
	start->context.uc_link = NULL;
	start->entry = entry;
	start->arg = arg;
	makecontext(&start->context, (void (*)(void))begin, 2,
		    (unsigned)((uintptr_t)start >> 16 >> 16), (unsigned)(uintptr_t)start);
	return &start->context;
}

int weir__context_switch(weir__context *from, weir__context to, int result)
{
	static WEIR__TLS int said;
	ucontext_t here;

	/* This frame stays until somebody switches back here. */
	/* cppcheck-suppress autoVariables */
	*from = &here;
	said = result;
	(void)swapcontext(&here, to);
	return said;
}

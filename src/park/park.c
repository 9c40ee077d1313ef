/* park: who the calling thread waits as. */
#include "park/park.h"

#include "base/thread.h"

WEIR__TLS struct weir__parks_as weir__parks_as;

void weir__parker_set(const struct weir__parker *parker, void *self)
{
	/* A signal handler in between finds a thread, and never a task that is not there. */
	WEIR__POKE(&weir__parks_as.parker, NULL);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	weir__parks_as.self = self;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	WEIR__POKE(&weir__parks_as.parker, parker);
}

void weir__park_ticks_set(const uint64_t *ticks)
{
	weir__parks_as.ticks = ticks;
}

void **weir__parker_self(void)
{
	return &weir__parks_as.self;
}

uint64_t weir__park_who(void)
{
	return weir__parks_as.parker && weir__parks_as.parker->who ?
		       weir__parks_as.parker->who(weir__parks_as.self) :
		       weir__thread_id();
}

#if defined(__x86_64__) && !defined(WEIR_SEAM_HEADER)
/* What a function that returns by a jump ends with; the compiler knows it by this name. It may land
 * behind any call, so it is one that indirect branch tracking lets pass. */
__asm__(".text\n"
	".p2align 4\n"
	".globl __x86_return_thunk\n"
	".hidden __x86_return_thunk\n"
	".type __x86_return_thunk, @function\n"
	"__x86_return_thunk:\n"
	".cfi_startproc\n"
	"popq %rcx\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_register rip, rcx\n"
	"notrack jmpq *%rcx\n"
	".cfi_endproc\n"
	".size __x86_return_thunk, . - __x86_return_thunk\n");
#endif

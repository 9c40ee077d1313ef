/* park: who the calling thread waits as. */
#include "park/park.h"

#include "base/clock.h"
#include "base/hot.h"
#include "base/thread.h"

/* No parker means the thread itself, so that a new thread needs no set-up. */
static WEIR__TLS struct {
	const struct weir__parker *parker;
	void *self;
	const uint64_t *ticks;
} current;

void weir__parker_set(const struct weir__parker *parker, void *self)
{
	current.parker = parker;
	current.self = self;
}

void weir__park_ticks_set(const uint64_t *ticks)
{
	current.ticks = ticks;
}

void **weir__parker_self(void)
{
	return &current.self;
}

uint64_t weir__park_who(void)
{
	return current.parker && current.parker->who ? current.parker->who(current.self) :
						       weir__thread_id();
}

static inline uint64_t ticks(void)
{
	return current.ticks ? *current.ticks : weir__ticks();
}

WEIR__HOT void weir__parking_init(struct weir__parking *parking)
{
	const struct weir__parker *parker = current.parker ? current.parker : &weir__thread_parker;

	parking->word = parker->begin;
	parking->parker = parker;
	parking->self = current.self;
	parking->since = ticks();
	parking->kind = NULL;
	parking->object = NULL;
}

WEIR__HOT uint64_t weir__park_ticks(void)
{
	return ticks();
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

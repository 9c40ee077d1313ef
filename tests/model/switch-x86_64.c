/* model: switching between the threads of a model, on x86-64.
 *
 * engine_decide() runs on a stack of its own and returns the stack pointer of whoever goes on. So
 * all that a thread needs is on its own stack then, where the search can compare it, and nothing
 * else is. */
#include "model/context.h"

#include <stdint.h>

__asm__(".text\n"
	".globl context_yield\n"
	".type context_yield, @function\n"
	"context_yield:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, %rdi\n"
	"	movq engine_stack(%rip), %rsp\n"
	"	call engine_decide\n"
	"	movq %rax, %rsp\n"
	"	jmp 1f\n"
	".size context_yield, .-context_yield\n"
	".globl context_enter\n"
	".type context_enter, @function\n"
	"context_enter:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rsi)\n"
	"	movq %rdi, %rsp\n"
	"1:	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size context_enter, .-context_enter\n");

char *context_new(char *top, size_t size, void (*body)(void))
{
	/* Six registers, the address that `ret` takes, and a return address for `body` that also
	 * aligns its frame as a call would have. */
	uintptr_t *frame = (uintptr_t *)(void *)top - 8;

	(void)size;
	for (int i = 0; i < 8; i++)
		frame[i] = 0;
	frame[6] = (uintptr_t)body;
	return (char *)frame;
}

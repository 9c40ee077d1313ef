/* task: the switch on x86-64, System V ABI.
 *
 * A call may change every register but rbx, rbp, r12-r15 and rsp: the compiler has saved the rest.
 * So the switch pushes those six above the address to go on at, stores rsp, loads the other rsp,
 * pops, and jumps to where that context left off.
 *
 *     from the saved rsp up:  r15  r14  r13  r12  rbx  rbp  address to go on at
 *
 * It is inline because a processor predicts a return to go where the last call came from. With a
 * call of a function that leaves by a jump, each prediction after it is one place off; one that
 * leaves by a return is predicted only while both contexts were left in the same place. Without a
 * call the jump is predicted by its own history, and the returns after it by the calls before.
 *
 * The 128 bytes below rsp may be in use by a function that calls nobody, so they are stepped over.
 * The ABI also preserves the control words of mxcsr and the x87 unit. They are left alone, so that
 * a rounding mode belongs to the thread and not to the task, for they would double the price.
 *
 * The jump is one that indirect branch tracking lets pass, for it may land behind any switch. */
#ifndef WEIR_TASK_SWITCH_X86_64_H
#define WEIR_TASK_SWITCH_X86_64_H

#include "task/switch.h"

static inline __attribute__((always_inline)) void weir__context_switch(weir__context *from,
								       weir__context to)
{
	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "pushq %%rbp\n\t"
			 "pushq %%rbx\n\t"
			 "pushq %%r12\n\t"
			 "pushq %%r13\n\t"
			 "pushq %%r14\n\t"
			 "pushq %%r15\n\t"
			 "movq %%rsp, (%%rdi)\n\t"
			 "movq %%rsi, %%rsp\n\t"
			 "popq %%r15\n\t"
			 "popq %%r14\n\t"
			 "popq %%r13\n\t"
			 "popq %%r12\n\t"
			 "popq %%rbx\n\t"
			 "popq %%rbp\n\t"
			 "popq %%rcx\n\t"
			 "notrack jmpq *%%rcx\n"
			 "1:\n\t"
			 "leaq 128(%%rsp), %%rsp"
			 : "+D"(from), "+S"(to)
			 :
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0",
			   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)",
			   "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)");
}

#endif

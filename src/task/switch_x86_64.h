/* task: the switch on x86-64, System V ABI.
 *
 * The switch says that it changes every register, so the compiler keeps what it needs on the stack.
 * That cannot be said of rbp, which may be the frame's. So the switch pushes rbp and the address to
 * go on at, stores rsp, loads the other rsp, pops, and jumps to where that context left off.
 *
 *     from the saved rsp up:  address to go on at  rbp
 *
 * It is inline because a processor predicts a return to go where the last call came from. With a
 * call of a function that leaves by a jump, each prediction after it is one place off; one that
 * leaves by a return is predicted only while both contexts were left in the same place. Without a
 * call the jump is predicted by its own history, and the returns after it by the calls before.
 *
 * The 128 bytes below rsp may be in use by a function that calls nobody, so they are stepped over;
 * but not where the compiler was told not to use them, for they would be two cache lines between
 * what a waiting task needs.
 * The ABI also preserves the control words of mxcsr and the x87 unit. They are left alone, so that
 * a rounding mode belongs to the thread and not to the task, for they would double the price.
 *
 * The jump is one that indirect branch tracking lets pass, for it may land behind any switch. */
#ifndef WEIR_TASK_SWITCH_X86_64_H
#define WEIR_TASK_SWITCH_X86_64_H

#include "task/switch.h"

#ifdef WEIR__NO_RED_ZONE
#define WEIR__RED_ZONE_ENTER ""
#define WEIR__RED_ZONE_LEAVE ""
#else
#define WEIR__RED_ZONE_ENTER "leaq -128(%%rsp), %%rsp\n\t"
#define WEIR__RED_ZONE_LEAVE "leaq 128(%%rsp), %%rsp"
#endif

static inline __attribute__((always_inline)) void weir__context_switch(weir__context *from,
								       weir__context to)
{
	__asm__ volatile(WEIR__RED_ZONE_ENTER "leaq 1f(%%rip), %%rax\n\t"
					      "pushq %%rbp\n\t"
					      "pushq %%rax\n\t"
					      "movq %%rsp, (%%rdi)\n\t"
					      "movq %%rsi, %%rsp\n\t"
					      "popq %%rcx\n\t"
					      "popq %%rbp\n\t"
					      "notrack jmpq *%%rcx\n"
					      "1:\n\t" WEIR__RED_ZONE_LEAVE
			 : "+D"(from), "+S"(to)
			 :
			 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13",
			   "r14", "r15", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
			   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
			   "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)",
			   "st(5)", "st(6)", "st(7)");
}

#endif

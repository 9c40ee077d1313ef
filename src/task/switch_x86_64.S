/* task: the switch on x86-64, System V ABI.
 *
 * A call preserves rbx, rbp, r12-r15 and rsp; the address to return to is on the stack already.
 *
 *     from the saved rsp up:  r15 r14 r13 r12 rbx rbp  where to go on
 *
 * The ABI also preserves the control words of mxcsr and the x87 unit. They are left alone, so that
 * a rounding mode belongs to the thread and not to the task, for they would double the price.
 *
 * It returns by a jump. A processor predicts a return to go where the last call came from, and that
 * was another context's; what a jump does is predicted by what was done before. The jump is one
 * that indirect branch tracking lets pass, for it may land behind any call. */
	.text
	.globl weir__context_switch
	.hidden weir__context_switch
	.type weir__context_switch, @function
	.p2align 4
weir__context_switch:
	.cfi_startproc
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq %r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq %r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq %r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq %r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	popq %r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	popq %r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	popq %r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	movl %edx, %eax
	popq %rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rcx
	notrack jmpq *%rcx
	.cfi_endproc
	.size weir__context_switch, . - weir__context_switch

/* The first switch to a new context lands here, with the function and its argument on the stack.
 * Alignment: rsp is a multiple of 16 before a call, as it is when both are popped. An undefined
 * return address ends a debugger's walk up the stack. */
	.globl weir__context_start
	.hidden weir__context_start
	.type weir__context_start, @function
	.p2align 4
weir__context_start:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	popq %rax
	popq %rdi
	callq *%rax
	ud2
	.cfi_endproc
	.size weir__context_start, . - weir__context_start

/* To the linker: indirect branches land on endbr64 here, and the switch is called by its name
 * alone; but stacks are switched, so a program with this in it runs without a shadow stack. */
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long 4                  /* the length of the name, */
	.long 16                 /* of the properties, */
	.long 5                  /* NT_GNU_PROPERTY_TYPE_0 */
	.asciz "GNU"
	.long 0xc0000002         /* GNU_PROPERTY_X86_FEATURE_1_AND */
	.long 4
	.long 1                  /* IBT */
	.long 0

	.section .note.GNU-stack, "", @progbits

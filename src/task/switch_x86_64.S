/* task: the switch on x86-64, System V ABI.
 *
 * A call may change every register but rbx, rbp, r12-r15 and rsp: the caller's compiler has saved
 * the rest. So the switch pushes those six, stores rsp, loads the other rsp, pops and returns to
 * where that context left off. A processor predicts a return to go where the last call came from.
 * Tasks mostly wait in the same place, so that is right, and the returns after it are, too; a jump
 * would leave one call without its return, and every prediction after it one place off.
 *
 *     from the saved rsp up:  r15  r14  r13  r12  rbx  rbp  return address
 *
 * The ABI also preserves the control words of mxcsr and the x87 unit. They are left alone, so that
 * a rounding mode belongs to the thread and not to the task, for they would double the price.
 *
 * Alignment: rsp is a multiple of 16 before a call, so 8 less at the start of a function. A new
 * context starts by that return, not by a call; weir__context_new leaves rsp a multiple of 16 then.
 */
	.text
	.globl weir__context_switch
	.hidden weir__context_switch
	.type weir__context_switch, @function
	.p2align 4
weir__context_switch:
	.cfi_startproc
	endbr64
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.cfi_endproc
	.size weir__context_switch, . - weir__context_switch

/* The first return to a new context lands here, with the function in rbx and its argument in r12.
 * An undefined return address ends a debugger's walk up the stack. */
	.globl weir__context_start
	.hidden weir__context_start
	.type weir__context_start, @function
	.p2align 4
weir__context_start:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	movq %r12, %rdi
	callq *%rbx
	ud2
	.cfi_endproc
	.size weir__context_start, . - weir__context_start

/* To the linker: indirect branches land on endbr64 here, but returns do not match calls, so a
 * program with this in it runs without a shadow stack. */
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

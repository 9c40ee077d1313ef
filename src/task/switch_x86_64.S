/* task: where a new context begins on x86-64. The switch itself is in switch_x86_64.h.
 *
 * Alignment: rsp is a multiple of 16 before a call, so 8 less at the start of a function. A new
 * context starts by a jump, not by a call; it calls when it has popped what weir__context_new left.
 */
	.text
/* The first switch to a new context lands here, with the function and its argument on the stack.
 * An undefined return address ends a debugger's walk up the stack. */
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

/* To the linker: indirect branches land on endbr64 here, but stacks are switched, so a
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

/* task: the switch on aarch64, AAPCS64.
 *
 * A call preserves x19-x28, the frame pointer x29, sp and the low halves of v8-v15 (d8-d15); x30
 * holds the return address. They go to the stack, 160 bytes, which keeps sp a multiple of 16 as the
 * processor demands.
 *
 *     from the saved sp up:  x19 x20  x21 x22  x23 x24  x25 x26  x27 x28  x29 x30
 *                            d8 d9  d10 d11  d12 d13  d14 d15
 */
	.text
	.globl weir__context_switch
	.hidden weir__context_switch
	.type weir__context_switch, %function
	.p2align 4
weir__context_switch:
	.cfi_startproc
	hint #34 /* bti c */
	stp x19, x20, [sp, #-160]!
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x9, sp
	str x9, [x0]
	mov sp, x1
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	ldp x19, x20, [sp], #160
	mov w0, w2
	ret
	.cfi_endproc
	.size weir__context_switch, . - weir__context_switch

/* The first return of a new context lands here: the function in x19, its argument in x20. */
	.globl weir__context_start
	.hidden weir__context_start
	.type weir__context_start, %function
	.p2align 4
weir__context_start:
	.cfi_startproc
	.cfi_undefined x30
	mov x0, x20
	blr x19
	brk #1
	.cfi_endproc
	.size weir__context_start, . - weir__context_start

	.section .note.GNU-stack, "", %progbits

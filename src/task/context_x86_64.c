/* task: a new context on x86-64. The layout is explained in switch_x86_64.h. */
#include "task/switch.h"

#include <stdint.h>

void weir__context_start(void);

weir__context weir__context_new(void *stack, size_t size, void (*entry)(void *), void *arg)
{
	uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
	uintptr_t *frame = (uintptr_t *)top - 9;

	frame[0] = 0;                              /* r15 */
	frame[1] = 0;                              /* r14 */
	frame[2] = 0;                              /* r13 */
	frame[3] = (uintptr_t)arg;                 /* r12 */
	frame[4] = (uintptr_t)entry;               /* rbx */
	frame[5] = 0;                              /* rbp: the end of the chain of frames */
	frame[6] = (uintptr_t)weir__context_start; /* the return address */
	frame[7] = 0;                              /* rsp from here on: a multiple of 16 */
	frame[8] = 0;
	return frame;
}

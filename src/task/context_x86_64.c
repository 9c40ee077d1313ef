/* task: a new context on x86-64. The layout is explained in switch_x86_64.S. */
#include "task/switch.h"

#include <stdint.h>

void weir__context_start(void);

weir__context weir__context_new(void *stack, size_t size, void (*entry)(void *), void *arg)
{
	uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
	uintptr_t *frame = (uintptr_t *)top - 9;

	for (int i = 0; i < 6; i++)
		frame[i] = 0; /* rbp among them: the end of the chain of frames */
	frame[6] = (uintptr_t)weir__context_start; /* where it goes on */
	frame[7] = (uintptr_t)entry;
	frame[8] = (uintptr_t)arg; /* above it rsp is a multiple of 16 */
	return frame;
}

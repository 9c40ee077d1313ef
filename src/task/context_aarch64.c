/* task: a new context on aarch64. The layout is explained in switch_aarch64.S. */
#include "task/switch.h"

#include <stdint.h>

void weir__context_start(void);

weir__context weir__context_new(void *stack, size_t size, void (*entry)(void *), void *arg)
{
	uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
	uintptr_t *frame = (uintptr_t *)top - 20;

	for (int i = 0; i < 20; i++)
		frame[i] = 0;
	frame[0] = (uintptr_t)entry;                /* x19 */
	frame[1] = (uintptr_t)arg;                  /* x20 */
	frame[11] = (uintptr_t)weir__context_start; /* x30, where the switch returns to */
	return frame;
}

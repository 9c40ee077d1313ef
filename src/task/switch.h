/* task: switching stacks. One file per processor, chosen by the build. */
#ifndef WEIR_TASK_SWITCH_H
#define WEIR_TASK_SWITCH_H

#include <stddef.h>

/* Where a context that does not run left off: its stack pointer, all else is on its stack. */
typedef void *weir__context;

/* Prepares a stack so that the first switch to it calls entry(arg) there. entry never returns. */
weir__context weir__context_new(void *stack, size_t size, void (*entry)(void *), void *arg);

/* Leaves the running context in *from and goes on with `to`, where the call that left it returns
 * `result`. So this one returns what is said by whoever switches back. */
int weir__context_switch(weir__context *from, weir__context to, int result);

#endif

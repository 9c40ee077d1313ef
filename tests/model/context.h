/* model: the switch. One file of several implements it: switch-*. */
#ifndef MODEL_CONTEXT_H
#define MODEL_CONTEXT_H

#include <stddef.h>

enum { THREAD_STACK = 64 * 1024, ENGINE_STACK = 256 * 1024 };

/* Leaves the calling thread to engine_decide(). */
void context_yield(void);

/* Goes on at `sp`; returns when engine_decide() chooses *save. */
void context_enter(char *sp, char **save);

/* A fresh stack, `size` bytes below `top`, whose first switch enters `body`, which never returns.
 */
char *context_new(char *top, size_t size, void (*body)(void));

/* The engine's part: its own stack, and who goes on when the thread at `sp` has stopped. */
extern char *engine_stack; /* the top of ENGINE_STACK bytes */
char *engine_decide(char *sp);

#endif

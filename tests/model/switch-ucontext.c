/* model: switching between the threads of a model by ucontext, where there is no switch of our own.
 * Each "stack pointer" is that of a ucontext_t on the thread's stack. Far slower: it sets the
 * signal mask. */
#include "model/context.h"

#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

/* The engine's own context: decides, again and again. */
static struct {
	ucontext_t context;
	char *stopped; /* who has stopped */
	bool ready;
} decider;

static void decide_forever(void)
{
	for (;;)
		(void)swapcontext(&decider.context,
				  (ucontext_t *)(void *)engine_decide(decider.stopped));
}

static void make(ucontext_t *context, char *bottom, size_t size, void (*body)(void))
{
	(void)getcontext(context);
	context->uc_stack.ss_sp = bottom;
	context->uc_stack.ss_size = size;
	context->uc_link = NULL;
	makecontext(context, body, 0);
}

void context_yield(void)
{
	ucontext_t here;

	memset(&here, 0, sizeof(here));
	decider.stopped = (char *)&here;
	(void)swapcontext(&here, &decider.context);
}

void context_enter(char *sp, char **save)
{
	ucontext_t here;

	if (!decider.ready) {
		make(&decider.context, engine_stack - ENGINE_STACK, ENGINE_STACK, decide_forever);
		decider.ready = true;
	}
	*save = (char *)&here;
	(void)swapcontext(&here, (ucontext_t *)(void *)sp);
}

char *context_new(char *top, size_t size, void (*body)(void))
{
	ucontext_t *context = (ucontext_t *)(void *)(top - (sizeof(*context) + 63) / 64 * 64);

	memset(context, 0, sizeof(*context));
	make(context, top - size, (size_t)((char *)context - (top - size)), body);
	return (char *)context;
}

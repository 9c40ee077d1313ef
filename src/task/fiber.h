/* task: a context and what the checkers need to know about it.
 *
 * AddressSanitizer, ThreadSanitizer and valgrind believe that a thread has one stack. Each is told
 * of the others in its own way, the first two of every switch, too; without them this is the bare
 * switch. Valgrind runs what was compiled for anybody, so it is asked for when a scheduler starts:
 * what is said to it takes a frame on a stack, with very many tasks a cache line of each. */
#ifndef WEIR_TASK_FIBER_H
#define WEIR_TASK_FIBER_H

#include "task/switch.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR__ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEIR__TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WEIR__ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define WEIR__TSAN 1
#endif

#ifdef WEIR__ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WEIR__TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(NVALGRIND) && __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define WEIR__VALGRIND 1
#endif

struct weir__fiber {
	weir__context context;
#ifdef WEIR__VALGRIND
	unsigned valgrind;
#endif
#ifdef WEIR__ASAN
	void *fake_stack;
	const void *bottom;
	size_t size;
#endif
#ifdef WEIR__TSAN
	void *tsan;
#endif
};

/* The fiber that the calling thread runs by itself. */
static inline void fiber_adopt(struct weir__fiber *fiber)
{
	(void)fiber;
#ifdef WEIR__TSAN
	fiber->tsan = __tsan_get_current_fiber();
#endif
}

/* Whether valgrind runs the program. */
static inline bool fiber_on_valgrind(void)
{
#ifdef WEIR__VALGRIND
	return RUNNING_ON_VALGRIND != 0;
#else
	return false;
#endif
}

static inline void fiber_register(struct weir__fiber *fiber, void *stack, size_t size)
{
	(void)fiber;
	(void)stack;
	(void)size;
#ifdef WEIR__VALGRIND
	fiber->valgrind = VALGRIND_STACK_REGISTER(stack, (char *)stack + size);
#endif
}

static inline void fiber_deregister(const struct weir__fiber *fiber)
{
	(void)fiber;
#ifdef WEIR__VALGRIND
	VALGRIND_STACK_DEREGISTER(fiber->valgrind);
#endif
}

static inline void fiber_init(struct weir__fiber *fiber, void *stack, size_t size,
			      void (*entry)(void *), void *arg)
{
	fiber->context = weir__context_new(stack, size, entry, arg);
#ifdef WEIR__ASAN
	fiber->fake_stack = NULL;
	fiber->bottom = stack;
	fiber->size = size;
#endif
#ifdef WEIR__TSAN
	fiber->tsan = __tsan_create_fiber(0);
#endif
}

static inline void fiber_done(struct weir__fiber *fiber)
{
	(void)fiber;
#ifdef WEIR__TSAN
	__tsan_destroy_fiber(fiber->tsan);
#endif
}

/* First thing on a new fiber: `from` is the one that was left, if it is the thread's own its bounds
 * are learnt here. */
static inline void fiber_entered(struct weir__fiber *self, struct weir__fiber *from)
{
	(void)self;
	(void)from;
#ifdef WEIR__ASAN
	__sanitizer_finish_switch_fiber(self->fake_stack, from->size == 0 ? &from->bottom : NULL,
					from->size == 0 ? &from->size : NULL);
#endif
}

/* Notes for that where `from` is, which is about to be left. */
static inline void fiber_leave(struct weir__fiber **note, struct weir__fiber *from)
{
	(void)note;
	(void)from;
#ifdef WEIR__ASAN
	*note = from;
#endif
}

/* Goes on with `to`, where `result` is returned; `last` says that `from` will never run again. */
static inline int fiber_switch(struct weir__fiber *from, struct weir__fiber *to, int result,
			       bool last)
{
	(void)last;
#ifdef WEIR__ASAN
	__sanitizer_start_switch_fiber(last ? NULL : &from->fake_stack, to->bottom, to->size);
#endif
#ifdef WEIR__TSAN
	__tsan_switch_to_fiber(to->tsan, 0);
#endif
	result = weir__context_switch(&from->context, to->context, result);
#ifdef WEIR__ASAN
	__sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
	return result;
}

#endif

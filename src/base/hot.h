/* base: marks for what runs at every wait and every wake-up, where each instruction counts. */
#ifndef WEIR_BASE_HOT_H
#define WEIR_BASE_HOT_H

/* A function that does not clear the registers it used when it returns, as the others are compiled
 * to do. A hand-off between two tasks goes through a dozen returns, and clearing was a tenth of it.
 * What is left in the registers are addresses and counts of the caller's own objects. Nor is its
 * frame guarded, for there is no array in any of them: with very many tasks that was a cache line
 * of each. */
#if __has_attribute(zero_call_used_regs)
#define WEIR__UNCLEARED __attribute__((zero_call_used_regs("skip")))
#else
#define WEIR__UNCLEARED
#endif
#if __has_attribute(no_stack_protector)
#define WEIR__UNGUARDED __attribute__((no_stack_protector))
#else
#define WEIR__UNGUARDED
#endif
#define WEIR__HOT WEIR__UNCLEARED WEIR__UNGUARDED

/* A variable that is not cleared first, as the others are compiled to be: every member that anybody
 * reads is set one by one. */
#if __has_attribute(uninitialized)
#define WEIR__UNSET __attribute__((uninitialized))
#else
#define WEIR__UNSET
#endif

#define WEIR__COLD __attribute__((cold, noinline))

/* Fetches so many cache lines from `first` on, while other things are done. The empty statement is
 * an effect: without one gcc takes a function that only fetches for one that does nothing, and
 * leaves out the call. */
static inline __attribute__((always_inline)) void expect_lines(const void *first, int count)
{
	for (int line = 0; line < count; line++)
		__builtin_prefetch((const char *)first + 64 * line, 1);
	__asm__ volatile("");
}

/* The same of one line, or of none: NULL does no harm. */
static inline __attribute__((always_inline)) void expect_line(const void *line)
{
	__builtin_prefetch(line, 1);
	__asm__ volatile("");
}

/* The same of one line that is to be written, which is then fetched from another processor's cache
 * once and not twice. gcc says that only to processors of which it knows that they understand;
 * those that do not take it for nothing. */
static inline __attribute__((always_inline)) void expect_change(const void *line)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw (%0)" : : "r"(line));
#else
	__builtin_prefetch(line, 1);
#endif
}

#endif

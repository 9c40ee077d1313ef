/* support: counts what passes between the library and its futex calls. */
#include "support/futex_watch.h"

#include "base/futex.h"

#include <errno.h>

int __real_weir__futex_wait(const uint32_t *word, uint32_t expected, weir_time deadline);
int __wrap_weir__futex_wait(const uint32_t *word, uint32_t expected, weir_time deadline);
void __real_weir__futex_wake(const uint32_t *word, int count);
void __wrap_weir__futex_wake(const uint32_t *word, int count);

static struct futex_watch counts;
static const char *inside_from;
static const char *inside_to;

static void add(uint64_t *count)
{
	(void)__atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
}

static uint64_t get(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

static int is_inside(const uint32_t *word)
{
	const char *at = (const char *)word;

	return at >= inside_from && at < inside_to;
}

int __wrap_weir__futex_wait(const uint32_t *word, uint32_t expected, weir_time deadline)
{
	int result;

	add(&counts.waits);
	if (is_inside(word))
		add(&counts.waits_inside);
	result = __real_weir__futex_wait(word, expected, deadline);
	add(result == 0       ? &counts.woken :
	    result == -EINTR  ? &counts.interrupted :
	    result == -EAGAIN ? &counts.too_late :
				&counts.timed_out);
	return result;
}

void __wrap_weir__futex_wake(const uint32_t *word, int count)
{
	add(&counts.wakes);
	if (is_inside(word))
		add(&counts.wakes_inside);
	__real_weir__futex_wake(word, count);
}

void futex_watch_start(const void *memory, size_t size)
{
	inside_from = memory;
	inside_to = inside_from ? inside_from + size : NULL;
	counts = (struct futex_watch){ 0 };
}

struct futex_watch futex_watch_read(void)
{
	return (struct futex_watch){
		.waits = get(&counts.waits),
		.woken = get(&counts.woken),
		.interrupted = get(&counts.interrupted),
		.timed_out = get(&counts.timed_out),
		.too_late = get(&counts.too_late),
		.wakes = get(&counts.wakes),
		.wakes_inside = get(&counts.wakes_inside),
		.waits_inside = get(&counts.waits_inside),
	};
}

/* task: how deep stacks went.
 *
 * A stack is all zero before a task runs on it, so the lowest word that is not is how deep it went.
 * Pages that were never touched are not looked at, for that would touch them. What a task has used
 * is made zero again when it has ended; the rest still is. */
#include "task/depth.h"

#include "base/alloc.h"
#include "base/pages.h"
#include "base/place.h"
#include "base/print.h"

#include <inttypes.h>

struct weir__site {
	struct weir__site *next;
	void *place;
	size_t deepest;
	uint64_t ended;
};

/* Checkers know that nobody else has a business there. */
#define UNCHECKED static __attribute__((noinline, no_sanitize("address", "thread")))

UNCHECKED volatile uint64_t *lowest_used(volatile uint64_t *word, const void *end)
{
	while ((const volatile void *)word < end && *word == 0)
		word++;
	return word;
}

UNCHECKED void clean(volatile uint64_t *word, const void *end)
{
	while ((const volatile void *)word < end)
		*word++ = 0;
}

static struct weir__site *site_of(struct weir__sched *sched, void *place)
{
	struct weir__site **link = &sched->sites;

	while (*link && (*link)->place != place)
		link = &(*link)->next;
	if (!*link) {
		*link = weir__alloc(sizeof(**link));
		if (*link)
			(*link)->place = place;
	}
	return *link;
}

void weir__depth_look(struct weir__task *task, bool ended)
{
	struct weir__sched *sched = task->sched;
	struct weir__site *site = site_of(sched, task->site);
	char *low = (char *)weir__stack_low(&sched->stacks, task->stack);
	char *top = task->stack - stack_colour(&sched->stacks, task->stack);
	volatile uint64_t *used;
	size_t depth;

	low += weir__pages_untouched(low, (size_t)(top - low));
#ifdef WEIR__VALGRIND
	VALGRIND_DISABLE_ERROR_REPORTING;
#endif
	used = lowest_used((volatile uint64_t *)(void *)low, top);
	depth = (size_t)(top - (volatile char *)used);
	if (ended)
		clean(used, top);
#ifdef WEIR__VALGRIND
	VALGRIND_ENABLE_ERROR_REPORTING;
#endif
	if (site && depth > site->deepest)
		site->deepest = depth;
	if (site && ended)
		site->ended++;
}

static void look_at_all(struct weir__sched *sched)
{
	for (struct weir__task *task = sched->newest; task; task = task->older)
		if (task->stack)
			weir__depth_look(task, false);
}

int weir__depth_uses(struct weir__sched *sched, struct weir_stack_use *uses, size_t n)
{
	int count = 0;

	look_at_all(sched);
	for (const struct weir__site *site = sched->sites; site; site = site->next, count++) {
		if ((size_t)count < n)
			uses[count] = (struct weir_stack_use){
				.site = site->place,
				.size = weir__stack_usable(&sched->stacks),
				.deepest = site->deepest,
				.ended = site->ended,
			};
	}
	return count;
}

void weir__depth_print(FILE *stream, struct weir__sched *sched)
{
	size_t size = weir__stack_usable(&sched->stacks);

	look_at_all(sched);
	weir__print(stream, "stacks of %zu bytes, and how much of them was used:\n", size);
	for (const struct weir__site *site = sched->sites; site; site = site->next) {
		weir__print(stream, "  started at ");
		weir__print_place(stream, site->place);
		weir__print(stream, ": %zu bytes (%zu %%), %" PRIu64 " %s ended\n", site->deepest,
			    site->deepest * 100 / size, site->ended,
			    site->ended == 1 ? "has" : "have");
	}
}

void weir__depth_done(struct weir__sched *sched)
{
	struct weir__site *next;

	for (struct weir__site *site = sched->sites; site; site = next) {
		next = site->next;
		weir__free(site);
	}
	sched->sites = NULL;
}

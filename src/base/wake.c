/* base: measuring wake-ups. The figures are the process's own, and nobody minds a lost one. */
#include "base/wake.h"

#include "base/clock.h"

#include <weir/base.h>

/* What takes longer than that was something else: a process that was stopped, a machine that was
 * suspended. */
static const weir_time longest = 10 * WEIR_MS;

static uint64_t last_begun;
static uint64_t usual;

void weir__wake_begins(void)
{
	WEIR__POKE(&last_begun, weir__ticks());
}

uint64_t weir__wake_ended(uint64_t slept_at)
{
	uint64_t begun = WEIR__PEEK(&last_begun);
	uint64_t took = weir__ticks() - begun;
	uint64_t before = WEIR__PEEK(&usual);

	/* It came before the sleep; and two processors' ticks may differ a little. */
	if (begun <= slept_at || (int64_t)took < 0)
		return UINT64_MAX;
	if (weir__ticks_to_time(took) <= longest)
		WEIR__POKE(&usual, before == 0 ? took : before - before / 4 + took / 4);
	return begun - slept_at;
}

uint64_t weir__wake_ticks(void)
{
	return WEIR__PEEK(&usual);
}

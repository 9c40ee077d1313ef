/* base: the clock behind weir_now() and a cheaper one for statistics. */
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdint.h>
#include <weir/base.h>

/* Makes weir_now read *virtual_now in the calling thread; NULL: the clock again. */
void weir__clock_set(const weir_time *virtual_now);

/* A count that rises at a constant rate: the processor's own where it has one, at a third of the
 * price of weir_now(). Two processors may disagree by a little. */
uint64_t weir__ticks(void);

/* Ticks as nanoseconds. */
weir_time weir__ticks_to_time(uint64_t ticks);

#endif

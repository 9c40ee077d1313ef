/* base: the clock of leases. */
#ifndef WEIR_BASE_BOOTTIME_H
#define WEIR_BASE_BOOTTIME_H

#include <weir/base.h>

/* Nanoseconds on CLOCK_BOOTTIME, which goes on while the machine is suspended: a lease that ran out
 * meanwhile is over. Never the virtual time of a scheduler. */
weir_time weir__boottime(void);

/* `duration` from `time`, or WEIR_NEVER when that is out of range. Neither is negative. */
static inline weir_time weir__time_add(weir_time time, weir_time duration)
{
	return duration > WEIR_NEVER - time ? WEIR_NEVER : time + duration;
}

#endif

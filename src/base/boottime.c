/* base: CLOCK_BOOTTIME. Apart from clock.c, so that libweir-lease has its own copy of this and none
 * of weir_now(). */
#include "base/boottime.h"

#include <time.h>

weir_time weir__boottime(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (weir_time)now.tv_sec * WEIR_SECOND + now.tv_nsec;
}

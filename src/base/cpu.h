/* base: processors, and who uses them. */
#ifndef WEIR_BASE_CPU_H
#define WEIR_BASE_CPU_H

#include <stdbool.h>

/* Whether another processor may run while the calling thread spins: without one, spinning only
 * keeps away whoever it waits for. Judged by the affinities of the threads that have asked so far.
 */
bool weir__cpu_to_spare(void);

/* Lets others run on this processor, if there are any. */
void weir__cpu_yield(void);

/* Whether the process has no other thread. When in doubt it has. */
bool weir__is_only_thread(void);

#endif

/* support: memory that is counted and can be made to run out. The linker puts this before the
 * functions of base/alloc.h (scarce_dep). */
#ifndef TESTS_SUPPORT_SCARCE_H
#define TESTS_SUPPORT_SCARCE_H

#include <stdbool.h>

/* So many allocations succeed; the one after them fails, and all later ones too if `for_good`, else
 * that one alone, so that what follows has to cope with a half-made thing. */
void scarce_after(int allocations, bool for_good);

/* All succeed again. Whether one has failed. */
bool scarce_end(void);

/* Pieces of memory that have been allocated and not freed; and the most there were since the last
 * scarce_watch(). */
int scarce_alive(void);
int scarce_most_alive(void);
void scarce_watch(void);

#endif

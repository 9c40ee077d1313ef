/* sem: compiled with different PERMITS, some of which must not compile. */
#include <weir/sem.h>

struct weir_sem sem = WEIR_SEM_INIT(PERMITS);

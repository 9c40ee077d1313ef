/* task: saying whose stack was too small. */
#ifndef WEIR_TASK_OVERFLOW_H
#define WEIR_TASK_OVERFLOW_H

#include <stdbool.h>

/* Explains a fault in the guard page of a task of the calling thread: see base/fault.h. */
bool weir__overflow_explain(const void *address);

#endif

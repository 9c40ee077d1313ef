/* task: telling people what the tasks of a scheduler do. */
#ifndef WEIR_TASK_DUMP_H
#define WEIR_TASK_DUMP_H

#include "task/sched.h"

#include <inttypes.h>
#include <stdio.h>

/* One line for each task, the oldest first. */
void weir__sched_print(FILE *stream, const struct weir__sched *sched);

#endif

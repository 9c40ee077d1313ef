/* task: telling people what the tasks of a scheduler do. */
#ifndef WEIR_TASK_DUMP_H
#define WEIR_TASK_DUMP_H

#include "task/sched.h"

#include <stdio.h>

/* One line for each task, the oldest first; then what they wait for. */
void weir__sched_print(FILE *stream, struct weir__sched *sched);

#endif

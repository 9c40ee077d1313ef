/* task: who waits for what, and who holds it. */
#ifndef WEIR_TASK_WAITS_H
#define WEIR_TASK_WAITS_H

#include "task/sched.h"

#include <stdio.h>

/* Room for what is waited for, in words. */
enum { WEIR__WAIT_TEXT = 256 };

/* Whether the task is parked: then its parking says what for. */
bool weir__task_waits(const struct weir__task *task);

/* Its number and name. */
void weir__task_print(FILE *stream, const struct weir__task *task);

/* For each thing that tasks wait for: who holds it, and all who wait. */
void weir__waits_print(FILE *stream, struct weir__sched *sched);

#endif

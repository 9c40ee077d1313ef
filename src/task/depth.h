/* task: how deep stacks went, for each place where tasks are spawned. Only if config.measure_stacks
 * says so; else nothing of this is called. */
#ifndef WEIR_TASK_DEPTH_H
#define WEIR_TASK_DEPTH_H

#include "task/sched.h"

#include <stdio.h>

/* Looks how deep the task has gone and enters it. For one that has ended, its stack is made clean
 * again for the next. */
void weir__depth_look(struct weir__task *task, bool ended);

/* See weir_stack_uses. */
int weir__depth_uses(struct weir__sched *sched, struct weir_stack_use *uses, size_t n);

void weir__depth_print(FILE *stream, struct weir__sched *sched);
void weir__depth_done(struct weir__sched *sched);

#endif
